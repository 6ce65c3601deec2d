#include "os/poller.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <vector>

#include "os/clock.hpp"

namespace haricot::os {
namespace {

// For sources whose handler is never called.
constexpr EventHandler kNoHandler{[](void*, EventSource&, std::uint32_t) { FAIL(); }, nullptr};

// A source that is readable after raise().
struct Flag {
  Flag() : descriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  void raise() const { EXPECT_EQ(::eventfd_write(descriptor.get(), 1), 0); }

  Descriptor descriptor;
  EventSource source{kNoHandler, descriptor.get()};
};

TEST(Poller, AWaitIsRoundedUpAndNeverEndsBeforeItsTime) {
  Poller poller;
  ASSERT_TRUE(poller.open());
  for (const std::int64_t wait_ns : {1, 999, 400'000, 999'999, 1'000'001, 2'600'000, 5'000'000}) {
    const Instant start = read_clock();
    const Instant until = start + Duration::nanoseconds(wait_ns);
    EXPECT_TRUE(poller.wait(start, until).empty());
    EXPECT_GE(read_clock(), until) << wait_ns << " ns";
  }
}

TEST(Poller, ATimeThatIsOverOrNowIsNotWaitedFor) {
  Poller poller;
  ASSERT_TRUE(poller.open());
  const Instant now = read_clock();
  const Instant tomorrow = now + Duration::seconds(86400);
  EXPECT_TRUE(poller.wait(now, now).empty());
  EXPECT_TRUE(poller.wait(now, now - Duration::seconds(5)).empty());
  EXPECT_TRUE(poller.wait(now, Instant{}).empty());
  EXPECT_LT(read_clock(), tomorrow);
}

// A timeout that overflowed would end the wait at once, or never.
TEST(Poller, AFarTimeIsWaitedForUntilSomethingHappens) {
  Poller poller;
  ASSERT_TRUE(poller.open());
  const Descriptor timer(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  EventSource source(kNoHandler, timer.get());
  ASSERT_TRUE(poller.add(source, EPOLLIN));
  const Instant now = read_clock();
  for (const Instant until :
       {Instant::never(), Instant::at(Instant::never().count() - 1),
        now + Duration::seconds(3000000), now + Duration::milliseconds(4294967296),
        now + Duration::milliseconds(2147483648)}) {
    const itimerspec soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = 20'000'000}};
    ASSERT_EQ(::timerfd_settime(timer.get(), 0, &soon, nullptr), 0);
    const auto events = poller.wait(now, until);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].source, &source);
    std::uint64_t expirations = 0;
    ASSERT_EQ(::read(timer.get(), &expirations, sizeof expirations),
              static_cast<ssize_t>(sizeof expirations));
  }
}

TEST(Poller, OnlyWatchedEventsAreReported) {
  Poller poller;
  ASSERT_TRUE(poller.open());
  const Instant now = read_clock();
  Flag flag;
  flag.raise();
  ASSERT_TRUE(poller.add(flag.source, 0));
  EXPECT_TRUE(poller.wait(now, now).empty());
  poller.change(flag.source, EPOLLIN);
  EXPECT_EQ(flag.source.registered, static_cast<std::uint32_t>(EPOLLIN));
  ASSERT_EQ(poller.wait(now, now).size(), 1U);
  EXPECT_EQ(poller.wait(now, now)[0].events, static_cast<std::uint32_t>(EPOLLIN));
  poller.change(flag.source, EPOLLIN | EPOLLOUT);
  EXPECT_EQ(poller.wait(now, now)[0].events, static_cast<std::uint32_t>(EPOLLIN | EPOLLOUT));
  poller.change(flag.source, 0);
  EXPECT_TRUE(poller.wait(now, now).empty());
  poller.change(flag.source, EPOLLIN);
  poller.remove(flag.source);
  EXPECT_EQ(flag.source.registered, 0U);
  EXPECT_TRUE(poller.wait(now, now).empty());
}

TEST(Poller, DoesNotReportARemovedSourceThatIsClosedWhileADuplicateIsOpen) {
  Poller poller;
  ASSERT_TRUE(poller.open());
  Flag flag;
  flag.raise();
  const Descriptor duplicate(::dup(flag.descriptor.get()));
  ASSERT_TRUE(duplicate);
  ASSERT_TRUE(poller.add(flag.source, EPOLLIN));
  const Instant now = read_clock();
  poller.remove(flag.source);
  flag.descriptor.reset();
  EXPECT_TRUE(poller.wait(now, now).empty());
}

