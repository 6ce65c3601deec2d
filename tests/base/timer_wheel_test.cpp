#include "haricot/base/timer_wheel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

#include "support/random.hpp"

namespace haricot {
namespace {

constexpr std::int64_t kTick = 1'000'000;
constexpr Duration kYear = Duration::seconds(365 * 24 * 3600);
constexpr std::uint8_t kKind = 9;

Instant after_ms(std::int64_t ms) {
  return Instant() + Duration::milliseconds(ms);
}

// Rounds a deadline up to the begin of a tick: the latest time at which its timer may fire.
Instant rounded_up(Instant deadline) {
  if (deadline.count() <= 0) return Instant();
  const Instant begun = Instant::at(deadline.count() / kTick * kTick);
  return begun == deadline ? begun : begun + Duration::nanoseconds(kTick);
}

// Advances from event to event until a timer is due or none is set.
Instant time_of_next_timer(TimerWheel& wheel) {
  while (!wheel.has_due()) {
    const Instant next = wheel.next_event();
    if (next == Instant::never()) return next;
    wheel.advance_to(next);
    if (wheel.has_due()) return next;
  }
  return wheel.next_event();
}

class OneTimer : public ::testing::Test {
 protected:
  ~OneTimer() override { wheel_.cancel(timer_); }

