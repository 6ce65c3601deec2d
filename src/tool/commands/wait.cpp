// haricot wait: waits until jobs are deleted or buried.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/clock.hpp"
#include "tool/client/errand.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "wait", "[OPTIONS] ID...",
    "Waits until each of these jobs is deleted or buried. Prints a line for each job, with its\n"
    "id and deleted, buried, not found or still there (--wait is over). A job that was deleted\n"
    "before, or never put, is reported as not found. Waits for one job after another: a job that\n"
    "is buried and kicked before its turn is still awaited. The status is 0 if no job is left, 1\n"
    "if one is still there, and otherwise 7, because one is buried. Requires haricotd.\n",
    "    haricot wait 17 18 && echo done\n"
    "    haricot wait 17 --wait 5m                           # at most 5 minutes\n"};

// Number of jobs that are requested at once.
constexpr std::size_t kLooks = 500;

struct Choice {
  bool has_limit = false;
  std::uint64_t wait_s = 0;
  bool quiet = false;
};

enum class End : std::uint8_t { deleted, buried, not_found, still_there };

class Wait {
 public:
  Wait(Errand& errand, const Choice& choice)
      : errand_(errand),
        choice_(choice),
        end_(choice.has_limit
                 ? os::read_clock() + Duration::seconds(static_cast<std::uint32_t>(choice.wait_s))
                 : Instant::never()) {}

  int run(const std::vector<std::uint64_t>& ids) {
    if (!look(ids)) return errand_.failed();
    report_gone();
    for (const std::uint64_t id : there_) {
      if (const int status = errand_.done(); status != 0)
        return status;  // Stops if the output
                        // cannot be written.
      const std::optional<End> end = wait_for(id);
      if (!end) return errand_.failed();
      tell(id, *end);
    }
    return errand_.done(status_);
  }

 private:
  // Checks all jobs once and reports those that have ended; a job that is not found later was
  // deleted. Returns false if the server failed.
  bool look(const std::vector<std::uint64_t>& ids) {
    for (std::size_t begin = 0; begin < ids.size(); begin += kLooks) {
      const std::size_t count = std::min(kLooks, ids.size() - begin);
      std::string commands;
      for (std::size_t i = 0; i < count; ++i) commands += command(ids[begin + i], 0) + "\r\n";
      const auto answers = errand_.server().ask_together("wait-job", commands, count);
      if (!answers) return false;
      for (std::size_t i = 0; i < count; ++i) {
        const std::optional<End> end = read((*answers)[i]);
        if (!end) return false;
        const bool is_there = *end == End::still_there;
        if (is_there) there_.push_back(ids[begin + i]);
        if (!is_there) tell(ids[begin + i], *end);
      }
    }
    return true;
  }

  // Reports the jobs that were not found. This is no failure, because they are most often done.
  void report_gone() const {
    if (gone_.empty() || choice_.quiet || errand_.json()) return;
    const bool is_one = gone_.size() == 1;
    errand_.warn((is_one ? "job " + std::to_string(gone_.front()) + " was"
                         : std::to_string(gone_.size()) + " jobs were") +
                 " deleted before, or never put");
  }

  // Returns nothing if the server failed.
  std::optional<End> wait_for(std::uint64_t id) {
    while (true) {
      const std::uint64_t left_s = seconds_left();
      const std::uint64_t turn_s = std::min(left_s, Errand::kTurnS);
      const std::optional<Response> answer = errand_.ask_and_wait(command(id, turn_s), turn_s);
      const std::optional<End> end = answer ? read(*answer) : std::nullopt;
      if (end == End::not_found) return End::deleted;
      if (end != End::still_there || turn_s == left_s) return end;
    }
  }

  // Rounds up to whole seconds.
  std::uint64_t seconds_left() const {
    return (end_ + Duration::nanoseconds(999'999'999) - os::read_clock()).whole_seconds();
  }

  static std::string command(std::uint64_t id, std::uint64_t seconds) {
    return "wait-job " + std::to_string(id) + " " + std::to_string(seconds);
  }

  // Returns nothing for any other answer, which is a failure of the server.
  std::optional<End> read(const Response& answer) {
    switch (answer.code) {
      case ReplyCode::deleted:
        return End::deleted;
      case ReplyCode::buried:
        return End::buried;
      case ReplyCode::not_found:
        return End::not_found;
      case ReplyCode::timed_out:
        return End::still_there;
      default:
        errand_.server().refuse("wait-job", answer.code, answer.line);
        return std::nullopt;
    }
  }

  void tell(std::uint64_t id, End end) {
    constexpr std::string_view kWords[] = {"deleted", "buried", "not found", "still there"};
    constexpr std::string_view kJsonWords[] = {"deleted", "buried", "not_found", "still_there"};
    const auto at = static_cast<std::size_t>(end);
    if (end == End::buried && status_ == kExitDone) status_ = kExitBuried;
    if (end == End::still_there) status_ = kExitFailure;
    if (end == End::not_found) gone_.push_back(id);
    if (errand_.json()) {
      print("{\"id\":" + std::to_string(id) + ",\"end\":\"" + std::string(kJsonWords[at]) +
            "\"}\n");
    } else if (!choice_.quiet) {
      print(std::to_string(id) + " " + std::string(kWords[at]) + "\n");
    }
    flush();
  }

  Errand& errand_;
  const Choice& choice_;
  const Instant end_;
  std::vector<std::uint64_t> there_;
  std::vector<std::uint64_t> gone_;
  int status_ = kExitDone;
};

}  // namespace

int wait_for_jobs(Words words) {
  Errand errand(kText);
  Subjects subjects(errand);
  Choice choice;
  errand.add({'w', "wait", "S", "give up after S seconds, with status 1 (never)",
              [&choice](std::string_view value) {
                choice.has_limit = true;
                return set_seconds(choice.wait_s)(value);
              },
              kTimeWanted});
  errand.add({'q', "quiet", "", "print nothing", set(choice.quiet)});
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (const std::optional<int> over = subjects.take(0, Subjects::Ids::yes)) return *over;
  if (subjects.ids().empty()) return errand.mistake("requires ids of jobs");
  if (const std::optional<int> over = errand.connect()) return *over;
  return Wait(errand, choice).run(subjects.ids());
}

}  // namespace haricot::tool