TEST(Poller, ADescriptorThatCannotBeWatchedIsRefused) {
  Poller poller;
  ASSERT_TRUE(poller.open());
  EventSource nothing(kNoHandler, -1);
  EXPECT_FALSE(poller.add(nothing, EPOLLIN));
  const Descriptor file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EventSource regular(kNoHandler, file.get());
  EXPECT_FALSE(poller.add(regular, EPOLLIN));
}

TEST(Poller, MoreReadySourcesThanOneWaitReportsAllGetTheirTurn) {
  Poller poller;
  ASSERT_TRUE(poller.open());
  std::vector<std::unique_ptr<Flag>> flags;
  for (std::size_t i = 0; i < 3 * Poller::kEventsMax; ++i) {
    flags.push_back(std::make_unique<Flag>());
    flags.back()->raise();
    ASSERT_TRUE(poller.add(flags.back()->source, EPOLLIN));
  }
  // None is handled, so all stay ready.
  std::set<EventSource*> seen;
  const Instant now = read_clock();
  for (int turn = 0; turn < 3; ++turn) {
    for (const Poller::Event& event : poller.wait(now, Instant::never())) seen.insert(event.source);
  }
  EXPECT_EQ(seen.size(), flags.size());
}

// Arguments of the handlers of some sources.
struct Told {
  void note(EventSource& source, std::uint32_t events) {
    sources.push_back(&source);
    all_events |= events;
  }
  std::vector<EventSource*> sources;
  std::uint32_t all_events = 0;
};

// Two sources with one handler, and one with a handler of its own; a timer and a pipe besides the
// flag.
TEST(Poller, EachSourceCallsItsHandler) {
  Poller poller;
  ASSERT_TRUE(poller.open());
  Told flags;
  Told timers;
  const EventHandler on_flag = EventHandler::to<&Told::note>(flags);
  const EventHandler on_timer = EventHandler::to<&Told::note>(timers);
  Flag flag;
  flag.source.handler = &on_flag;
  flag.raise();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Descriptor reader(ends[0]);
  const Descriptor writer(ends[1]);
  EventSource pipe(on_flag, writer.get());
  const Descriptor clock(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  const itimerspec at_once{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = 1}};
  ASSERT_EQ(::timerfd_settime(clock.get(), 0, &at_once, nullptr), 0);
  EventSource timer(on_timer, clock.get());
  ASSERT_TRUE(poller.add(timer, EPOLLIN));
  const Instant now = read_clock();
  ASSERT_EQ(poller.wait(now, Instant::never()).size(), 1U);
  ASSERT_TRUE(poller.add(flag.source, EPOLLIN));
  ASSERT_TRUE(poller.add(pipe, EPOLLOUT));

  for (const Poller::Event& event : poller.wait(now, now)) event.handle();
  EXPECT_EQ(timers.sources, std::vector<EventSource*>{&timer});
  EXPECT_EQ(std::set<EventSource*>(flags.sources.begin(), flags.sources.end()),
            (std::set<EventSource*>{&flag.source, &pipe}));
  EXPECT_EQ(flags.all_events, static_cast<std::uint32_t>(EPOLLIN | EPOLLOUT));
  EXPECT_EQ(timers.all_events, static_cast<std::uint32_t>(EPOLLIN));
}

// Removes the other of two sources.
struct Ender {
  void end_other(EventSource& source, std::uint32_t) {
    ++calls;
    poller.remove(&source == first ? *second : *first);
  }
  Poller& poller;
  EventSource* first = nullptr;
  EventSource* second = nullptr;
  int calls = 0;
};

TEST(Poller, ASourceRemovedByAnotherHandlerIsNotReported) {
  Poller poller;
  ASSERT_TRUE(poller.open());
  Flag one;
  Flag two;
  Ender ender{poller, &one.source, &two.source};
  const EventHandler handler = EventHandler::to<&Ender::end_other>(ender);
  for (Flag* flag : {&one, &two}) {
    flag->source.handler = &handler;
    flag->raise();
    ASSERT_TRUE(poller.add(flag->source, EPOLLIN));
  }
  const Instant now = read_clock();
  const auto events = poller.wait(now, now);
  ASSERT_EQ(events.size(), 2U);
  for (const Poller::Event& event : events) event.handle();
  EXPECT_EQ(ender.calls, 1);
}

}  // namespace
}  // namespace haricot::os
