// haricot: the operator's tool. Each subcommand is a row here and a file in a room of src/tool.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "os/process.hpp"
#include "tool/cli/subcommand.hpp"

namespace {

using namespace haricot;

constexpr tool::Subcommand kSubcommands[] = {
    {"ping", "say whether a server answers", &tool::ping},
    {"stats", "show what a server says of itself, a tube or a job", &tool::stats},
    {"tubes", "show a table of the tubes", &tool::tubes},
    {"top", "show a server and its tubes live", &tool::top},
    {"peek", "print a job's body", &tool::peek},
    {"put", "put jobs into a tube", &tool::put},
    {"kick", "make buried or delayed jobs ready", &tool::kick},
    {"delete", "delete jobs", &tool::delete_jobs},
    {"bury", "set jobs aside", &tool::bury},
    {"pause", "keep the jobs of a tube from being reserved for a while", &tool::pause_tube},
    {"drain", "wait until a tube or a server is empty", &tool::drain},
    {"bench", "load a server and report how fast it is", &tool::bench},
    {"binlog", "look into the files in which a server keeps its jobs", &tool::binlog},
};

std::string help_text() {
  std::string text =
      "Use: haricot SUBCOMMAND [OPTIONS]\n"
      "     haricot --help | --version\n\n"
      "Subcommands (haricot SUBCOMMAND --help says more):\n";
  constexpr std::size_t kSummaryColumn = 12;
  for (const tool::Subcommand& subcommand : kSubcommands) {
    std::string line = "  " + std::string(subcommand.name);
    line.append(line.size() < kSummaryColumn ? kSummaryColumn - line.size() : 1, ' ');
    line += subcommand.summary;
    text += line + '\n';
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  os::open_standard_descriptors();
  os::ignore_broken_pipes();

  const tool::Words words(argv + 1, argc > 0 ? static_cast<std::size_t>(argc - 1) : 0);
  if (words.empty()) {
    std::fputs(help_text().c_str(), stderr);
    return tool::kExitUsage;
  }
  const std::string_view name = words.front();
  for (const tool::Subcommand& subcommand : kSubcommands) {
    if (subcommand.name == name) return subcommand.run(words.subspan(1));
  }
  if (name == "--help" || name == "-h") {
    std::fputs(help_text().c_str(), stdout);
    return EXIT_SUCCESS;
  }
  if (name == "--version" || name == "-v") {
    std::puts("haricot " HARICOT_VERSION);
    return EXIT_SUCCESS;
  }
  std::fprintf(stderr, "haricot: unknown %s: %s\n%s", name.starts_with('-') ? "flag" : "subcommand",
               words.front(), help_text().c_str());
  return tool::kExitUsage;
}
