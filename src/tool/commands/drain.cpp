// haricot drain: waits until the workers have emptied a tube, or the server.

#include <cstdio>
#include <string>

#include "tool/client/errand.hpp"
#include "tool/client/subjects.hpp"
#include "tool/commands/watching.hpp"

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
    "    haricot -a unix:/run/beanstalkd/socket drain --start --wait 10m\n"};

struct Left {
  std::uint64_t ready = 0;
  std::uint64_t reserved = 0;
  std::uint64_t delayed = 0;
  std::uint64_t buried = 0;
};

struct Choice {
  std::string tube;
  Watching watching;
  bool with_buried = false;
  bool start = false;
  bool stop = false;
};

class Drain {
 public:
  Drain(Errand& errand, const Choice& choice) : errand_(errand), choice_(choice) {}

  int run() {
    const std::optional<Duration> time =
        watch(errand_, choice_.watching, [this] { return look(); });
    if (!time) return errand_.failed();
    if (errand_.json()) print(json(*time));
    return errand_.done(is_empty() ? kExitDone : kExitFailure);
  }

 private:
  std::optional<Look> look() {
    bool is_there = false;
    const std::string command = choice_.tube.empty() ? "stats" : "stats-tube " + choice_.tube;
    const std::optional<StatsText> stats = errand_.server().ask_stats(command, is_there);
    if (!stats) return std::nullopt;
    left_.ready = stats->number("current-jobs-ready").value_or(0);
    left_.reserved = stats->number("current-jobs-reserved").value_or(0);
    left_.delayed = stats->number("current-jobs-delayed").value_or(0);
    left_.buried = stats->number("current-jobs-buried").value_or(0);
    const std::string* draining = stats->find("draining");
    if (draining != nullptr && *draining == "false") warn(stats->number("pid").value_or(0));
    return Look{is_empty(), jobs_left(),
                "ready " + std::to_string(left_.ready) + ", reserved " +
                    std::to_string(left_.reserved) + ", delayed " + std::to_string(left_.delayed) +
                    ", buried " + std::to_string(left_.buried) + "\n"};
  }

  std::uint64_t jobs_left() const {
    return left_.ready + left_.reserved + left_.delayed + (choice_.with_buried ? left_.buried : 0);
  }
  bool is_empty() const { return jobs_left() == 0; }

  void warn(std::uint64_t pid) {
    if (has_warned_ || choice_.watching.quiet || is_empty()) return;
    errand_.warn("the server still takes jobs; drain --start, or SIGUSR1 to its process (" +
                 std::to_string(pid) + "), ends that");
    has_warned_ = true;
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
  Left left_;
  bool has_warned_ = false;
};

// Begins or ends drain mode. Returns false if the server refuses or fails.
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
  if (choice.start && choice.watching.has_limit) return Drain(errand, choice).run();
  if (errand.json()) {
    print(std::string("{\"draining\":") + (choice.start ? "true" : "false") + "}\n");
  } else if (!choice.watching.quiet) {
    print(choice.start ? "the server takes no new jobs\n" : "the server takes new jobs\n");
  }
  return errand.done();
}

// Checks the flags and operands. On a mistake prints a message and returns the exit status.
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
  if (choice.stop && choice.watching.has_limit) return errand.mistake("--stop waits for nothing");
  return std::nullopt;
}

}  // namespace

int drain(Words words) {
  Errand errand(kText);
  Subjects subjects(errand);
  Choice choice;
  errand.add({'w', "wait", "S", "give up after so many seconds, with status 1 (never)",
              [&choice](std::string_view value) {
                choice.watching.has_limit = true;
                return set_milliseconds(choice.watching.wait_ms, 0)(value);
              },
              kTimeWanted});
  add_watching_flags(errand, choice.watching);
  errand.add({'b', "buried", "", "wait until buried jobs are gone too", set(choice.with_buried)});
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
