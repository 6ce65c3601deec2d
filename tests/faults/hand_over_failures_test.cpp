#include <gtest/gtest.h>
#include <poll.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "failing_calls.hpp"
#include "os/take_over_fixture.hpp"
#include "planned_failures.hpp"
#include "support/daemon_fixture.hpp"
#include "support/hand_over_fixture.hpp"
#include "support/process_facts.hpp"

namespace haricot::test {
namespace {

// A restart in which a call fails, or in which the old or the new process is killed before a call:
// for each call. It costs no more than a restart without a hand-over: no acknowledged job is lost
// or duplicated, and the server serves.

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
  // Until it begins to release the state, another start has everything.
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

// Memory fails in a server that has confirmed that it takes over: allocation by allocation, once or
// for a while. The server before is gone by then, so this one serves, whatever happens.

using faults::PlannedFailures;
using faults::SocketCall;

constexpr std::uint64_t kAllocationsMax = 1000;

// With and without a binlog; the shortage lasts for a while or not.
class AgreedTakeOver : public DaemonTest,
                       public ::testing::WithParamInterface<std::tuple<bool, bool>> {
 protected:
  static bool has_binlog() { return std::get<0>(GetParam()); }
  static bool lasts() { return std::get<1>(GetParam()); }
  std::string path() const { return folder_.file("next"); }
  std::string late_path() const { return folder_.file("late"); }

  // All of its memory comes from malloc.
  ServerOptions options_of_next() {
    std::vector<std::string> words = arguments_;
    words.push_back("--take-over=" + late_path());
    ServerOptions options = options_with(std::move(words));
    options.binary = LATER_HARICOTD;
    options.environment = calls_.environment();
    return options;
  }
  void begin() {
    calls_.open(folder_.file("failing"));
    last_ = std::make_unique<ServerProcess>();
    std::vector<std::string> words = {"--take-over-socket=" + path()};
    if (has_binlog()) words.insert(words.end(), {"-b", jobs_.path(), "-f", "0"});
    ServerOptions options = options_with(words);
    options.binary = LATER_HARICOTD;
    ASSERT_TRUE(last_->start(options)) << last_->failure();
    arguments_ = {"-l", "127.0.0.1", "-p", std::to_string(last_->port())};
    arguments_.insert(arguments_.end(), words.begin(), words.end());
    client_ = std::make_unique<WireClient>();
    ASSERT_TRUE(client_->connect(*last_));
    ASSERT_EQ(client_->put("held", 0, 0, 600), "INSERTED 1\r\n");
    ASSERT_EQ(client_->ask("reserve"), "RESERVED 1 4\r\nheld\r\n");
  }
  // Takes everything over, while that allocation after the confirmation fails. Returns whether the
  // server makes so many.
  bool take_over_without(std::uint64_t number) {
    Relay relay;
    auto next = std::make_unique<ServerProcess>();
    const bool is_ready = relay.begin(path(), late_path()) && next->launch(options_of_next()) &&
                          relay.pass_parts() && relay.end_first();
    EXPECT_TRUE(is_ready) << next->standard_error() << last_->standard_error();
    EXPECT_EQ(last_->wait_exit(), kGood);
    calls_.plan(SocketCall::malloc, ENOMEM, number,
                lasts() ? std::numeric_limits<std::uint64_t>::max() : number);
    EXPECT_TRUE(relay.let_next_begin());
    constexpr int kShortage = 30;
    if (lasts()) ::poll(nullptr, 0, kShortage);
    EXPECT_TRUE(lasts() || client_->ask("touch 1") == "TOUCHED\r\n") << next->standard_error();
    const bool was_hit = calls_.end();
    ::unlink(late_path().c_str());
    EXPECT_TRUE(next->running()) << next->standard_error();
    last_ = std::move(next);
    return was_hit;
  }
  // Changes may be refused until the binlog has begun a file.
  void expect_to_serve() {
    ASSERT_EQ(client_->ask("touch 1"), "TOUCHED\r\n") << last_->standard_error();
    std::string put;
    ASSERT_TRUE(eventually([&] {
      put = client_->put("new");
      return put != "INTERNAL_ERROR\r\n" && put != "OUT_OF_MEMORY\r\n";
    })) << last_->standard_error();
    ASSERT_TRUE(put.starts_with("INSERTED ")) << put;
    EXPECT_EQ(client_->ask("delete " + put.substr(9, put.size() - 11)), "DELETED\r\n");
  }

  PlannedFailures calls_;
  TemporaryFolder jobs_;
  std::unique_ptr<ServerProcess> last_;  // The one that serves.
  std::vector<std::string> arguments_;
  Client client_;
};

INSTANTIATE_TEST_SUITE_P(With, AgreedTakeOver,
                         ::testing::Combine(::testing::Bool(), ::testing::Bool()),
                         [](const auto& with) {
                           return std::string(std::get<0>(with.param) ? "ABinlog" : "NoBinlog") +
                                  (std::get<1>(with.param) ? "Lasting" : "Once");
                         });

TEST_P(AgreedTakeOver, ServesWithoutMemoryToo) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer has its own memory";
  ASSERT_NO_FATAL_FAILURE(begin());
  std::uint64_t number = 1;
  for (bool was_hit = true; was_hit; ++number) {
    SCOPED_TRACE("allocation " + std::to_string(number));
    ASSERT_LT(number, kAllocationsMax);
    was_hit = take_over_without(number);
    ASSERT_FALSE(HasFailure());
    ASSERT_NO_FATAL_FAILURE(expect_to_serve());
  }
  // The folder has all later records.
  last_->kill_hard();
  if (!has_binlog()) return;
  ASSERT_TRUE(last_->start(options_with({"-b", jobs_.path()})));
  WireClient again;
  ASSERT_TRUE(again.connect(*last_));
  EXPECT_EQ(again.ask("peek 1"), "FOUND 1 4\r\nheld\r\n");
  EXPECT_EQ(again.ask("peek 2"), "NOT_FOUND\r\n");
}

// A restart while the wall clock is far ahead: held jobs have a deadline a hundred years later,
// which may be beyond the last time that there is.

struct Year {
  int number;
  const char* begin;  // In seconds since 1970.
};
constexpr Year kYears[] = {{2200, "7258118400"}, {2255, "8993721600"}};

enum class Way : std::uint8_t { manager, socket, kill };
constexpr const char* kWayNames[] = {"Manager", "Socket", "Kill"};

class LateClock : public HandOverTest,
                  public ::testing::WithParamInterface<std::tuple<Year, Way, bool>> {
 protected:
  static Way way() { return std::get<Way>(GetParam()); }
  static bool has_folder() { return std::get<bool>(GetParam()); }
  std::string path() const { return folder_.file("next"); }

  // The manager passes each of them to the successor as well.
  void set_clock() {
    const char* known = std::getenv("ASAN_OPTIONS");
    environment_ = {
        std::string(faults::kWallClockSeconds) + "=" + std::get<Year>(GetParam()).begin,
        std::string("LD_PRELOAD=") + HARICOT_FAILING_CALLS_LIBRARY,
        std::string("ASAN_OPTIONS=verify_asan_link_order=0:") + (known == nullptr ? "" : known)};
  }
  void replace() {
    if (way() == Way::manager) return restart();
    if (way() == Way::kill) {
      server_.kill_hard();
      manager_.catch_up();
      return start_again();
    }
    ServerOptions options = at_address(address_);
    options.arguments.push_back("--take-over=" + path());
    ASSERT_TRUE(next_.launch(options));
    ASSERT_EQ(server_.wait_exit(), kGood) << next_.standard_error();
  }

  ServerProcess next_;
};

INSTANTIATE_TEST_SUITE_P(Of, LateClock,
                         ::testing::Combine(::testing::ValuesIn(kYears),
                                            ::testing::Values(Way::manager, Way::socket, Way::kill),
                                            ::testing::Bool()),
                         [](const auto& of) {
                           return "In" + std::to_string(std::get<Year>(of.param).number) + "By" +
                                  kWayNames[static_cast<int>(std::get<Way>(of.param))] +
                                  (std::get<bool>(of.param) ? "WithAFolder" : "InMemory");
                         });

TEST_P(LateClock, HeldJobsStayHeldUntilTheirGroupEnds) {
  if (way() == Way::kill && !has_folder()) return;
  set_clock();
  std::vector<std::string> flags = {"--take-over-socket=" + path()};
  if (has_folder()) flags.insert(flags.end(), {"-b", folder_.path(), "-f", "0"});
  start_first(flags);
  Client client = connect();
  ASSERT_EQ(client->ask("put 0 0 600 4 grp:g\r\nhead"), "INSERTED 1\r\n");
  ASSERT_EQ(client->ask("put 0 0 600 5 aft:g\r\nafter"), "INSERTED 2\r\n");
  ASSERT_EQ(client->ask("put 0 1000 600 7\r\ndelayed"), "INSERTED 3\r\n");
  const std::string said = server_.standard_error();
  ASSERT_NE(said.find("time=" + std::to_string(std::get<Year>(GetParam()).number)),
            std::string::npos)
      << said;
  ASSERT_NO_FATAL_FAILURE(replace());
  if (way() == Way::kill) client = connect_again();
  const std::string report = client->ask("stats");
  EXPECT_EQ(report_number(report, "current-jobs-ready"), 1U);
  EXPECT_EQ(report_number(report, "current-jobs-delayed"), 2U);
  EXPECT_EQ(client->ask("delete 1"), "DELETED\r\n");
  EXPECT_EQ(client->ask("reserve-with-timeout 5"), "RESERVED 2 5\r\nafter\r\n");
}

}  // namespace
}  // namespace haricot::test
