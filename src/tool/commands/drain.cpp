// haricot drain: waits until the workers have emptied a tube, or the server.

#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "os/clock.hpp"
#include "tool/cli/progress.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/subjects.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "drain", "[OPTIONS] [TUBE]",
    "Waits until no job of the tube, or of the whole server, is ready, reserved or delayed.\n"
    "Prints what is left whenever that changes. drain takes no jobs itself: the workers do. A\n"
    "tube that does not exist is empty. --wait 0 looks once. --start has the server refuse new\n"
    "jobs, which is drain mode, and --stop ends that. Both are for haricotd, over its unix\n"
    "socket or with its --allow-drain, and wait for nothing; but --start with --wait does.\n",
    "    haricot drain --wait 10m\n"
    "    haricot drain --wait 10m mail\n"
    "    haricot -a unix:/run/beanstalkd.sock drain --start --wait 10m\n"};

struct Left {
  std::uint64_t ready = 0;
  std::uint64_t reserved = 0;
  std::uint64_t delayed = 0;
  std::uint64_t buried = 0;

  friend bool operator==(const Left&, const Left&) = default;
};

struct Choice {
  std::string tube;
  std::uint64_t wait_ms = 0;
  bool has_limit = false;
  std::uint64_t interval_ms = 500;
  bool with_buried = false;
  bool quiet = false;
  bool start = false;
  bool stop = false;
};

class Drain {
 public:
  Drain(Errand& errand, const Choice& choice)
      : errand_(errand),
        choice_(choice),
        progress_("jobs left:", choice.quiet, Progress::Results::as_they_come) {}

  int run() {
    const Instant begin = os::read_clock();
    while (look()) {
      const Instant now = os::read_clock();
      const Instant end =
          choice_.has_limit
              ? begin + Duration::milliseconds(static_cast<std::int64_t>(choice_.wait_ms))
              : Instant::never();
      const bool is_over = is_empty() || now >= end;
      tell(is_over, now - begin);
      if (is_over) return errand_.done(is_empty() ? 0 : kExitFailure);
      const auto interval = Duration::milliseconds(static_cast<std::int64_t>(choice_.interval_ms));
      const Duration pause = std::min(interval, end - now);
      progress_.show(now, left_.ready + left_.reserved + left_.delayed);
      ::poll(nullptr, 0, static_cast<int>(pause.count() / 1'000'000) + 1);
    }
    progress_.clear();
    return errand_.failed();
  }

 private:
  bool look() {
    bool is_there = false;
    const std::string command = choice_.tube.empty() ? "stats" : "stats-tube " + choice_.tube;
    const std::optional<StatsText> stats = errand_.server().ask_stats(command, is_there);
    if (!stats) return false;
    left_.ready = stats->number("current-jobs-ready").value_or(0);
    left_.reserved = stats->number("current-jobs-reserved").value_or(0);
    left_.delayed = stats->number("current-jobs-delayed").value_or(0);
    left_.buried = stats->number("current-jobs-buried").value_or(0);
    const std::string* draining = stats->find("draining");
    takes_jobs_ = draining != nullptr && *draining == "false";
    pid_ = stats->number("pid").value_or(0);
    return true;
  }

  bool is_empty() const {
    return left_.ready + left_.reserved + left_.delayed +
               (choice_.with_buried ? left_.buried : 0) ==
           0;
  }

  void tell(bool is_over, Duration time) {
    if (takes_jobs_ && !has_warned_ && !choice_.quiet && !is_empty()) {
      errand_.warn("the server still takes jobs; drain --start, or SIGUSR1 to its process (" +
                   std::to_string(pid_) + "), ends that");
      has_warned_ = true;
    }
    if (errand_.json()) {
      if (is_over) print(json(time));
    } else if (!choice_.quiet && (!told_ || *told_ != left_)) {
      print("ready " + std::to_string(left_.ready) + ", reserved " +
            std::to_string(left_.reserved) + ", delayed " + std::to_string(left_.delayed) +
            ", buried " + std::to_string(left_.buried) + "\n");
      flush();
      told_ = left_;
    }
  }

