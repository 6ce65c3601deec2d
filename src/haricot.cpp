// haricot: the operator's tool. Each subcommand is a row here and a file in a room of src/tool.

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "os/process.hpp"
#include "tool/cli/flags.hpp"
#include "tool/cli/safe_text.hpp"
#include "tool/cli/subcommand.hpp"
#include "tool/cli/suggestion.hpp"

namespace {

using namespace haricot;

constexpr tool::Subcommand kSubcommands[] = {
    {"ping", "say whether a server answers", &tool::ping},
    {"stats", "show what a server says of itself, a tube or a job", &tool::stats},
    {"tubes", "show a table of the tubes", &tool::tubes},
    {"jobs", "show a table of the jobs", &tool::jobs},
    {"top", "show a server and its tubes live", &tool::top},
    {"peek", "print a job's body", &tool::peek},
    {"put", "put jobs into a tube", &tool::put},
    {"reserve", "take the next job and print it", &tool::reserve},
    {"work", "run a program for each job", &tool::work},
    {"release", "make jobs ready or delayed", &tool::release},
    {"kick", "make buried or delayed jobs ready", &tool::kick},
    {"delete", "delete jobs", &tool::delete_jobs},
    {"flush", "delete the jobs of a tube", &tool::flush_tube},
    {"move", "move the jobs of a tube into another tube", &tool::move_jobs},
    {"export", "write jobs as lines of JSON", &tool::export_jobs},
    {"import", "put jobs from lines of JSON", &tool::import_jobs},
    {"bury", "set jobs aside", &tool::bury},
    {"pause", "keep the jobs of a tube from being reserved for a while", &tool::pause_tube},
    {"drain", "wait until a tube or a server is empty", &tool::drain},
    {"bench", "load a server and report how fast it is", &tool::bench},
    {"binlog", "look into the files in which a server keeps its jobs", &tool::binlog, false},
};

constexpr std::string_view kHelp = "help";

// Words that other tools have for the same, such as redis-cli, ls and journalctl.
struct OtherWord {
  std::string_view word;
  std::string_view subcommand;
};
constexpr OtherWord kOtherWords[] = {
    {"info", "stats"},      {"status", "stats"},   {"stat", "stats"},    {"llen", "stats"},
    {"keys", "tubes"},      {"list", "tubes"},     {"ls", "tubes"},      {"queues", "tubes"},
    {"scan", "jobs"},       {"lrange", "jobs"},    {"search", "jobs"},   {"monitor", "top"},
    {"watch", "top"},       {"get", "peek"},       {"show", "peek"},     {"cat", "peek"},
    {"lpush", "put"},       {"rpush", "put"},      {"push", "put"},      {"add", "put"},
    {"set", "put"},         {"brpop", "reserve"},  {"blpop", "reserve"}, {"rpop", "reserve"},
    {"lpop", "reserve"},    {"pop", "reserve"},    {"take", "reserve"},  {"run", "work"},
    {"retry", "kick"},      {"del", "delete"},     {"rm", "delete"},     {"remove", "delete"},
    {"flushdb", "flush"},   {"flushall", "flush"}, {"purge", "flush"},   {"clear", "flush"},
    {"mv", "move"},         {"rename", "move"},    {"dump", "export"},   {"save", "export"},
    {"backup", "export"},   {"restore", "import"}, {"load", "import"},   {"wait", "drain"},
    {"benchmark", "bench"}, {"latency", "ping"},   {"count", "tubes"},   {"len", "tubes"},
    {"publish", "put"},     {"touch", "work"},     {"subscribe", "work"}};

std::string help_text() {
  std::string text =
      "Use: haricot [OPTIONS] SUBCOMMAND [OPTIONS]\n"
      "     haricot help [SUBCOMMAND]\n"
      "     haricot --help | --version\n\n"
      "Subcommands (haricot help SUBCOMMAND says more):\n";
  constexpr std::size_t kSummaryColumn = 12;
  for (const tool::Subcommand& subcommand : kSubcommands) {
    std::string line = "  " + std::string(subcommand.name);
    line.append(line.size() < kSummaryColumn ? kSummaryColumn - line.size() : 1, ' ');
    line += subcommand.summary;
    text += line + '\n';
  }
  return text +
         "\n--address, --timeout, --json and --help may stand before or after the subcommand.\n";
}

const tool::Subcommand* find_subcommand(std::string_view name) {
  for (const tool::Subcommand& subcommand : kSubcommands) {
    if (subcommand.name == name) return &subcommand;
  }
  return nullptr;
}

int mistake(const std::string& reason) {
  std::fprintf(stderr, "haricot: %s\nTry haricot --help.\n", tool::safe_word(reason).c_str());
  return tool::kExitUsage;
}

int unknown_subcommand(std::string_view name) {
  std::vector<std::string_view> names = {kHelp};
  for (const tool::Subcommand& subcommand : kSubcommands) names.push_back(subcommand.name);
  std::string hint = tool::suggestion(name, names);
  for (const OtherWord& other : kOtherWords) {
    if (other.word == name) hint = " (did you mean " + std::string(other.subcommand) + "?)";
  }
  return mistake("unknown subcommand: " + std::string(name) + hint);
}

int show_help() {
  std::fputs(help_text().c_str(), stdout);
  if (std::fflush(stdout) == 0) return EXIT_SUCCESS;
  std::fprintf(stderr, "haricot: cannot write to stdout: %s\n", std::strerror(errno));
  return EXIT_FAILURE;
}

// haricot help [SUBCOMMAND]
int help(tool::Words words) {
  if (words.empty()) return show_help();
  if (words.size() > 1) return mistake("help takes one subcommand");
  const std::string_view name = words.front();
  if (name == kHelp || name == "--help" || name == "-h") return show_help();
  const tool::Subcommand* subcommand = find_subcommand(name);
  if (subcommand == nullptr) return unknown_subcommand(name);
  const char* const flag = "--help";
  return subcommand->run({&flag, 1});
}

// What stands where a subcommand is expected is a flag.
int run_flag(const char* word) {
  const std::string_view name = word;
  if (name == "--version" || name == "-v") {
    std::puts("haricot " HARICOT_VERSION);
    return EXIT_SUCCESS;
  }
  std::vector<tool::Flag> flags = tool::usual_flags();
  flags.push_back({'v', "version", "", "", [](std::string_view) { return true; }});
  std::vector<std::string_view> operands;
  std::string error = "it has to stand alone";
  [[maybe_unused]] const bool is_good = tool::read_flags(flags, {&word, 1}, operands, error);
  // Many clients have a flag of its own for the port.
  if (!is_good && (name.starts_with("-p") || name.starts_with("--port"))) {
    error += "; the port belongs to the address: --address HOST:PORT";
  }
  return mistake(std::string(is_good ? name : "") + (is_good ? ": " : "") + error);
}

}  // namespace

int main(int argc, char** argv) {
  os::open_standard_descriptors();
  os::ignore_broken_pipes();

  const tool::Words all(argv + 1, argc > 0 ? static_cast<std::size_t>(argc - 1) : 0);
  const std::size_t flags = tool::count_usual_flags(all);
  if (flags == all.size()) {
    const bool wants_help = std::any_of(all.begin(), all.end(), [](std::string_view word) {
      return word == "--help" || word == "-h";
    });
    if (wants_help) return show_help();
    if (!all.empty()) return mistake("there is no subcommand");
    std::fputs(help_text().c_str(), stderr);
    return tool::kExitUsage;
  }
  const std::string_view name = all[flags];
  if (name.starts_with('-')) return run_flag(all[flags]);
  if (name == kHelp) return help(all.subspan(flags + 1));
  const tool::Subcommand* subcommand = find_subcommand(name);
  if (subcommand == nullptr) return unknown_subcommand(name);
  if (flags > 0 && !subcommand->has_usual_flags) {
    return mistake(std::string(name) + " takes its flags after its name");
  }
  std::vector<const char*> words(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(flags));
  words.insert(words.end(), all.begin() + static_cast<std::ptrdiff_t>(flags) + 1, all.end());
  return subcommand->run(words);
}
