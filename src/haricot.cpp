// haricot: the operator's tool. Each subcommand is a row of kSubcommands and a file in a folder of
// src/tool, or src/web for `haricot web`.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "os/process.hpp"
#include "tool/cli/command_line.hpp"
#include "tool/cli/interrupt.hpp"
#include "tool/cli/output.hpp"
#include "tool/cli/subcommand.hpp"

namespace {

using namespace haricot;

constexpr tool::Subcommand kSubcommands[] = {
    {"ping", "check that a server answers", &tool::ping},
    {"stats", "show the statistics of a server, a tube or a job", &tool::stats},
    {"tubes", "show a table of the tubes", &tool::tubes},
    {"jobs", "show a table of the jobs", &tool::jobs},
    {"clients", "show a table of the connections", &tool::clients},
    {"top", "show a server and its tubes live", &tool::top},
    {"peek", "print a job's body", &tool::peek},
    {"put", "put jobs into a tube", &tool::put},
    {"reserve", "reserve the next job and print it", &tool::reserve},
    {"work", "run a program for each job", &tool::work},
    {"release", "make jobs ready or delayed", &tool::release},
    {"kick", "make buried or delayed jobs ready", &tool::kick},
    {"delete", "delete jobs", &tool::delete_jobs},
    {"flush", "delete the jobs of a tube", &tool::flush_tube},
    {"move", "move the jobs of a tube into another tube", &tool::move_jobs},
    {"export", "write jobs as lines of JSON", &tool::export_jobs},
    {"import", "put jobs from lines of JSON", &tool::import_jobs},
    {"bury", "set jobs aside", &tool::bury},
    {"failures", "group buried jobs by their notes and classes", &tool::failures},
    {"note", "print or write the note of a job", &tool::note},
    {"pause", "stop reserves from a tube for a while", &tool::pause_tube},
    {"drain", "wait until a tube or a server is empty", &tool::drain},
    {"group", "count the jobs of a group, or wait for its end", &tool::group},
    {"wait", "wait until jobs are deleted or buried", &tool::wait_for_jobs},
    {"bench", "measure a server under load", &tool::bench},
    {"web", "serve a page, metrics and an API for servers", &tool::serve_web, false},
    {"binlog", "check, print, copy or repair the files of a server", &tool::binlog, false},
};

constexpr std::string_view kHelp = "help";

std::string help_text() {
  std::string text =
      "Use: haricot [OPTIONS] SUBCOMMAND [OPTIONS]\n"
      "     haricot help [SUBCOMMAND]\n"
      "     haricot --help | --version\n\n"
      "Subcommands (see haricot help SUBCOMMAND):\n";
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
  std::vector<std::string_view> names = {kHelp, "--version"};
  for (const tool::Subcommand& subcommand : kSubcommands) names.push_back(subcommand.name);
  return mistake("unknown subcommand: " + std::string(name) + tool::suggestion(name, names));
}

// Runs the subcommand, then reports a failed stdout and ends by the signal if one interrupted it.
int run_subcommand(const tool::Subcommand& subcommand, tool::Words words) {
  return tool::end_as_interrupted(tool::end_output(subcommand.name, subcommand.run(words)));
}

int show_help() {
  tool::print(help_text());
  return tool::end_output(kHelp, tool::kExitDone);
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
  return run_subcommand(*subcommand, {&flag, 1});
}

// Handles a flag in the place of a subcommand.
int run_flag(const char* word) {
  const std::string_view name = word;
  if (name == "--version" || name == "-v") {
    tool::print("haricot " HARICOT_VERSION "\n");
    return tool::end_output(name, tool::kExitDone);
  }
  std::vector<tool::Flag> flags = tool::usual_flags();
  flags.push_back({'v', "version", "", "", [](std::string_view) { return true; }});
  std::vector<std::string_view> operands;
  std::string error = "must be given alone";
  const bool is_good = tool::read_flags(flags, {&word, 1}, operands, error);
  return mistake(std::string(is_good ? name : "") + (is_good ? ": " : "") + error);
}

int run(tool::Words all) {
  const std::size_t flags = tool::count_usual_flags(all);
  if (flags == all.size()) {
    const bool wants_help = std::any_of(all.begin(), all.end(), [](std::string_view word) {
      return word == "--help" || word == "-h";
    });
    if (wants_help) return show_help();
    if (!all.empty()) return mistake("missing subcommand");
    std::fputs(help_text().c_str(), stderr);
    return tool::kExitUsage;
  }
  const std::string_view name = all[flags];
  if (name.starts_with('-')) return run_flag(all[flags]);
  if (name == kHelp) return help(all.subspan(flags + 1));
  const tool::Subcommand* subcommand = find_subcommand(name);
  if (subcommand == nullptr) return unknown_subcommand(name);
  if (flags > 0 && !subcommand->has_usual_flags) {
    return mistake(std::string(name) + ": flags must follow the subcommand");
  }
  std::vector<const char*> words(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(flags));
  words.insert(words.end(), all.begin() + static_cast<std::ptrdiff_t>(flags) + 1, all.end());
  return run_subcommand(*subcommand, words);
}

}  // namespace

int main(int argc, char** argv) {
  os::open_standard_descriptors();
  os::ignore_broken_pipes();
  const tool::Words words(argv + 1, argc > 0 ? static_cast<std::size_t>(argc - 1) : 0);
  return run(words);
}
