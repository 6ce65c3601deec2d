// haricot drain: waits until the workers have emptied a tube, or the server.

#include <cstdio>
#include <string>

#include "tool/client/errand.hpp"
#include "tool/commands/watching.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "drain", "[OPTIONS] [TUBE]",
    "Waits until no job of the tube, or of the whole server, is ready, reserved or delayed.\n"
    "Prints the remaining numbers whenever they change. drain itself takes no jobs; the workers\n"
    "do. A tube that does not exist is empty. --wait 0 checks once. --start makes the server\n"
    "refuse new jobs (drain mode), --stop ends this. Both require haricotd, over its unix socket\n"
    "or with --allow-drain, and return at once, except --start with --wait.\n",
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
    errand_.warn(
        "the server still accepts jobs; stop it with drain --start, or SIGUSR1 to process " +
        std::to_string(pid));
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
    "haricotd accepts it on its unix socket, or from all clients with --allow-drain; SIGUSR1 to "
    "the "
    "process also begins drain mode";

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
    print(choice.start ? "the server accepts no new jobs\n" : "the server accepts new jobs\n");
  }
  return errand.done();
}

// Checks the flags and operands. On a mistake prints a message and returns the exit status.
std::optional<int> check(const Errand& errand, const Choice& choice) {
  for (const std::string_view word : errand.operands()) {
    if (word != "start" && word != "stop" && word != "on" && word != "off") continue;
    return errand.mistake(
        "for drain mode use --start or --stop; for a tube with this name use --tube " +
        std::string(word));
  }
  if (choice.start && choice.stop) return errand.mistake("--start and --stop exclude each other");
  if (!choice.tube.empty() && (choice.start || choice.stop)) {
    return errand.mistake("--start and --stop are for the whole server, not for a tube");
  }
  if (choice.stop && choice.watching.has_limit) return errand.mistake("--stop excludes --wait");
  return std::nullopt;
}

}  // namespace

int drain(Words words) {
  Errand errand(kText);
  Subjects subjects(errand);
  Choice choice;
  errand.add({'w', "wait", "S", "give up after S seconds, with status 1 (never)",
              [&choice](std::string_view value) {
                choice.watching.has_limit = true;
                return set_milliseconds(choice.watching.wait_ms, 0)(value);
              },
              kTimeWanted});
  add_watching_flags(errand, choice.watching);
  errand.add(
      {'b', "buried", "", "wait until there are no buried jobs, either", set(choice.with_buried)});
  errand.add({0, "start", "", "make the server refuse new jobs", set(choice.start)});
  errand.add({0, "stop", "", "make the server accept new jobs again", set(choice.stop)});
  subjects.add_tube_flag();
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (const std::optional<int> over = subjects.take(1)) return *over;
  choice.tube = subjects.tube();
  if (const std::optional<int> over = check(errand, choice)) return *over;
  if (const std::optional<int> over = errand.connect()) return *over;
  return run(errand, choice);
}

}  // namespace haricot::tool
