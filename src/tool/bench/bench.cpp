// haricot bench: builds the background, warms up, measures, clears away and reports.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/descriptor.hpp"
#include "os/process.hpp"
#include "tool/bench/bench_options.hpp"
#include "tool/bench/bench_report.hpp"
#include "tool/bench/load.hpp"
#include "tool/cli/interrupt.hpp"
#include "tool/cli/output.hpp"
#include "tool/cli/subcommand.hpp"
#include "tool/client/address.hpp"
#include "tool/client/remote.hpp"
#include "tool/client/server_process.hpp"

namespace haricot::tool {
namespace {

// Ids of jobs, as ranges, because the ids of a batch are usually consecutive.
class JobIds {
 public:
  struct Range {
    std::uint64_t first;
    std::uint64_t last;
  };

  void add(std::uint64_t id) {
    if (!ranges_.empty() && ranges_.back().last + 1 == id) {
      ranges_.back().last = id;
    } else {
      ranges_.push_back({id, id});
    }
  }
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  std::vector<Range> ranges_;
};

// Jobs, tubes, waiting workers and connections that a server holds while it is measured. They are
// created before the load and removed after it.
class Background final {
 public:
  Background(const BenchOptions& options, const Address& address, const BenchTubes& tubes,
             std::string_view body);

  // Creates everything. On failure returns false and sets `error`; clear() removes what exists.
  [[nodiscard]] bool build(std::string& error);

  // Returns connections that should never receive anything.
  const std::vector<os::Descriptor>& silent_connections() const { return silent_; }

  // Closes the connections. Unless --keep is given, deletes all jobs in the tubes of the benchmark,
  // including those of the load. Requires: the load's connections are closed.
  [[nodiscard]] bool clear(std::string& error);

 private:
  bool put_jobs(Remote& server, std::uint64_t tube, std::uint64_t count, std::uint32_t delay,
                std::string& error);
  bool put_batch(Remote& server, std::string_view name, std::string_view commands,
                 std::uint64_t answers, bool keeps_ids, std::string& error);
  bool make_idle_tubes(Remote& server, std::string& error);
  bool make_connections(std::string& error);
  bool add_waiting(const std::string& tube, std::string& error);
  bool delete_jobs(Remote& server, const JobIds& ids, std::string& error);
  bool empty_load_tubes(Remote& server, std::string& error);

  const BenchOptions& options_;
  const Address& address_;
  const BenchTubes& tubes_;
  std::string_view body_;
  JobIds ids_;  // Ids of jobs that the load does not take.
  std::vector<os::Descriptor> silent_;
};

constexpr std::uint64_t kCommandsAtOnce = 1000;
constexpr std::uint64_t kBytesAtOnce = 256 * 1024;
constexpr Duration kConnectPatience = Duration::seconds(30);  // For an idle connection.
// Too far away to become ready during the run. The delays differ, so that jobs are not ordered by
// their arrival.
constexpr std::uint32_t kDelaySeconds = 100'000;
constexpr std::uint64_t kDelaySpread = 997;

std::string put_command(std::uint64_t delay, std::string_view body) {
  std::string text = "put 0 " + std::to_string(delay) + " 120 " + std::to_string(body.size());
  text += "\r\n";
  text += body;
  text += "\r\n";
  return text;
}

Background::Background(const BenchOptions& options, const Address& address, const BenchTubes& tubes,
                       std::string_view body)
    : options_(options), address_(address), tubes_(tubes), body_(body) {}

bool Background::build(std::string& error) {
  const Surroundings& wanted = options_.surroundings;
  Remote server(address_, options_.patience());
  if (!server.open(error)) return false;
  for (std::uint64_t tube = 0; tube < options_.tubes; ++tube) {
    const auto share = [this, tube](std::uint64_t total) {
      return share_of(total, options_.tubes, tube);
    };
    std::uint64_t ready = share(wanted.ready);
    // Each tube needs as many ready jobs as the load will take from it.
    if (options_.workload == Workload::take)
      ready += share(options_.count) + share(options_.warm_up);
    if (!put_jobs(server, tube, ready, 0, error) ||
        !put_jobs(server, tube, share(wanted.delayed), kDelaySeconds, error)) {
      return false;
    }
  }
  return make_idle_tubes(server, error) && make_connections(error);
}

bool Background::put_jobs(Remote& server, std::uint64_t tube, std::uint64_t count,
                          std::uint32_t delay, std::string& error) {
  if (count == 0) return true;
  const std::string use = "use " + tubes_.load(tube) + "\r\n";
  if (!server.run("use", use, 1, ReplyCode::now_using, error)) return false;
  const std::uint64_t at_once =
      std::clamp<std::uint64_t>(kBytesAtOnce / (body_.size() + 40), 1, kCommandsAtOnce);
  std::string commands;
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t batch = std::min(at_once, count - done);
    // Without a delay all commands are equal.
    const bool is_reusable = delay == 0 && done > 0 && batch == at_once;
    if (!is_reusable) {
      commands.clear();
      for (std::uint64_t i = 0; i < batch; ++i) {
        commands += put_command(delay == 0 ? 0 : delay + (done + i) * 7 % kDelaySpread, body_);
      }
    }
    if (!put_batch(server, "put", commands, batch, delay > 0, error)) return false;
    done += batch;
  }
  return true;
}

// Puts a batch. Records the ids that have to be deleted in the end, even after a refusal. With
// `keeps_ids` these are all ids. Otherwise the load takes the ready jobs, so only jobs that the
// server buried for lack of memory are recorded.
bool Background::put_batch(Remote& server, std::string_view name, std::string_view commands,
                           std::uint64_t answers, bool keeps_ids, std::string& error) {
  std::string odd;
  const auto check = [&](const Answer& answer) {
    const bool is_put = answer.code == ReplyCode::inserted;
    const bool is_buried = answer.code == ReplyCode::buried_new;
    if (is_buried || (is_put && keeps_ids)) ids_.add(answer.number);
    const bool is_good = is_put || answer.code == ReplyCode::now_using;
    if (!is_good && odd.empty()) odd = describe_unexpected(name, answer);
    return true;
  };
  if (!server.run(name, commands, answers, check, error)) return false;
  if (!odd.empty()) error = odd;
  return odd.empty();
}

bool Background::make_idle_tubes(Remote& server, std::string& error) {
  const std::uint64_t count = options_.surroundings.idle_tubes;
  const std::string put = put_command(0, "x");
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t batch = std::min(kCommandsAtOnce, count - done);
    std::string commands;
    for (std::uint64_t i = 0; i < batch; ++i) {
      commands += "use " + tubes_.idle(done + i) + "\r\n" + put;
    }
    if (!put_batch(server, "use and put", commands, 2 * batch, true, error)) return false;
    done += batch;
  }
  return true;
}

