// A restart in which a call fails, or in which the old or the new process is killed before a call:
// for each call. It costs no more than a restart without a hand-over: no acknowledged job is lost
// or duplicated, and the server serves.

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "planned_failures.hpp"
#include "support/hand_over_fixture.hpp"
#include "support/process_facts.hpp"

namespace haricot::test {
namespace {

using faults::kKills;
using faults::kOneByte;
using faults::PlannedFailures;
using faults::SocketCall;

constexpr std::uint64_t kStepsMax = 1000;
constexpr std::uint64_t kAllLater = std::numeric_limits<std::uint64_t>::max();

constexpr ExitStatus kKilled{.code = -1, .signal = SIGILL};

class HandOverInTrouble : public HandOverTest {
 protected:
  void SetUp() override {
    calls_.open(folder_.path() + "/failing");
    environment_ = calls_.environment();
    start_first({"-b", folder_.path(), "-f", "0", "-z", "300000"});
  }

  // Makes a reserved job, a ready job, and a client that waits for a third one.
  void prepare() {
    holder_ = connect_again();
    waiting_ = connect_again();
    held_ = id_in(holder_->put("held"));
    ready_ = id_in(holder_->put("ready", 0, 0, 60));
    ASSERT_EQ(holder_->ask("reserve-job " + held_), "RESERVED " + held_ + " 4\r\nheld\r\n");
    ASSERT_EQ(waiting_->ask("watch other"), "WATCHING 2\r\n");
    ASSERT_EQ(waiting_->ask("ignore default"), "WATCHING 1\r\n");
    ASSERT_TRUE(waiting_->send_line("reserve"));
  }
  // Starts like a manager that restarts a failed service.
  void start_until_it_serves() {
    constexpr int kTries = 3;
    for (int i = 0; i < kTries; ++i) {
      if (manager_.start(server_, at_address(address_))) return;
      ASSERT_FALSE(server_.running()) << server_.standard_error();
    }
    FAIL() << "it does not start: " << server_.standard_error();
  }
  // Checks that both jobs exist once. Returns true if the clients have noticed nothing.
  bool look() {
    const Client other = connect_again();
    bool goes_on = holder_->ask("touch " + held_) == "TOUCHED\r\n";
    if (goes_on) {
      EXPECT_EQ(holder_->ask("use other"), "USING other\r\n");
      const std::string id = id_in(holder_->put("for who waits"));
      // A single connection may be lost.
      goes_on = waiting_->read_answer() == "RESERVED " + id + " 13\r\nfor who waits\r\n";
      EXPECT_EQ((goes_on ? waiting_ : holder_)->ask("delete " + id), "DELETED\r\n");
      EXPECT_EQ(holder_->ask("release " + held_ + " 0 0"), "RELEASED\r\n");
    }
    EXPECT_EQ(other->ask("reserve-job " + ready_), "RESERVED " + ready_ + " 5\r\nready\r\n");
    EXPECT_EQ(other->ask("delete " + ready_), "DELETED\r\n");
    EXPECT_EQ(other->ask("reserve-with-timeout 0"), "RESERVED " + held_ + " 4\r\nheld\r\n");
    EXPECT_EQ(other->ask("delete " + held_), "DELETED\r\n");
    EXPECT_EQ(other->ask("reserve-with-timeout 0"), "TIMED_OUT\r\n");
    const std::string report = other->ask("stats");
    for (const char* const place : {"ready", "reserved", "delayed", "buried"}) {
      EXPECT_EQ(report_number(report, std::string("current-jobs-") + place), 0U) << place;
    }
    EXPECT_EQ(manager_.kept(), 0U);
    for (const auto& [number, what] : open_descriptors(server_.pid())) {
      EXPECT_EQ(what.find("memfd:haricot"), std::string::npos) << "the state is left";
    }
    holder_.reset();
    waiting_.reset();
    return goes_on;
  }
  // The listener, the asking client, and the manager's: no descriptors of old connections.
  void expect_few_sockets() {
    constexpr std::size_t kSocketsMax = 4;
    EXPECT_TRUE(eventually([&] {
      std::size_t sockets = 0;
      for (const auto& [number, what] : open_descriptors(server_.pid())) {
        if (what.starts_with("socket:")) ++sockets;
      }
      return sockets <= kSocketsMax;
    }));
  }

  // Tries one number after another, until the plan for a number is no longer hit or a check has
  // failed. `trial(number, was_hit)` reports whether it was hit. Returns the first number that was
  // not tried.
  template <typename Trial>
  static std::uint64_t try_each(const std::string& what, Trial trial) {
    std::uint64_t nth = 1;
    for (bool was_hit = true; was_hit && nth < kStepsMax && !HasFailure(); ++nth) {
      SCOPED_TRACE(what + " " + std::to_string(nth));
      trial(nth, was_hit);
    }
    return nth;
  }

