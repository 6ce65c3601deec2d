#include "timed_scene.hpp"

#include <chrono>
#include <string_view>

namespace haricot::test {
namespace {

using Clock = std::chrono::steady_clock;

// Jobs with a TTR of two seconds have to exist at the end.
constexpr auto kLongestScene = std::chrono::milliseconds(1900);
// TTRs of one second must not end before the setup is complete.
constexpr auto kLongestSetUp = std::chrono::milliseconds(800);

class Scene {
 public:
  Scene(TwinServers& servers, std::size_t first, const std::string& name)
      : servers_(servers), first_(first), name_(name) {}

  bool play();

 private:
  enum Role : std::size_t {
    kDelayed,
    kExpiring,
    kPaused,
    kAtDeadline,
    kTimingOut,
    kHeir,
    kHolder,
    kReleasing,
    kTouching
  };

  void set_up();
  void let_time_pass();
  void look();

  void ask(Role role, std::string_view line) { servers_.ask(first_ + role, line); }
  void send(Role role, std::string_view line) {
    servers_.send(first_ + role, std::string(line) + "\r\n");
  }
  void expect(Role role) { servers_.expect_answer(first_ + role); }

  // Uses and watches only this tube.
  void live_in(Role role, const std::string& tube) {
    ask(role, "use " + name_ + tube);
    ask(role, "watch " + name_ + tube);
    ask(role, "ignore default");
  }

  // Puts a job of one byte and reserves it. Returns its id.
  std::string put_and_reserve(Role role, const std::string& ttr) {
    const std::string answer = servers_.ask(first_ + role, "put 5 0 " + ttr + " 1\r\nj");
    ask(role, "reserve-with-timeout 0");
    return id_in(answer);
  }

  static std::string id_in(const std::string& answer) {
    const std::size_t blank = answer.find(' ');
    const std::size_t end = answer.find('\r');
    return blank < end ? answer.substr(blank + 1, end - blank - 1) : "0";
  }

  TwinServers& servers_;
  std::size_t first_;
  std::string name_;
  std::string delayed_, expiring_, paused_, at_deadline_, inherited_, released_, touched_;
};

void Scene::set_up() {
  live_in(kDelayed, "delayed");
  live_in(kExpiring, "expiring");
  live_in(kPaused, "paused");
  live_in(kAtDeadline, "at-deadline");
  live_in(kTimingOut, "timing-out");
  live_in(kHeir, "inherited");
  live_in(kHolder, "inherited");
  live_in(kReleasing, "released");
  live_in(kTouching, "touched");
}

// Starts everything that happens after one second; the timeout that ends the wait comes last.
void Scene::let_time_pass() {
  at_deadline_ = put_and_reserve(kAtDeadline, "2");
  send(kAtDeadline, "reserve-with-timeout 100");
  touched_ = put_and_reserve(kTouching, "2");

  delayed_ = id_in(servers_.ask(first_ + kDelayed, "put 7 1 1000 1\r\nd"));
  ask(kDelayed, "stats-job " + delayed_);

  expiring_ = put_and_reserve(kExpiring, "0");  // A TTR of 0 counts as 1.
  ask(kExpiring, "stats-job " + expiring_);
  ask(kExpiring, "reserve-with-timeout 0");  // DEADLINE_SOON from the start.

  paused_ = id_in(servers_.ask(first_ + kPaused, "put 0 0 1000 1\r\np"));
  ask(kPaused, "pause-tube " + name_ + "paused 1");
  ask(kPaused, "reserve-with-timeout 0");
  send(kPaused, "reserve");

  released_ = put_and_reserve(kReleasing, "1000");
  ask(kReleasing, "release " + released_ + " 9 1");
  send(kReleasing, "reserve");

  inherited_ = put_and_reserve(kHolder, "1");
  send(kHeir, "reserve");

  send(kTimingOut, "reserve-with-timeout 1");
}

void Scene::look() {
  expect(kAtDeadline);
  expect(kPaused);
  expect(kReleasing);
  expect(kTimingOut);

  // beanstalkd does not always check the TTR of a silent client, but does when that client sends
  // something; docs/compatibility.md.
  ask(kHolder, "list-tube-used");
  ask(kExpiring, "list-tube-used");
  expect(kHeir);

  ask(kDelayed, "peek-delayed");
  ask(kDelayed, "peek-ready");
  ask(kDelayed, "stats-job " + delayed_);
  ask(kDelayed, "delete " + delayed_);

  ask(kExpiring, "touch " + expiring_);
  ask(kExpiring, "release " + expiring_ + " 0 0");
  ask(kExpiring, "bury " + expiring_ + " 0");
  ask(kExpiring, "stats-job " + expiring_);
  ask(kExpiring, "stats-tube " + name_ + "expiring");
  ask(kExpiring, "reserve-with-timeout 0");
  ask(kExpiring, "delete " + expiring_);

  ask(kPaused, "stats-tube " + name_ + "paused");
  ask(kPaused, "delete " + paused_);
  ask(kAtDeadline, "reserve-with-timeout 100");  // DEADLINE_SOON again.
  ask(kAtDeadline, "delete " + at_deadline_);
  ask(kReleasing, "stats-job " + released_);
  ask(kReleasing, "delete " + released_);
  ask(kHolder, "delete " + inherited_);
  ask(kHeir, "stats-job " + inherited_);
  ask(kHeir, "delete " + inherited_);
  ask(kTouching, "reserve-with-timeout 0");  // DEADLINE_SOON until it is touched.
  ask(kTouching, "touch " + touched_);
  ask(kTouching, "reserve-with-timeout 0");
  ask(kTouching, "delete " + touched_);
}

bool Scene::play() {
  for (std::size_t i = 0; i < kSceneConnections; ++i) servers_.open(first_ + i);
  set_up();
  const auto start = Clock::now();
  let_time_pass();
  const bool in_time = Clock::now() - start < kLongestSetUp;
  if (in_time) look();
  const bool still_in_time = Clock::now() - start < kLongestScene;
  for (std::size_t i = 0; i < kSceneConnections; ++i) {
    servers_.end_input(first_ + i);
    if (in_time) servers_.expect_end(first_ + i);
  }
  return in_time && still_in_time;
}

}  // namespace

bool play_timed_scene(TwinServers& servers, std::size_t first, const std::string& name) {
  return Scene(servers, first, name).play();
}

}  // namespace haricot::test