bool Background::make_connections(std::string& error) {
  const Surroundings& wanted = options_.surroundings;
  for (std::uint64_t i = 0; i < wanted.idle_connections; ++i) {
    Remote idle(address_, kConnectPatience);
    if (!idle.open(error)) return false;
    silent_.push_back(idle.release());
  }
  // Connections are accepted in order, so an answer on a later one shows that all are accepted.
  Remote last(address_, options_.patience());
  if (wanted.idle_connections > 0 &&
      (!last.open(error) ||
       !last.run("list-tube-used", "list-tube-used\r\n", 1, ReplyCode::now_using, error))) {
    return false;
  }
  for (std::uint64_t i = 0; i < wanted.waiting; ++i) {
    if (!add_waiting(tubes_.waiting(i), error)) return false;
  }
  for (std::uint64_t i = 0; i < wanted.waiting_together; ++i) {
    if (!add_waiting(tubes_.waiting_together(), error)) return false;
  }
  return true;
}

bool Background::add_waiting(const std::string& tube, std::string& error) {
  Remote worker(address_, options_.patience());
  if (!worker.open(error)) return false;
  // The reserve gets no answer, because that tube never gets a job.
  const std::string commands = "watch " + tube + "\r\nignore default\r\nreserve\r\n";
  if (!worker.run("watch and ignore", commands, 2, ReplyCode::watching, error)) return false;
  silent_.push_back(worker.release());
  return true;
}

bool Background::clear(std::string& error) {
  silent_.clear();
  if (options_.keep) return true;
  Remote server(address_, options_.patience());
  return server.open(error) && delete_jobs(server, ids_, error) && empty_load_tubes(server, error);
}

bool Background::delete_jobs(Remote& server, const JobIds& ids, std::string& error) {
  // The job may be deleted already.
  const auto check = [](const Answer& answer) {
    return answer.code == ReplyCode::deleted || answer.code == ReplyCode::not_found;
  };
  std::string commands;
  std::uint64_t batch = 0;
  for (const JobIds::Range& range : ids.ranges()) {
    const std::uint64_t count = range.last - range.first + 1;
    for (std::uint64_t i = 0; i < count; ++i) {
      commands += "delete " + std::to_string(range.first + i) + "\r\n";
      if (++batch < kCommandsAtOnce) continue;
      if (!server.run("delete", commands, batch, check, error)) return false;
      commands.clear();
      batch = 0;
    }
  }
  return server.run("delete", commands, batch, check, error);
}

// Reserves and deletes all ready jobs of the load's tubes.
bool Background::empty_load_tubes(Remote& server, std::string& error) {
  for (std::uint64_t tube = 0; tube < options_.tubes; ++tube) {
    const std::string watch = "watch " + tubes_.load(tube) + "\r\nignore " +
                              (tube == 0 ? "default" : tubes_.load(tube - 1)) + "\r\n";
    if (!server.run("watch", watch, 2, ReplyCode::watching, error)) return false;
    // Begin with one, because usually there are none.
    for (std::uint64_t at_once = 1; at_once > 0;) {
      std::string commands;
      for (std::uint64_t i = 0; i < at_once; ++i) commands += "reserve-with-timeout 0\r\n";
      JobIds taken;
      std::uint64_t count = 0;
      const auto check = [&taken, &count](const Answer& answer) {
        if (answer.code != ReplyCode::reserved) return answer.code == ReplyCode::timed_out;
        taken.add(answer.number);
        ++count;
        return true;
      };
      if (!server.run("reserve-with-timeout", commands, at_once, check, error) ||
          !delete_jobs(server, taken, error)) {
        return false;
      }
      at_once = count == at_once ? kCommandsAtOnce : 0;
    }
  }
  return true;
}

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
  if (!Remote(*address, options.patience()).open(error)) return fail(error, kExitNoServer);
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