  PlannedFailures calls_;
  Client holder_, waiting_;
  std::string held_, ready_;

 private:
  static std::string id_in(const std::string& answer) {
    EXPECT_TRUE(answer.starts_with("INSERTED ")) << answer;
    return answer.starts_with("INSERTED ") ? answer.substr(9, answer.size() - 11) : "0";
  }
};

TEST_F(HandOverInTrouble, TheOldProcessIsKilledInFrontOfEachCall) {
  std::uint64_t went_on = 0;
  const std::uint64_t nth = try_each("call", [&](std::uint64_t number, bool& was_hit) {
    prepare();
    calls_.plan(SocketCall::of_hand_over, kKills, number, number);
    const auto status = manager_.stop(server_);
    was_hit = calls_.end();
    EXPECT_EQ(status, was_hit ? kKilled : kGood);
    start_until_it_serves();
    if (HasFatalFailure()) return;
    const bool goes_on = look();
    if (goes_on) ++went_on;
    EXPECT_TRUE(was_hit || goes_on);
  });
  if (HasFatalFailure()) return;
  expect_few_sockets();
  // Before the last ones everything was given away already.
  EXPECT_GT(went_on, 1U);
  EXPECT_GT(nth, 10U);
  EXPECT_LT(nth, kStepsMax);
}

TEST_F(HandOverInTrouble, TheNewProcessIsKilledInFrontOfEachCall) {
  std::uint64_t went_on = 0;
  const std::uint64_t nth = try_each("call", [&](std::uint64_t number, bool& was_hit) {
    prepare();
    stop();
    calls_.plan(SocketCall::of_hand_over, kKills, number, number);
    const bool is_started = manager_.start(server_, at_address(address_));
    was_hit = calls_.end();
    EXPECT_EQ(is_started, !was_hit);
    if (was_hit) {
      EXPECT_EQ(server_.wait_exit(), kKilled);
      start_until_it_serves();
    }
    if (HasFatalFailure()) return;
    if (look()) ++went_on;
  });
  if (HasFatalFailure()) return;
  expect_few_sockets();
  // Until it begins to release the parcel, another start has everything.
  EXPECT_GT(went_on, nth / 2);
  EXPECT_GT(nth, 10U);
  EXPECT_LT(nth, kStepsMax);
}

// Incomplete bodies take memory that the new process has not allocated before.
class MemoryInTrouble : public HandOverInTrouble, public ::testing::WithParamInterface<bool> {
 protected:
  static constexpr std::size_t kBodies = 10;

  std::vector<Client> prepare_more() {
    prepare();
    std::vector<Client> in_body;
    for (std::size_t i = 0; i < kBodies; ++i) {
      in_body.push_back(connect_again());
      EXPECT_TRUE(in_body[i]->send("put 0 0 60 300000\r\nabc"));
    }
    return in_body;
  }
};

TEST_P(MemoryInTrouble, OfTheOldProcess) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer has its own memory";
  const std::uint64_t nth = try_each("allocation", [&](std::uint64_t number, bool& was_hit) {
    const std::vector<Client> in_body = prepare_more();
    calls_.plan(SocketCall::malloc, ENOMEM, number, GetParam() ? kAllLater : number);
    stop();
    was_hit = calls_.end();
    start_until_it_serves();
    if (HasFatalFailure()) return;
    const bool goes_on = look();
    EXPECT_TRUE(was_hit || goes_on);
  });
  if (HasFatalFailure()) return;
  EXPECT_GT(nth, 2U);
  EXPECT_LT(nth, kStepsMax);
}

TEST_P(MemoryInTrouble, OfTheNewProcess) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer has its own memory";
  const std::uint64_t nth = try_each("allocation", [&](std::uint64_t number, bool& was_hit) {
    const std::vector<Client> in_body = prepare_more();
    stop();
    calls_.plan(SocketCall::malloc, ENOMEM, number, GetParam() ? kAllLater : number);
    const bool is_started = manager_.start(server_, at_address(address_));
    was_hit = calls_.end();
    EXPECT_TRUE(was_hit || is_started);
    if (!is_started) {
      // Like any start without memory: before it has its jobs, it may end by a CHECK, too.
      const std::string said = server_.standard_error();
      const bool has_jobs = said.find("event=binlog-read") != std::string::npos;
      const bool is_by_want = !has_jobs || said.find("std::bad_alloc") != std::string::npos;
      const int signal = server_.wait_exit()->signal;
      EXPECT_TRUE(signal == 0 || (is_by_want && signal == SIGABRT)) << signal << said;
      start_until_it_serves();
    }
    if (HasFatalFailure()) return;
    const bool goes_on = look();
    EXPECT_TRUE(was_hit || goes_on);
  });
  if (HasFatalFailure()) return;
  EXPECT_GT(nth, 5U);
  EXPECT_LT(nth, kStepsMax);
}

