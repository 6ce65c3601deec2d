#include "os/syncer.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <vector>

#include "haricot/base/check.hpp"

namespace haricot::os {
namespace {

constexpr int kDeadlineMs = 60'000;  // For operations that take microseconds.
constexpr std::uint64_t kSyncsMax = binlog::Disk::kSyncsUnderWayMax;

bool is_readable(const Syncer& syncer, int timeout_ms) {
  pollfd wait{syncer.completion_descriptor(), POLLIN, 0};
  return ::poll(&wait, 1, timeout_ms) == 1;
}

// Collects finished syncs, waiting only on the descriptor. Returns how often it had to wait.
std::size_t take(Syncer& syncer, std::size_t count, std::vector<Syncer::Ended>& ended) {
  std::size_t waits = 0;
  Syncer::Ended next;
  while (true) {
    while (syncer.next_ended(next)) ended.push_back(next);
    if (ended.size() >= count) return waits;
    ++waits;
    if (!is_readable(syncer, kDeadlineMs)) {
      ADD_FAILURE() << "no word of sync " << ended.size();
      return waits;
    }
  }
}

// A disk that hangs until it is released.
class Gate {
 public:
  static int sync(int /*descriptor*/, bool /*is_folder*/) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [] { return is_open_; });
    return 0;
  }
  static void set_open(bool open) {
    const std::lock_guard lock(mutex_);
    is_open_ = open;
    changed_.notify_all();
  }

 private:
  static inline std::mutex mutex_;
  static inline std::condition_variable changed_;
  static inline bool is_open_ = false;
};

int fail_on_odd(int descriptor, bool is_folder) {
  if (is_folder) return ENOSPC;
  return descriptor % 2 == 1 ? EIO : 0;
}

// Takes a different time each time, about as long as collecting a sync.
int spin(int descriptor, bool /*is_folder*/) {
  for (volatile int left = descriptor; left > 0;) left = left - 1;
  return 0;
}

TEST(Syncer, StartsAsManyAsItPromisesWhileTheDiskStandsStill) {
  Syncer syncer(&Gate::sync);
  ASSERT_TRUE(syncer.open());
  for (std::uint64_t round = 0; round < 3; ++round) {
    Gate::set_open(false);
    for (std::uint64_t i = 0; i < kSyncsMax; ++i) {
      syncer.start(static_cast<int>(i), false, round * 1000 + i);
    }
    EXPECT_TRUE(syncer.is_under_way(static_cast<int>(kSyncsMax) - 1));
    EXPECT_FALSE(syncer.is_under_way(static_cast<int>(kSyncsMax)));
    Syncer::Ended ended;
    EXPECT_FALSE(syncer.next_ended(ended));
    // In later rounds, the last event of the round before may be late.
    const bool may_be_told = round > 0;
    EXPECT_TRUE(may_be_told || !is_readable(syncer, 0));

    Gate::set_open(true);
    std::vector<Syncer::Ended> all;
    take(syncer, kSyncsMax, all);
    ASSERT_EQ(all.size(), kSyncsMax);
    for (std::uint64_t i = 0; i < kSyncsMax; ++i) EXPECT_EQ(all[i].ticket, round * 1000 + i);
    EXPECT_FALSE(syncer.is_under_way(0));
  }
}

TEST(Syncer, IsReadableUntilTheLastIsTaken) {
  constexpr int kStandsStill = 5;
  static std::atomic<bool> stands_still;
  stands_still = false;
  Gate::set_open(false);
  Syncer syncer([](int descriptor, bool is_folder) {
    if (descriptor != kStandsStill) return 0;
    stands_still = true;
    stands_still.notify_one();
    return Gate::sync(descriptor, is_folder);
  });
  ASSERT_TRUE(syncer.open());
  for (int i = 0; i <= kStandsStill; ++i) syncer.start(i, false, static_cast<std::uint64_t>(i));
  stands_still.wait(false);  // All earlier syncs have ended, and the caller knows it.
  Syncer::Ended ended;
  for (std::uint64_t i = 0; i < kStandsStill; ++i) {
    EXPECT_TRUE(is_readable(syncer, 0)) << i;
    EXPECT_TRUE(syncer.next_ended(ended));
    EXPECT_EQ(ended.ticket, i);
  }
  EXPECT_FALSE(syncer.next_ended(ended));
  EXPECT_FALSE(is_readable(syncer, 0));
  Gate::set_open(true);
  EXPECT_TRUE(is_readable(syncer, kDeadlineMs));
  EXPECT_TRUE(syncer.next_ended(ended));
  EXPECT_EQ(ended.ticket, static_cast<std::uint64_t>(kStandsStill));
}

