#include "tool/bench/bench_options.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "haricot/base/number.hpp"
#include "haricot/protocol/command.hpp"
#include "tool/cli/command_line.hpp"

namespace haricot::tool {
namespace {

constexpr std::uint64_t kMillisecondsDefault = 5'000;
constexpr std::uint64_t kWarmUpDefault = 10'000;
constexpr std::uint64_t kTakeCountDefault = 100'000;
constexpr std::uint64_t kBatchBytesMax = std::uint64_t{1} << 30;
constexpr std::uint64_t kBenchMillisecondsMax = 1'000'000'000;
constexpr std::uint64_t kIntervalMsMin = 100;

// Marks options that were not given, to be filled in at the end.
constexpr std::uint64_t kNotGiven = std::numeric_limits<std::uint64_t>::max();

// Range of a number.
struct Limits {
  std::uint64_t min;
  std::uint64_t max;
};
constexpr Limits kAnyNumber{0, 1'000'000'000'000};
constexpr Limits kJobs{1, 1'000'000'000'000};
constexpr Limits kConnections{1, 1'000'000};
constexpr Limits kMoreConnections{0, 1'000'000};
constexpr Limits kDepth{1, 100'000};
constexpr Limits kBodyBytes{0, kJobBytesMaxLimit};

std::function<bool(std::string_view)> into(std::uint64_t& to, const Limits& limits) {
  return set_count(to, limits.min, limits.max);
}

// Names of the values, in their order.
constexpr std::string_view kWorkloads[] = {"put", "take", "cycle"};
constexpr std::string_view kReserveModes[] = {"own-tube", "fifo", "weighted"};

// Returns false if no value has this name.
template <typename Enum>
bool read_name(std::string_view value, std::span<const std::string_view> names, Enum& to) {
  const auto found = std::find(names.begin(), names.end(), value);
  if (found != names.end()) to = static_cast<Enum>(found - names.begin());
  return found != names.end();
}

constexpr std::string_view kNumber = "a number, in thousands or millions with k or M";
constexpr std::string_view kAtLeastOne = "a number of at least 1 within reason";

std::vector<Flag> load_flags(BenchOptions& o) {
  return {
      {0, "workload", "NAME", "put, take (reserve, delete) or cycle (all three; the default)",
       [&o](std::string_view value) { return read_name(value, kWorkloads, o.workload); },
       "put, take or cycle"},
      {'c', "connections", "N", "number of connections (16)", into(o.connections, kConnections),
       kAtLeastOne},
      {0, "depth", "N", "commands that a connection sends at once (1)", into(o.depth, kDepth),
       "a number from 1 to 100k"},
      {0, "body-size", "BYTES", "size of a job's body (100)", into(o.body_bytes, kBodyBytes),
       "a size of at most 1073741824"},
      {0, "tubes", "N", "tubes; each connection uses one of them (1)", into(o.tubes, kConnections),
       kAtLeastOne},
      {0, "watch", "N", "additional empty tubes that each connection watches (0)",
       into(o.watched_tubes, kMoreConnections), kNumber},
      {0, "reserve-mode", "MODE",
       "reserve from all tubes, in this mode of haricotd: fifo or weighted",
       [&o](std::string_view value) {
         return read_name(value, kReserveModes, o.reserve_mode) &&
                o.reserve_mode != ReserveMode::own_tube;
       },
       "fifo or weighted"},
      {0, "unique", "", "give each job a unique key, with the tag idp of haricotd", set(o.unique)},
      {'n', "count", "N", "jobs to measure, instead of a time", into(o.count, kJobs), kAtLeastOne},
      {0, "seconds", "S", "time to measure (5)",
       set_milliseconds(o.milliseconds, 1, kBenchMillisecondsMax), kPositiveTimeWanted},
      {0, "warm-up", "N", "jobs before the measured ones (10k, or the count if that is less)",
       into(o.warm_up, kAnyNumber), kNumber},
  };
}

std::vector<Flag> surroundings_flags(Surroundings& s) {
  return {
      {0, "ready", "N", "ready jobs in the tubes of the load, older than its own jobs",
       into(s.ready, kAnyNumber), kNumber},
      {0, "delayed", "N", "delayed jobs in the tubes of the load", into(s.delayed, kAnyNumber),
       kNumber},
      {0, "idle-tubes", "N", "other tubes, with one job each", into(s.idle_tubes, kAnyNumber),
       kNumber},
      {0, "waiting", "N", "waiting workers, each on its own tube",
       into(s.waiting, kMoreConnections), kNumber},
      {0, "waiting-together", "N", "waiting workers on one other tube",
       into(s.waiting_together, kMoreConnections), kNumber},
      {0, "idle-connections", "N", "idle connections", into(s.idle_connections, kMoreConnections),
       kNumber},
  };
}

void add_address(BenchOptions& options, std::string_view address) {
  (options.addresses == 0 ? options.address : options.other_address) = address;
  ++options.addresses;
}

std::vector<Flag> other_flags(BenchOptions& o) {
  return {
      {'a', "address", "ADDR", "server: HOST:PORT, [V6]:PORT or unix:PATH",
       [&o](std::string_view value) {
         add_address(o, value);
         return true;
       }},
      {'i', "interval", "S", "print a line every S seconds during the run",
       set_milliseconds(o.interval_ms, kIntervalMsMin, kBenchMillisecondsMax),
       "a time of at least 0.1 seconds"},
      {0, "histogram", "", "print a histogram of latencies", set(o.histogram)},
      {0, "pid", "PID", "process of the server, to report its CPU time and memory",
       [&o](std::string_view value) {
         const std::optional<std::uint64_t> number = read_count(value);
         if (!number || *number == 0 || *number > std::numeric_limits<pid_t>::max()) return false;
         o.pid = static_cast<pid_t>(*number);
         return true;
       },
       "a process id"},
      {'T', "timeout", "S", "time limit for an answer, in seconds (10)",
       set_milliseconds(o.patience_ms, 1, kBenchMillisecondsMax), kPositiveTimeWanted},
      {0, "keep", "", "keep the jobs that remain at the end", set(o.keep)},
      {'j', "json", "", "report as JSON", set(o.json)},
      {'h', "help", "", "show this help and exit",
       [&o](std::string_view) {
         o.action = BenchOptions::Action::show_help;
         return true;
       }},
  };
}

std::vector<Flag> all_flags(BenchOptions& options) {
  std::vector<Flag> flags = load_flags(options);
  for (Flag& flag : surroundings_flags(options.surroundings)) flags.push_back(std::move(flag));
  for (Flag& flag : other_flags(options)) flags.push_back(std::move(flag));
  return flags;
}

// Fills in defaults that depend on other options. Returns false if options exclude each other.
bool settle(BenchOptions& options, std::string& error) {
  const bool has_time = options.milliseconds != kNotGiven;
  if (options.count != 0 && has_time) {
    error = "--count and --seconds exclude each other";
    return false;
  }
  if (options.workload == Workload::take) {
    if (has_time) {
      error = "the workload take requires --count, because its jobs are put in advance";
      return false;
    }
    if (options.count == 0) options.count = kTakeCountDefault;
  }
  if (options.tubes > options.connections) {
    error = "more --tubes than --connections: some tubes would have no load";
    return false;
  }
  // A batch is kept in memory as a whole.
  if (options.workload != Workload::take && options.depth * options.body_bytes > kBatchBytesMax) {
    error = "--depth times --body-size exceeds 1 GiB";
    return false;
  }
  if (!has_time) options.milliseconds = kMillisecondsDefault;
  if (options.warm_up == kNotGiven) {
    options.warm_up = options.count == 0 ? kWarmUpDefault : std::min(options.count, kWarmUpDefault);
  }
  return true;
}

}  // namespace

std::string_view name_of(Workload workload) {
  return kWorkloads[static_cast<std::size_t>(workload)];
}

std::string_view name_of(ReserveMode mode) {
  return kReserveModes[static_cast<std::size_t>(mode)];
}

bool parse_bench_options(Words words, BenchOptions& options, std::string& error) {
  options.milliseconds = options.warm_up = kNotGiven;
  std::vector<std::string_view> operands;
  if (!read_flags(all_flags(options), words, operands, error)) return false;
  if (options.action == BenchOptions::Action::show_help) return true;
  for (const std::string_view operand : operands) add_address(options, operand);
  if (options.addresses > 2) {
    error = "more than two addresses";
    if (!operands.empty()) error += ": " + std::string(operands.back());
    return false;
  }
  if (options.addresses == 0) {
    error = "requires the address of the server to load ($HARICOT_ADDR is not used)";
    return false;
  }
  if (options.addresses == 2 &&
      (options.pid != 0 || options.histogram || options.interval_ms > 0)) {
    error = "--pid, --histogram and --interval require a single server";
    return false;
  }
  return settle(options, error);
}

std::string bench_help() {
  BenchOptions options;
  return "Use: haricot bench [OPTIONS] ADDRESS [ADDRESS]\n\n"
         "Measures a beanstalk server under load. ADDRESS is a value of --address. It is "
         "mandatory:\n"
         "$HARICOT_ADDR is not used. Each connection sends a batch of commands, waits for all\n"
         "answers, checks them, and continues. bench uses tubes of its own, and deletes its jobs "
         "at\n"
         "the end. Two servers get the load in turns, three each, and the ratio is reported.\n\n"
         "The load:\n" +
         describe_flags(load_flags(options)) + "\nOther contents of the server:\n" +
         describe_flags(surroundings_flags(options.surroundings)) + "\nOther:\n" +
         describe_flags(other_flags(options)) +
         "\nA time is a number of seconds, or has units: 2.5, 90s, 5m, 1h30m, 2d, 250ms.\n"
         "Exit status: 0 success, 1 a wrong answer or a closed connection, 3 no server,\n"
         "5 usage error, 6 stdout fails, or ulimit allows too few connections.\n"
         "After Ctrl-C it reports the results so far, and ends by that signal.\n"
         "\nExamples:\n"
         "    haricot bench localhost --seconds 10 --histogram    # latencies\n"
         "    haricot bench queue1:11300 --connections 100 --depth 10\n"
         "    haricot bench unix:/run/old.sock unix:/run/new.sock # compares them\n";
}

}  // namespace haricot::tool