INSTANTIATE_TEST_SUITE_P(Of, MemoryInTrouble, ::testing::Bool(), [](const auto& of) {
  return of.param ? std::string("Lasting") : std::string("Once");
});

struct FailingCall {
  const char* name;
  SocketCall call;
  std::vector<std::uint32_t> errors;
};

void PrintTo(const FailingCall& of, std::ostream* out) {
  *out << of.name;
}

class HandOverFailures : public HandOverInTrouble,
                         public ::testing::WithParamInterface<FailingCall> {};
class TakeOverFailures : public HandOverInTrouble,
                         public ::testing::WithParamInterface<FailingCall> {};

// The old process ends as it does without a hand-over.
TEST_P(HandOverFailures, AreNoWorseThanARestart) {
  for (const std::uint32_t error : GetParam().errors) {
    for (const bool lasts : {false, true}) {
      if (lasts && error == EINTR) continue;  // It is transient by its nature.
      const std::string what = "error " + std::to_string(error) + ", call";
      const std::uint64_t nth = try_each(what, [&](std::uint64_t number, bool& was_hit) {
        prepare();
        calls_.plan(GetParam().call, error, number, lasts ? kAllLater : number);
        stop();
        was_hit = calls_.end();
        start_until_it_serves();
        if (HasFatalFailure()) return;
        const bool goes_on = look();
        EXPECT_TRUE(was_hit || goes_on);
      });
      if (HasFatalFailure()) return;
      EXPECT_GT(nth, 2U) << "it makes no such call";
      EXPECT_LT(nth, kStepsMax);
    }
  }
  expect_few_sockets();
}

INSTANTIATE_TEST_SUITE_P(
    Of, HandOverFailures,
    ::testing::Values(FailingCall{"MemfdCreate", SocketCall::memfd_create, {EMFILE, ENOMEM}},
                      FailingCall{"Write", SocketCall::write, {EINTR, ENOMEM, ENOSPC, kOneByte}},
                      FailingCall{"Socketpair", SocketCall::socketpair, {EMFILE, ENFILE, ENOBUFS}},
                      FailingCall{"Sendmsg", SocketCall::sendmsg, {ETOOMANYREFS, ENOMEM, EAGAIN}},
                      FailingCall{"Fcntl", SocketCall::fcntl, {EBUSY, EPERM}},
                      FailingCall{"Pipe2", SocketCall::pipe2, {EMFILE, ENFILE}},
                      FailingCall{"Poll", SocketCall::poll, {EINTR, ENOMEM}}),
    [](const auto& of) { return std::string(of.param.name); });

// The new process serves, or it ends and the next one serves.
TEST_P(TakeOverFailures, AreNoWorseThanARestart) {
  for (const std::uint32_t error : GetParam().errors) {
    const std::string what = "error " + std::to_string(error) + ", call";
    const std::uint64_t nth = try_each(what, [&](std::uint64_t number, bool& was_hit) {
      prepare();
      stop();
      calls_.plan(GetParam().call, error, number, number);
      const bool is_started = manager_.start(server_, at_address(address_));
      was_hit = calls_.end();
      EXPECT_TRUE(was_hit || is_started);
      if (!is_started) {
        const auto status = server_.wait_exit();
        ASSERT_TRUE(status.has_value());
        EXPECT_EQ(status->signal, 0) << server_.standard_error();
        start_until_it_serves();
      }
      if (HasFatalFailure()) return;
      const bool goes_on = look();
      EXPECT_TRUE(was_hit || goes_on);
    });
    if (HasFatalFailure()) return;
    EXPECT_GT(nth, 2U) << "it makes no such call";
    EXPECT_LT(nth, kStepsMax);
  }
  expect_few_sockets();
}

INSTANTIATE_TEST_SUITE_P(
    Of, TakeOverFailures,
    ::testing::Values(FailingCall{"Recvmsg", SocketCall::recvmsg, {EMFILE, ENOMEM, EINTR}},
                      FailingCall{"Setsockopt", SocketCall::setsockopt, {ENOMEM, EOPNOTSUPP}},
                      FailingCall{"Getsockname", SocketCall::getsockname, {ENOBUFS}},
                      FailingCall{"EpollAdd", SocketCall::epoll_add, {ENOMEM, ENOSPC}},
                      FailingCall{"Fcntl", SocketCall::fcntl, {EBADF, ENOMEM}},
                      FailingCall{"Fstat", SocketCall::fstat, {EIO, ENOMEM}},
                      FailingCall{"Sendmsg", SocketCall::sendmsg, {EAGAIN, ECONNREFUSED}}),
    [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace haricot::test