TEST(Syncer, RefusesOneTooMany) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Syncer syncer(&Gate::sync);
        CHECK(syncer.open());
        for (std::uint64_t i = 0; i <= kSyncsMax; ++i) syncer.start(0, false, i);
      },
      "kEntries");
}

TEST(Syncer, PassesOnTheResultOfEachSync) {
  Syncer syncer(&fail_on_odd);
  ASSERT_TRUE(syncer.open());
  for (int i = 0; i < 10; ++i) syncer.start(i, i == 9, static_cast<std::uint64_t>(i));
  std::vector<Syncer::Ended> ended;
  take(syncer, 10, ended);
  ASSERT_EQ(ended.size(), 10U);
  for (std::uint64_t i = 0; i < 9; ++i) EXPECT_EQ(ended[i].error, i % 2 == 1 ? EIO : 0) << i;
  EXPECT_EQ(ended[9].error, ENOSPC);
}

TEST(Syncer, LosesNoWordAndDoesNotRepeatOne) {
  Syncer syncer(&spin);
  ASSERT_TRUE(syncer.open());
  constexpr std::uint64_t kSyncs = 20'000;
  std::vector<Syncer::Ended> ended;
  std::size_t waits = 0;
  std::uint64_t started = 0;
  while (started < kSyncs) {
    // One, two, ... at a time, so that the two threads meet in all orders.
    const std::uint64_t burst = std::min(1 + started % 7, kSyncs - started);
    for (std::uint64_t i = 0; i < burst; ++i, ++started) {
      syncer.start(static_cast<int>(started * 37 % 4001), false, started);
    }
    waits += take(syncer, started, ended);
    if (HasFailure()) return;
  }
  ASSERT_EQ(ended.size(), kSyncs);
  for (std::uint64_t i = 0; i < kSyncs; ++i) ASSERT_EQ(ended[i].ticket, i);
  EXPECT_LE(waits, 3 * kSyncs);  // It slept until there was a result: it did not spin.
}

TEST(Syncer, IsQuietWhenAllIsTaken) {
  Syncer syncer(&fail_on_odd);
  ASSERT_TRUE(syncer.open());
  for (std::uint64_t round = 1; round <= 200; ++round) {
    syncer.start(0, false, round);
    std::vector<Syncer::Ended> ended;
    while (ended.empty()) take(syncer, 1, ended);
    // The event may come once after the sync was collected, and then no more.
    Syncer::Ended none;
    int words = 0;
    while (is_readable(syncer, 0)) {
      EXPECT_FALSE(syncer.next_ended(none));
      ASSERT_LE(++words, 2);
    }
  }
}

TEST(Syncer, FinishesStartedSyncsBeforeItsDestruction) {
  static std::atomic<int> synced;
  synced = 0;
  {
    Syncer syncer([](int, bool) { return synced.fetch_add(1) * 0; });
    ASSERT_TRUE(syncer.open());
    for (std::uint64_t i = 0; i < 50; ++i) syncer.start(0, false, i);
  }
  EXPECT_EQ(synced, 50);
}

TEST(Syncer, LeavesAllSignalsToTheMainThread) {
  static std::atomic<int> blocked;
  blocked = 0;
  Syncer syncer([](int, bool) {
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGHUP, SIGALRM}) {
      blocked += sigismember(&mask, signal);
    }
    return 0;
  });
  ASSERT_TRUE(syncer.open());
  syncer.start(0, false, 1);
  std::vector<Syncer::Ended> ended;
  take(syncer, 1, ended);
  EXPECT_EQ(blocked, 5);
  sigset_t mine;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  EXPECT_EQ(sigismember(&mine, SIGTERM), 0);
}

}  // namespace
}  // namespace haricot::os
