// haricot binlog: inspects and copies the files in which a server keeps its jobs, without a server.

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "tool/binlog/binlog_commands.hpp"
#include "tool/cli/command_line.hpp"
#include "tool/cli/output.hpp"
#include "tool/cli/subcommand.hpp"

namespace haricot::tool {
namespace {

constexpr std::string_view kUse =
    "Use: haricot binlog check DIR          list and check the files of a folder\n"
    "     haricot binlog dump [--json] DIR  print the jobs, one on each line\n"
    "     haricot binlog copy SRC DST       write the jobs to a new folder\n"
    "     haricot binlog repair DIR NEW     copy, with guesses where a server makes none,\n"
    "                                       and report each job that may be wrong\n\n"
    "DIR and SRC are only read. If a server uses the folder, its jobs of one moment are shown.\n\n";

constexpr std::string_view kActions[] = {"check", "dump", "copy", "repair"};

// Returns the mistake in a command line that begins with this action.
std::string mistake_in(std::string_view action) {
  const bool is_known =
      std::find(std::begin(kActions), std::end(kActions), action) != std::end(kActions);
  if (!is_known) return "unknown action: " + std::string(action) + suggestion(action, kActions);
  const bool is_of_two = action == "copy" || action == "repair";
  return std::string(action) + (is_of_two ? " requires two folders" : " requires one folder");
}

}  // namespace

void complain(const std::string& line) {
  std::fprintf(stderr, "haricot binlog: %s\n", safe_lines(line).c_str());
}

int binlog(Words words) {
  bool json = false;
  bool help = false;
  bool quiet = false;
  const std::vector<Flag> flags = {
      {0, "json", "", "dump: print a JSON object for each job",
       [&json](std::string_view) { return json = true; }},
      {'q', "quiet", "", "check, copy, repair: show no progress on a terminal",
       [&quiet](std::string_view) { return quiet = true; }},
      {'h', "help", "", "show this help and exit",
       [&help](std::string_view) { return help = true; }},
  };
  std::vector<std::string_view> operands;
  std::string error;
  if (!read_flags(flags, words, operands, error)) {
    complain(error);
    return kExitUsage;
  }
  const std::string text = std::string(kUse) + "Options:\n" + describe_flags(flags);
  if (help) {
    print(text);
    return kExitDone;
  }
  const std::string_view action = operands.empty() ? std::string_view{} : operands.front();
  const std::size_t folders = operands.empty() ? 0 : operands.size() - 1;
  if (action == "check" && folders == 1) return check_binlog(std::string(operands[1]), quiet);
  if (action == "dump" && folders == 1) return dump_binlog(std::string(operands[1]), json);
  if (action == "copy" && folders == 2) {
    return copy_binlog(std::string(operands[1]), std::string(operands[2]), quiet);
  }
  if (action == "repair" && folders == 2) {
    return repair_binlog(std::string(operands[1]), std::string(operands[2]), quiet);
  }
  if (action.empty()) {
    std::fputs(text.c_str(), stderr);
  } else {
    complain(mistake_in(action) + "\nTry haricot binlog --help.");
  }
  return kExitUsage;
}

}  // namespace haricot::tool