  TimerWheel wheel_{Instant()};
  int owner_ = 0;
  Timer timer_{kKind, &owner_};
};

TEST_F(OneTimer, KnowsItsOwner) {
  EXPECT_EQ(timer_.kind(), kKind);
  EXPECT_EQ(timer_.owner(), &owner_);
  EXPECT_FALSE(timer_.is_set());
  EXPECT_EQ(timer_.deadline(), Instant::never());
}

TEST_F(OneTimer, IsDueAtItsDeadlineAndNotBefore) {
  wheel_.set(timer_, after_ms(5));
  EXPECT_TRUE(timer_.is_set());
  EXPECT_EQ(timer_.deadline(), after_ms(5));
  wheel_.advance_to(Instant::at(5 * kTick - 1));
  EXPECT_EQ(wheel_.pop_due(), nullptr);
  wheel_.advance_to(after_ms(5));
  EXPECT_EQ(wheel_.pop_due(), &timer_);
  EXPECT_FALSE(timer_.is_set());
  EXPECT_EQ(timer_.deadline(), Instant::never());
  EXPECT_EQ(wheel_.pop_due(), nullptr);
}

TEST_F(OneTimer, BetweenTwoTicksIsDueAtTheSecond) {
  wheel_.set(timer_, Instant::at(5 * kTick + 1));
  wheel_.advance_to(Instant::at(6 * kTick - 1));
  EXPECT_FALSE(wheel_.has_due());
  wheel_.advance_to(after_ms(6));
  EXPECT_TRUE(wheel_.has_due());
}

TEST_F(OneTimer, InThePastIsDueAtOnce) {
  wheel_.advance_to(after_ms(1000));
  wheel_.set(timer_, after_ms(3));
  EXPECT_TRUE(wheel_.has_due());
  EXPECT_LE(wheel_.next_event(), after_ms(1000));
  EXPECT_EQ(wheel_.pop_due(), &timer_);
}

TEST_F(OneTimer, BeforeTimeBeganIsDueAtOnce) {
  wheel_.set(timer_, Instant::at(std::numeric_limits<std::int64_t>::min()));
  EXPECT_EQ(wheel_.pop_due(), &timer_);
}

TEST_F(OneTimer, ThatIsDueCanStillBeMovedOrCancelled) {
  wheel_.set(timer_, after_ms(1));
  wheel_.advance_to(after_ms(2));
  ASSERT_TRUE(wheel_.has_due());
  wheel_.set(timer_, after_ms(10));
  EXPECT_FALSE(wheel_.has_due());
  EXPECT_EQ(time_of_next_timer(wheel_), after_ms(10));
  wheel_.cancel(timer_);
  EXPECT_FALSE(wheel_.has_due());
  EXPECT_EQ(wheel_.next_event(), Instant::never());
}

TEST_F(OneTimer, SetToNeverIsCancelled) {
  wheel_.set(timer_, after_ms(5));
  wheel_.set(timer_, Instant::never());
  EXPECT_FALSE(timer_.is_set());
  EXPECT_EQ(wheel_.next_event(), Instant::never());
}

TEST_F(OneTimer, CancelledTwiceIsStillCancelled) {
  wheel_.cancel(timer_);
  wheel_.set(timer_, after_ms(5));
  wheel_.cancel(timer_);
  wheel_.cancel(timer_);
  wheel_.advance_to(after_ms(100));
  EXPECT_FALSE(wheel_.has_due());
}

TEST_F(OneTimer, AheadOfAJumpOfAYearIsDueAfterIt) {
  wheel_.set(timer_, after_ms(12'345'678));
  wheel_.advance_to(Instant() + kYear);
  EXPECT_EQ(wheel_.pop_due(), &timer_);
  wheel_.set(timer_, Instant() + kYear + Duration::milliseconds(3));
  EXPECT_EQ(time_of_next_timer(wheel_), Instant() + kYear + Duration::milliseconds(3));
}

TEST_F(OneTimer, WithTheLongestDelayOfTheProtocolGoesOffOnTime) {
  const Instant deadline = Instant::at(kTick + 1) + Duration::seconds(4294967295);
  wheel_.set(timer_, deadline);
  wheel_.advance_to(deadline - Duration::milliseconds(2));
  EXPECT_FALSE(wheel_.has_due());
  EXPECT_EQ(time_of_next_timer(wheel_), rounded_up(deadline));
}

TEST_F(OneTimer, JustBeforeNeverCanBeSetAndCancelled) {
  wheel_.set(timer_, Instant::at(Instant::never().count() - 1));
  EXPECT_TRUE(timer_.is_set());
  wheel_.advance_to(Instant() + kYear);
  EXPECT_FALSE(wheel_.has_due());
  wheel_.cancel(timer_);
  EXPECT_FALSE(timer_.is_set());
}

TEST_F(OneTimer, TakesAFewStepsOnlyHoweverFarAway) {
  for (std::int64_t ms = 1; ms < std::int64_t{1} << 42; ms = ms * 3 + 1) {
    TimerWheel wheel{Instant()};
    wheel.set(timer_, after_ms(ms));
    int steps = 0;
    while (!wheel.has_due()) {
      const Instant next = wheel.next_event();
      ASSERT_LE(next, after_ms(ms));
      wheel.advance_to(next);
      ASSERT_LE(++steps, 8);
    }
    ASSERT_EQ(wheel.pop_due(), &timer_);
  }
}

TEST_F(OneTimer, ATimeBeforeTheLastOneChangesNothing) {
  wheel_.advance_to(after_ms(100));
  wheel_.set(timer_, after_ms(150));
  wheel_.advance_to(after_ms(10));
  EXPECT_FALSE(wheel_.has_due());
  wheel_.advance_to(after_ms(150));
  EXPECT_TRUE(wheel_.has_due());
}

TEST(TimerWheel, WithoutTimersHasNoEvent) {
  TimerWheel wheel(after_ms(77));
  EXPECT_EQ(wheel.next_event(), Instant::never());
  EXPECT_FALSE(wheel.has_due());
  EXPECT_EQ(wheel.pop_due(), nullptr);
}

// Each border between levels, from both sides, as seen from both sides of it.
TEST(TimerWheel, IsExactAroundEveryBorderOfItsLevels) {
  for (unsigned bit = 6; bit <= 42; bit += 6) {
    const std::int64_t border = std::int64_t{1} << bit;
    for (std::int64_t start : {std::int64_t{0}, border - 2, border - 1, border, border + 1}) {
      for (std::int64_t end = border - 3; end <= border + 3; ++end) {
        for (const std::int64_t more : {std::int64_t{0}, border, 63 * (border / 64)}) {
          if (end + more <= start) continue;
          TimerWheel wheel(after_ms(start));
          Timer timer(kKind, nullptr);
          wheel.set(timer, after_ms(end + more));
          ASSERT_EQ(time_of_next_timer(wheel), after_ms(end + more)) << start << " " << end;
          ASSERT_EQ(wheel.pop_due(), &timer);
        }
      }
    }
  }
}

TEST(TimerWheel, AThousandTimersOfOneTickAllGoOffInIt) {
  TimerWheel wheel(after_ms(3));
  std::deque<Timer> timers;
  for (int i = 0; i < 1000; ++i) {
    timers.emplace_back(kKind, nullptr);
    wheel.set(timers.back(), after_ms(100'000));
  }
  EXPECT_EQ(time_of_next_timer(wheel), after_ms(100'000));
  int due = 0;
  while (wheel.pop_due() != nullptr) ++due;
  EXPECT_EQ(due, 1000);
}

// Returns one of the wheel's distances; each power of two is equally likely.
Duration random_distance(test::Random& random) {
  const std::uint64_t nanoseconds = random.bits() >> (2 + random.below(60));
  return Duration::nanoseconds(static_cast<std::int64_t>(
      std::min<std::uint64_t>(nanoseconds, std::uint64_t{4'294'967'295} * 1'000'000'000)));
}

struct ModelTimer {
  explicit ModelTimer() : timer(kKind, this) {}
  Timer timer;
  Instant deadline = Instant::never();
};

Instant earliest(const std::deque<ModelTimer>& timers) {
  Instant first = Instant::never();
  for (const ModelTimer& timer : timers) first = std::min(first, timer.deadline);
  return first;
}

TEST(TimerWheel, BehavesLikeAListOfDeadlines) {
  test::Random random;
  for (int round = 0; round < 20; ++round) {
    Instant now = Instant() + random_distance(random);
    TimerWheel wheel(now);
    std::deque<ModelTimer> timers(1 + random.below(40));
    for (int step = 0; step < 1500; ++step) {
      ModelTimer& chosen = timers[random.below(timers.size())];
      const std::uint64_t what = random.below(20);
      bool exact = false;
      if (what < 7) {
        chosen.deadline = now + random_distance(random);
        wheel.set(chosen.timer, chosen.deadline);
      } else if (what == 7) {
        chosen.deadline = now - random_distance(random);
        wheel.set(chosen.timer, chosen.deadline);
      } else if (what == 8) {
        chosen.deadline = Instant::never();
        wheel.cancel(chosen.timer);
      } else if (what < 18) {
        // Exactly to the next event, like the daemon.
        const Instant next = wheel.next_event();
        if (next != Instant::never()) now = std::max(now, next);
        wheel.advance_to(now);
        exact = true;
      } else {
        const Instant later = now + random_distance(random);
        if (later < Instant() + Duration::seconds(4294967295)) now = later;
        wheel.advance_to(now);
      }
      while (Timer* due = wheel.pop_due()) {
        ModelTimer& timer = *static_cast<ModelTimer*>(due->owner());
        ASSERT_LE(timer.deadline, now) << "early";
        if (exact) {
          ASSERT_EQ(rounded_up(timer.deadline), now) << "late";
        }
        timer.deadline = Instant::never();
        ASSERT_FALSE(due->is_set());
      }
      // No timer that is due is left, and the next event is not too late.
      const Instant first = earliest(timers);
      ASSERT_GT(rounded_up(first), Instant::at(now.count() / kTick * kTick)) << "late";
      ASSERT_LE(wheel.next_event(), first == Instant::never() ? first : rounded_up(first));
      ASSERT_EQ(wheel.next_event() == Instant::never(), first == Instant::never());
      for (const ModelTimer& timer : timers) {
        ASSERT_EQ(timer.timer.is_set(), timer.deadline != Instant::never());
        ASSERT_EQ(timer.timer.deadline(), timer.deadline);
      }
    }
    for (ModelTimer& timer : timers) wheel.cancel(timer.timer);
  }
}

// If more timers are in one slot than a call moves, they move in pieces: all of them, and none
// early.
TEST(TimerWheel, VeryManyTimersOfOneSlotAreMovedInPieces) {
  constexpr std::uint32_t kTimers = 3 * TimerWheel::kMovesPerCall + 100;
  const Instant start = Instant::at(1'000'000'000'000);
  const Instant end = start + Duration::seconds(600);
  std::vector<std::unique_ptr<Timer>> timers;
  TimerWheel wheel(start);
  for (std::uint32_t i = 0; i < kTimers; ++i) {
    timers.push_back(std::make_unique<Timer>(std::uint8_t{1}, nullptr));
    wheel.set(*timers.back(), end);
  }
  std::uint32_t due = 0;
  std::uint32_t calls = 0;
  wheel.advance_to(end - Duration::milliseconds(1));
  EXPECT_EQ(wheel.pop_due(), nullptr);
  // One of the moving timers is cancelled, another gets a new deadline.
  wheel.cancel(*timers[kTimers - 1]);
  wheel.set(*timers[kTimers - 2], end + Duration::seconds(1));
  while (wheel.next_event() <= end) {
    wheel.advance_to(end);
    std::uint32_t popped = 0;
    while (wheel.pop_due() != nullptr) ++popped;
    ASSERT_LE(popped, TimerWheel::kMovesPerCall);
    due += popped;
    ++calls;
  }
  EXPECT_EQ(due, kTimers - 2);
  EXPECT_GE(calls, 3U);
  wheel.advance_to(end + Duration::seconds(1));
  EXPECT_NE(wheel.pop_due(), nullptr);
  EXPECT_EQ(wheel.next_event(), Instant::never());
}

}  // namespace
}  // namespace haricot
