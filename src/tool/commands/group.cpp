// haricot group: shows how many jobs of a group are left, once or until it has ended.

#include <string>

#include "haricot/base/encoding.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/put_tags.hpp"
#include "tool/commands/watching.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "group", "[OPTIONS] GROUP",
    "Prints how many jobs of a group are ready, reserved, delayed and buried, and how many other\n"
    "jobs are held until the group ends. A group ends when its last job is deleted, so a buried\n"
    "job delays its end. The status is 1 if the group has no jobs. --wait prints the line\n"
    "whenever it changes, until the group has ended; the status is then 0. put --group and\n"
    "--after create such jobs. Requires haricotd.\n",
    "    haricot group import-7\n"
    "    haricot group import-7 --wait 1h && echo imported\n"};

struct Choice {
  std::string name;
  Watching watching;
  bool waits = false;
};

struct Left {
  std::uint64_t ready = 0;
  std::uint64_t reserved = 0;
  std::uint64_t delayed = 0;
  std::uint64_t buried = 0;
  std::uint64_t held = 0;

  std::uint64_t jobs() const { return ready + reserved + delayed + buried; }
};

class Group {
 public:
  Group(Errand& errand, const Choice& choice) : errand_(errand), choice_(choice) {}

  int run() {
    if (!watch(errand_, choice_.watching, [this] { return look(); })) return errand_.failed();
    if (errand_.json()) print(json());
    // The end of the group is success for --wait; otherwise it means that there is no such group.
    if ((left_.jobs() == 0) == choice_.waits) return errand_.done();
    if (choice_.waits || errand_.json()) return errand_.done(kExitFailure);
    return errand_.no("the server has no job of group " + choice_.name);
  }

 private:
  std::optional<Look> look() {
    bool is_there = false;
    const std::optional<StatsText> stats =
        errand_.server().ask_stats("stats-group " + choice_.name, is_there);
    if (!stats) return std::nullopt;
    const auto number = [&stats](std::string_view key) { return stats->number(key).value_or(0); };
    left_ = {number("ready"), number("reserved"), number("delayed"), number("buried"),
             number("waiting-jobs")};
    const bool says_no = !choice_.waits && left_.jobs() == 0 && left_.held == 0;
    return Look{left_.jobs() == 0, left_.jobs(), says_no ? "" : line()};
  }

  std::string line() const {
    return "ready " + std::to_string(left_.ready) + ", reserved " + std::to_string(left_.reserved) +
           ", delayed " + std::to_string(left_.delayed) + ", buried " +
           std::to_string(left_.buried) + ", held after it " + std::to_string(left_.held) + "\n";
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
  Left left_;
};

}  // namespace

int group(Words words) {
  Errand errand(kText);
  Choice choice;
  choice.watching.has_limit = true;  // Without --wait, checks once.
  errand.add({'w', "wait", "S", "wait for its end, at most S (or forever); then status 1",
              [&choice](std::string_view value) {
                choice.waits = true;
                Watching& watching = choice.watching;
                watching.has_limit = value != "forever";
                return !watching.has_limit || set_milliseconds(watching.wait_ms, 0)(value);
              },
              "a time, such as 90, 250ms, 5m or 2d, or forever"});
  add_watching_flags(errand, choice.watching);
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (errand.operands().size() != 1) return errand.mistake("requires one group");
  choice.name = errand.operands().front();
  PutTags tags;
  if (!tags.add(Tag::group, choice.name)) {
    return errand.mistake(
        "invalid group name: it must have 1 to 100 characters of those in tube names");
  }
  if (const std::optional<int> over = errand.connect()) return *over;
  // A server without groups answers stats-group like a malformed command.
  TagSupport support(errand.server());
  return support.takes(tags) ? Group(errand, choice).run() : errand.failed();
}

}  // namespace haricot::tool
