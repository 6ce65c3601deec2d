// haricot bench: builds the background, warms up, measures, clears away and reports.

#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "os/process.hpp"
#include "tool/bench/background.hpp"
#include "tool/bench/bench_options.hpp"
#include "tool/bench/bench_report.hpp"
#include "tool/bench/bench_tubes.hpp"
#include "tool/bench/comparison.hpp"
#include "tool/bench/interval_report.hpp"
#include "tool/bench/load.hpp"
#include "tool/cli/interrupt.hpp"
#include "tool/cli/output.hpp"
#include "tool/cli/subcommand.hpp"
#include "tool/client/address.hpp"
#include "tool/client/server_process.hpp"

namespace haricot::tool {
namespace {

constexpr std::size_t kTurns = 3;  // For each of two servers.

int fail(const std::string& reason, int status = kExitFailure) {
  std::fprintf(stderr, "haricot bench: %s\n", safe_lines(reason).c_str());
  return status;
}

// Makes a body in which shifted or swapped bytes are noticed.
std::string make_body(std::uint64_t size) {
  std::string body(size, ' ');
  for (std::size_t i = 0; i < body.size(); ++i) {
    body[i] = static_cast<char>('!' + (i * 7 + i / 251) % 94);
  }
  return body;
}

// Shows progress on a terminal, in a line that overwrites itself.
void show_progress(const Tally& tally) {
  const double seconds = static_cast<double>(tally.elapsed.count()) / 1e9;
  const auto commands = static_cast<double>(tally.commands());
  std::fprintf(stderr, "\r%8.1f s  %14.0f commands  %12.0f commands/s ", seconds, commands,
               seconds > 0 ? commands / seconds : 0);
}

void show_stage(const char* stage) {
  if (::isatty(STDERR_FILENO) != 0) std::fprintf(stderr, "\r\033[K%s", stage);
}

// Prints the line of --interval if it is time.
void show_line(IntervalReport& lines, const Tally& so_far) {
  const std::optional<std::string> line = lines.take(so_far);
  if (!line) return;
  show_stage("");
  print(*line);
  flush();
}

bool measure(const BenchOptions& options, Load& load, BenchResult& result, std::string& error) {
  if (options.warm_up > 0) {
    show_stage("warming up");
    Tally ignored;
    if (!load.run({options.warm_up, {}}, ignored, {}, error)) return false;
  }
  Load::Progress progress;
  if (::isatty(STDERR_FILENO) != 0) progress = show_progress;
  IntervalReport lines(Duration::milliseconds(static_cast<std::int64_t>(options.interval_ms)),
                       options.json);
  if (options.interval_ms > 0)
    progress = [&lines](const Tally& so_far) { show_line(lines, so_far); };
  const std::optional<ProcessUsage> client = usage_of(::getpid());
  result.before = usage_of(options.pid);
  const auto time = Duration::milliseconds(static_cast<std::int64_t>(options.milliseconds));
  const bool good = load.run({options.count, time}, result.tally, progress, error);
  result.after = usage_of(options.pid);
  if (client) result.client_cpu_ns = usage_of(::getpid())->cpu_ns - client->cpu_ns;
  return good;
}

// Checks that the process may open enough descriptors. Otherwise the last connections would fail
// after all other preparations.
bool fits_limit(const BenchOptions& options, std::string& error) {
  constexpr std::uint64_t kOthers = 16;  // Files of the program, and temporary connections.
  const Surroundings& besides = options.surroundings;
  const std::uint64_t wanted = options.connections + besides.waiting + besides.waiting_together +
                               besides.idle_connections + kOthers;
  const std::uint64_t limit = os::descriptor_limit();
  if (wanted <= limit) return true;
  error = std::to_string(wanted) + " descriptors are needed, but ulimit -n allows " +
          std::to_string(limit);
  return false;
}

// Prepares, measures and clears away. On failure prints a message and returns the exit status.
std::optional<int> run_once(const BenchOptions& options, BenchResult& result) {
  std::string error;
  if (!Address::check(options.address, error)) return fail(error, kExitUsage);
  const std::optional<Address> address = Address::find(options.address, error);
  if (!address) return fail(error, kExitNoServer);
  result.address = address->name();
  result.at_first = usage_of(options.pid);
  if (options.pid != 0 && !result.at_first) {
    return fail("there is no process " + std::to_string(options.pid));
  }
  if (!fits_limit(options, error)) return fail(error, kExitLocal);
  if (!address->connect(error,
                        Duration::milliseconds(static_cast<std::int64_t>(options.patience_ms)))) {
    return fail(error, kExitNoServer);
  }
  const std::string body = make_body(options.body_bytes);
  const BenchTubes tubes;
  Background background(options, *address, tubes, body);
  Load load(options, tubes, body);
  show_stage("preparing");
  const bool good = background.build(error) && load.open(*address, error) &&
                    load.watch_over(background.silent_connections(), error) &&
                    measure(options, load, result, error);
  result.was_interrupted = is_interrupted();

  // Clear away in any case.
  show_stage("clearing away");
  load.close();
  const bool is_clear = background.clear(result.clearing_error);
  show_stage("");
  if (!good) return fail(error);
  if (options.pid != 0 && !result.after) return fail("the server's process is gone");
  if (!is_clear) result.clearing_error.insert(0, "cannot delete the remaining jobs: ");
  return std::nullopt;
}

int run(const BenchOptions& options) {
  BenchResult result;
  if (const std::optional<int> failed = run_once(options, result)) return *failed;
  const std::string report =
      options.json ? json_report(options, result) : text_report(options, result);
  print(report);
  return result.clearing_error.empty() ? kExitDone : fail(result.clearing_error);
}

int compare(const BenchOptions& options) {
  std::array<BenchOptions, 2> each = {options, options};
  each[1].address = options.other_address;
  Comparison comparison;
  for (std::size_t turn = 0; turn < kTurns; ++turn) {
    for (const std::size_t i : order_of_turn(turn)) {
      BenchResult& result = comparison.turns[i].emplace_back();
      if (const std::optional<int> failed = run_once(each[i], result)) return *failed;
      if (!result.clearing_error.empty()) return fail(result.clearing_error);
      if (result.was_interrupted) return fail("interrupted: there is nothing to compare");
    }
  }
  const std::string report =
      options.json ? json_report(options, comparison) : text_report(options, comparison);
  print(report);
  return kExitDone;
}

}  // namespace

int bench(Words words) {
  BenchOptions options;
  std::string error;
  if (!parse_bench_options(words, options, error)) {
    return fail(error + "\nTry haricot bench --help.", kExitUsage);
  }
  if (options.action == BenchOptions::Action::show_help) {
    print(bench_help());
    return kExitDone;
  }
  os::raise_descriptor_limit();
  catch_interrupts();
  return options.other_address.empty() ? run(options) : compare(options);
}

}  // namespace haricot::tool
