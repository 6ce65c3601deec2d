// haricot group: how many jobs of a group are left, once or until none is.

#include <poll.h>

#include <algorithm>
#include <string>

#include "haricot/base/json.hpp"
#include "os/clock.hpp"
#include "tool/cli/progress.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/put_tags.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "group", "[OPTIONS] GROUP",
    "Prints how many jobs of a group are ready, reserved, delayed and buried, and how many other\n"
    "jobs are held until the group has ended. It ends with the deletion of its last job, so a\n"
    "buried job keeps it waiting. The status is 1 if the server has no job of the group. --wait\n"
    "prints the line whenever it changes, until the group has ended, and then the status is 0.\n"
    "put --group and --after make such jobs. The server has to be haricotd.\n",
    "    haricot group import-7\n"
    "    haricot group import-7 --wait 1h && echo imported\n"};

struct Choice {
  std::string name;
  std::uint64_t wait_ms = 0;
  bool has_limit = false;
  bool waits = false;
  std::uint64_t interval_ms = 500;
  bool quiet = false;
};

struct Left {
  std::uint64_t ready = 0;
  std::uint64_t reserved = 0;
  std::uint64_t delayed = 0;
  std::uint64_t buried = 0;
  std::uint64_t held = 0;

  std::uint64_t jobs() const { return ready + reserved + delayed + buried; }
  friend bool operator==(const Left&, const Left&) = default;
};

class Watch {
 public:
  Watch(Errand& errand, const Choice& choice)
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
      const bool is_over = !choice_.waits || left_.jobs() == 0 || now >= end;
      tell(is_over);
      if (is_over) return finish();
      const auto interval = Duration::milliseconds(static_cast<std::int64_t>(choice_.interval_ms));
      const Duration pause = std::min(interval, end - now);
      progress_.show(now, left_.jobs());
      ::poll(nullptr, 0, static_cast<int>(pause.count() / 1'000'000) + 1);
    }
    progress_.clear();
    return errand_.failed();
  }

 private:
  // False: the server failed.
  bool look() {
    bool is_there = false;
    const std::optional<StatsText> stats =
        errand_.server().ask_stats("stats-group " + choice_.name, is_there);
    if (!stats) return false;
    const auto number = [&stats](std::string_view key) { return stats->number(key).value_or(0); };
    left_ = {number("ready"), number("reserved"), number("delayed"), number("buried"),
             number("waiting-jobs")};
    return true;
  }

  // A group that has ended is what --wait has waited for, and otherwise one that is not there.
  int finish() {
    progress_.clear();
    if ((left_.jobs() == 0) == choice_.waits) return errand_.done();
    if (choice_.waits) return errand_.done(kExitFailure);
    if (errand_.json()) return errand_.done(kExitFailure);
    return errand_.no("the server has no job of group " + choice_.name);
  }

  void tell(bool is_over) {
    if (errand_.json()) {
      if (is_over) print(json());
      return;
    }
    const bool says_no = !choice_.waits && left_.jobs() == 0 && left_.held == 0;
    if (choice_.quiet || says_no || told_ == left_) return;
    progress_.clear();
    print("ready " + std::to_string(left_.ready) + ", reserved " + std::to_string(left_.reserved) +
          ", delayed " + std::to_string(left_.delayed) + ", buried " +
          std::to_string(left_.buried) + ", held after it " + std::to_string(left_.held) + "\n");
    flush();
    told_ = left_;
  }

  std::string json() const {
    return "{\"name\":" + json_string(choice_.name) + ",\"ready\":" + std::to_string(left_.ready) +
           ",\"reserved\":" + std::to_string(left_.reserved) +
           ",\"delayed\":" + std::to_string(left_.delayed) +
           ",\"buried\":" + std::to_string(left_.buried) +
           ",\"held\":" + std::to_string(left_.held) + "}\n";
  }

  Errand& errand_;
  const Choice& choice_;
  Progress progress_;
  Left left_;
  std::optional<Left> told_;
};

}  // namespace

int group(Words words) {
  Errand errand(kText);
  Choice choice;
  errand.add({'w', "wait", "S", "wait for its end; give up after S, with status 1 (or forever)",
              [&choice](std::string_view value) {
                choice.waits = true;
                choice.has_limit = value != "forever";
                return !choice.has_limit || set_milliseconds(choice.wait_ms, 0)(value);
              },
              "a time, such as 90, 250ms or 5m, or forever"});
  errand.add({'i', "interval", "S", "how often to look, in seconds (0.5)",
              set_milliseconds(choice.interval_ms, 1), kTimeWanted});
  errand.add({'q', "quiet", "", "print nothing", set(choice.quiet)});
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (errand.operands().size() != 1) return errand.mistake("it takes one group");
  choice.name = errand.operands().front();
  PutTags tags;
  if (!tags.add(kGroupTag, choice.name)) {
    return errand.mistake("that is no group's name: it has 1 to 100 bytes, as those of a tube's");
  }
  if (const std::optional<int> over = errand.connect()) return *over;
  // Whoever lacks groups answers to stats-group as to a line that is wrong.
  TagSupport support(errand.server());
  return support.takes(tags) ? Watch(errand, choice).run() : errand.failed();
}

}  // namespace haricot::tool
