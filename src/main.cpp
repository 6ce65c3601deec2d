// haricotd: parses the flags, and runs the steps of a start and then the server.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "os/log.hpp"
#include "os/options.hpp"
#include "os/process.hpp"
#include "os/rules_file.hpp"
#include "os/server_start.hpp"
#include "os/service_manager.hpp"

namespace {

using namespace haricot;

// First and last version of the state format that this program reads. docs/contributing.md, To
// change what a restart hands over.
#ifndef HARICOT_STATE_VERSIONS
#define HARICOT_STATE_VERSIONS 1, 1
#endif
constexpr os::StateVersions kStateVersions{HARICOT_STATE_VERSIONS};

// Prints the versions in one line. The last one is the version that this program writes.
void print_state_versions() {
  for (std::uint32_t version = kStateVersions.first; version < kStateVersions.last; ++version) {
    std::printf("%u ", version);
  }
  std::printf("%u\n", kStateVersions.last);
}

// Runs the steps of a start in order, then the server. Locks the folder before it opens sockets: a
// second server on the folder must not take the socket of the first. Opens sockets and changes the
// user before it enters the sandbox, which denies both.
int serve(const os::Options& options, const std::vector<Rule>& rules, os::Log& log) {
  os::ServerStart start(options, {HARICOT_VERSION, kStateVersions}, log);
  const bool is_ready = start.open_folder() && start.find_predecessor() && start.open_sockets() &&
                        start.become_user() && start.move_jobs();
  if (!is_ready) return start.exit_status();
  start.enter_sandbox();
  return start.serve(rules);
}

// Runs the server. If memory is short, logs that and fails; a service manager keeps the state.
int serve_or_fail(const os::Options& options, const std::vector<Rule>& rules) {
  os::Log log(STDERR_FILENO, os::log_style(options));
  try {
    return serve(options, rules, log);
  } catch (const std::bad_alloc&) {
    log.event(os::Level::error, "no-memory", {{"hint", "give the server more memory"}});
    log.flush();
    return EXIT_FAILURE;
  }
}

// Returns "beanstalkd" if the program was started by that name, otherwise "haricotd".
const char* program_name(const char* path) {
  const std::string_view words = path != nullptr ? path : "";
  const std::string_view name = words.substr(words.rfind('/') + 1);
  return name == "beanstalkd" ? "beanstalkd" : "haricotd";
}

// Reports wrong flags. The error comes last, because scripts and people read the last line. If a
// service manager keeps a state, the error is logged instead.
int report_mistake(const char* name, const os::Options& options, const std::string& error) {
  if (os::take_passed_descriptors().state.empty()) {
    std::fprintf(stderr, "Try %s --help.\n%s: %s\n", name, name, error.c_str());
  } else {
    os::Log log(STDERR_FILENO, os::log_style(options));
    os::log_cannot_start(log, os::kExitUsage, error, true);
  }
  return os::kExitUsage;
}

// Runs --check: prints the result of a start with these flags, on standard error if it would fail.
int check(const char* name, const os::Options& options) {
  std::string error;
  for (const std::string& warning : options.warnings) {
    std::fprintf(stderr, "%s: warning: %s\n", name, warning.c_str());
  }
  const int status = os::check_start(options, error);
  if (status == EXIT_SUCCESS) {
    std::puts("the server can start");
  } else {
    std::fprintf(stderr, "%s: %s\n", name, error.c_str());
  }
  return status;
}

// Prepares the process for a server, or for a check of its start.
void prepare_process() {
#ifdef HARICOT_COUNTS_MEMORY
  os::count_memory();
#endif
  os::open_standard_descriptors();
  os::ignore_broken_pipes();
  os::ignore_children();
  os::survive_file_size_limit();
  os::block_signals();
}

}  // namespace

int main(int argc, char** argv) {
  prepare_process();
  os::Options options;
  std::string error;
  const std::span<const char* const> words(argv + 1, static_cast<std::size_t>(argc - 1));
  const char* const name = program_name(argv[0]);
  std::vector<Rule> rules;
  const bool is_good =
      os::parse_options(words, options, error) && os::read_rules(options, rules, error);
  if (!is_good) return report_mistake(name, options, error);
  switch (options.action) {
    case os::Options::Action::show_version:
      std::puts("beanstalkd 1.13 (haricot " HARICOT_VERSION ")");
      return EXIT_SUCCESS;
    case os::Options::Action::show_help:
      std::fputs(os::help_text(name).c_str(), stdout);
      return EXIT_SUCCESS;
    case os::Options::Action::show_state_versions:
      print_state_versions();
      return EXIT_SUCCESS;
    case os::Options::Action::check:
      return check(name, options);
    case os::Options::Action::serve:
      return serve_or_fail(options, rules);
  }
}