  std::string json(Duration time) const {
    char seconds[40];
    std::snprintf(seconds, sizeof seconds, "%.3f", static_cast<double>(time.count()) / 1e9);
    return std::string("{\"empty\":") + (is_empty() ? "true" : "false") +
           ",\"ready\":" + std::to_string(left_.ready) +
           ",\"reserved\":" + std::to_string(left_.reserved) +
           ",\"delayed\":" + std::to_string(left_.delayed) +
           ",\"buried\":" + std::to_string(left_.buried) + ",\"seconds\":" + seconds + "}\n";
  }

  Errand& errand_;
  const Choice& choice_;
  Progress progress_;
  Left left_;
  std::optional<Left> told_;
  bool takes_jobs_ = false;
  bool has_warned_ = false;
  std::uint64_t pid_ = 0;
};

// Begins or ends drain mode. False: the server refuses, or failed.
bool switch_mode(Errand& errand, bool is_start) {
  Remote& server = errand.server();
  const ReplyCode wanted = is_start ? ReplyCode::draining : ReplyCode::not_draining;
  return server.ask(is_start ? "drain" : "undrain", wanted).has_value();
}

constexpr std::string_view kAdvice =
    "haricotd has it for clients on its unix socket, or for all with --allow-drain; SIGUSR1 to the "
    "process begins drain mode too";

int run(Errand& errand, const Choice& choice) {
  if (!choice.start && !choice.stop) return Drain(errand, choice).run();
  if (!switch_mode(errand, choice.start)) {
    return errand.server().failure().status == kExitRefused ? errand.failed(kAdvice)
                                                            : errand.failed();
  }
  if (choice.start && choice.has_limit) return Drain(errand, choice).run();
  if (errand.json()) {
    print(std::string("{\"draining\":") + (choice.start ? "true" : "false") + "}\n");
  } else if (!choice.quiet) {
    print(choice.start ? "the server takes no new jobs\n" : "the server takes new jobs\n");
  }
  return errand.done();
}

// What is wrong with the line, if something is.
std::optional<int> check(const Errand& errand, const Choice& choice) {
  for (const std::string_view word : errand.operands()) {
    if (word != "start" && word != "stop" && word != "on" && word != "off") continue;
    return errand.mistake("drain mode is --start and --stop; a tube of this name is --tube " +
                          std::string(word));
  }
  if (choice.start && choice.stop) return errand.mistake("--start and --stop exclude each other");
  if (!choice.tube.empty() && (choice.start || choice.stop)) {
    return errand.mistake("--start and --stop are for the whole server, not for a tube");
  }
  if (choice.stop && choice.has_limit) return errand.mistake("--stop waits for nothing");
  return std::nullopt;
}

}  // namespace

int drain(Words words) {
  Errand errand(kText);
  Subjects subjects(errand);
  Choice choice;
  errand.add({'w', "wait", "S", "give up after so many seconds, with status 1 (never)",
              [&choice](std::string_view value) {
                choice.has_limit = true;
                return set_milliseconds(choice.wait_ms, 0)(value);
              },
              kTimeWanted});
  errand.add({'i', "interval", "S", "how often to look, in seconds (0.5)",
              set_milliseconds(choice.interval_ms, 1), kTimeWanted});
  errand.add({'b', "buried", "", "wait until buried jobs are gone too", set(choice.with_buried)});
  errand.add({'q', "quiet", "", "print nothing", set(choice.quiet)});
  errand.add({0, "start", "", "have the server refuse new jobs", set(choice.start)});
  errand.add({0, "stop", "", "have the server take new jobs again", set(choice.stop)});
  subjects.add_tube_flag();
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (const std::optional<int> over = subjects.take(1)) return *over;
  choice.tube = subjects.tube();
  if (const std::optional<int> over = check(errand, choice)) return *over;
  if (const std::optional<int> over = errand.connect()) return *over;
  return run(errand, choice);
}

}  // namespace haricot::tool
