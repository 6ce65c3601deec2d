// Deadlines on idle connections, and an idle server.

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "support/daemon_fixture.hpp"
#include "support/process_facts.hpp"

namespace haricot::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

double milliseconds_of(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

// An answer is not late while others have the cores.
constexpr std::chrono::seconds kLateMost{1};

class DaemonTime : public DaemonTest {
 protected:
  // Returns false if the machine is too slow for such a TTR.
  [[nodiscard]] bool are_ready_again_after(std::chrono::seconds ttr);
};

// The holders are served in the order in which they sent, so the last one's answer is the last.
bool DaemonTime::are_ready_again_after(std::chrono::seconds ttr) {
  constexpr std::size_t kHolders = 200;
  constexpr std::size_t kJobsEach = 10;
  constexpr std::size_t kJobs = kHolders * kJobsEach;
  const Client watcher = connect();
  watcher->send(repeated("put 0 0 " + std::to_string(ttr.count()) + " 3\r\njob\r\n", kJobs));
  for (std::size_t i = 0; i < kJobs; ++i) EXPECT_TRUE(watcher->read_line());

  const std::vector<Client> holders = connect(kHolders);
  const HeldUp held_up({server_.pid()});
  const auto first_reserve = Clock::now();
  for (const Client& holder : holders) holder->send(repeated("reserve\r\n", kJobsEach));
  EXPECT_TRUE(holders.back()->has_input_within(kAnswerDeadline));
  const auto last_reserve = Clock::now();
  if (last_reserve - first_reserve >= ttr) return false;
  for (const Client& holder : holders) {
    for (std::size_t i = 0; i < kJobsEach; ++i) {
      const auto answer = holder->read_answer();
      EXPECT_TRUE(answer && answer->starts_with("RESERVED ")) << answer.value_or("nothing");
    }
  }

  std::string ready = "0";
  while (ready != std::to_string(kJobs) && !HasFailure()) {
    ready = report_value(watcher->ask("stats"), "current-jobs-ready");
    const auto now = Clock::now();
    if (now < first_reserve + ttr) {
      EXPECT_EQ(ready, "0") << "ready before their time";
    }
    EXPECT_LT(now, last_reserve + ttr + kLateMost + held_up.since()) << ready << " are ready";
    ::poll(nullptr, 0, 1);
  }
  std::printf("%zu jobs of idle holders ready again, the last %.1f ms late\n", kJobs,
              milliseconds_of(Clock::now() - last_reserve - ttr));
  EXPECT_EQ(server_stat("job-timeouts"), kJobs);
  return true;
}

TEST_F(DaemonTime, JobsOfIdleHoldersAreReadyAgainInTime) {
  for (const int ttr : {1, 5, 25}) {
    ASSERT_TRUE(start()) << server_.failure();
    if (are_ready_again_after(std::chrono::seconds(ttr))) return;
    server_.stop();
  }
  FAIL() << "the machine is too slow for this test";
}

TEST_F(DaemonTime, TimersEndNeitherEarlyNorMuchLater) {
  ASSERT_TRUE(start()) << server_.failure();
  const Client delayed = connect();
  const Client timed = connect();
  const Client paused = connect();
  const Client holder = connect();
  ASSERT_EQ(holder->ask("watch held"), "WATCHING 2\r\n");
  ASSERT_EQ(paused->ask("watch paused"), "WATCHING 2\r\n");
  ASSERT_EQ(paused->ask("ignore default"), "WATCHING 1\r\n");
  ASSERT_EQ(paused->ask("use paused"), "USING paused\r\n");
  ASSERT_EQ(paused->put("p"), "INSERTED 1\r\n");

  const HeldUp held_up({server_.pid()});
  const auto start = Clock::now();
  const auto expect_in_time = [&](const char* what, int seconds) {
    const auto late = Clock::now() - start - std::chrono::seconds(seconds);
    std::printf("%s: %.1f ms late\n", what, milliseconds_of(late));
    EXPECT_GE(late, Clock::duration::zero()) << what;
    EXPECT_LT(late, kLateMost + held_up.since()) << what;
  };
  ASSERT_EQ(delayed->put("d", 0, 1), "INSERTED 2\r\n");
  delayed->send_line("reserve");
  timed->send_line("watch none\r\nignore default\r\nreserve-with-timeout 2");
  ASSERT_EQ(paused->ask("pause-tube paused 3"), "PAUSED\r\n");
  paused->send_line("reserve");
  EXPECT_EQ(delayed->read_answer(), "RESERVED 2 1\r\nd\r\n");
  expect_in_time("a delay of 1 s", 1);
  EXPECT_EQ(timed->read_line(), "WATCHING 2");
  EXPECT_EQ(timed->read_line(), "WATCHING 1");
  EXPECT_EQ(timed->read_line(), "TIMED_OUT");
  expect_in_time("a reserve timeout of 2 s", 2);
  EXPECT_EQ(paused->read_answer(), "RESERVED 1 1\r\np\r\n");
  expect_in_time("a pause of 3 s", 3);
}

// Idle servers ------------------------------------------------------------------------------------

class DaemonIdle : public DaemonTest, public ::testing::WithParamInterface<bool> {
 protected:
  [[nodiscard]] bool start_here() {
    ServerOptions options;
    options.arguments = {"-z", "30000000"};
    if (GetParam()) options.listen_address = "unix:" + folder_.file("socket");
    return start_with(options);
  }

  // Adds a connection that has sent this text and does not read.
  WireClient& add_client(const std::string& text) {
    clients_.push_back(connect_narrow());
    clients_.back()->send_without_reading(text, milliseconds(100));
    return *clients_.back();
  }

  void expect_idle(const char* what) {
    ASSERT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
    ::poll(nullptr, 0, 50);  // Until the last input was processed.
    const double share = cpu_share_over(server_.pid(), milliseconds(1000));
    std::printf("%s: %.4f of a core\n", what, share);
    EXPECT_LT(share, 0.05) << what;
  }

  std::vector<Client> clients_;
};

INSTANTIATE_TEST_SUITE_P(Over, DaemonIdle, ::testing::Bool(), [](const auto& instance) {
  return std::string(instance.param ? "UnixSocket" : "Tcp");
});

TEST_P(DaemonIdle, WaitingTakesNoTime) {
  ASSERT_TRUE(start_here()) << server_.failure();
  for (int i = 0; i < 50; ++i) {
    add_client("");
    add_client("watch none\r\nignore default\r\nreserve\r\n");
    add_client("watch none\r\nignore default\r\nreserve-with-timeout 1000\r\n");
    add_client(
        "use paused\r\nput 0 0 60 1\r\nx\r\npause-tube paused 1000\r\nwatch paused\r\n"
        "ignore default\r\nreserve\r\n");
    add_client(
        "use held\r\nput 0 0 1000 1\r\nx\r\nwatch held\r\nignore default\r\nreserve\r\n"
        "reserve\r\n");
    add_client("put 0 1000 60 1\r\nx\r\n");
    add_client("put 0 0 60 1000\r\nhalf of it");
    add_client("put 0 0 60 60000\r\nsome of it");
    add_client("half of a li");
  }
  expect_idle("clients that wait");
}

TEST_P(DaemonIdle, UnreadAnswersTakeNoTime) {
  ASSERT_TRUE(start_here()) << server_.failure();
  ASSERT_EQ(connect()->put(std::string(20'000'000, 'x')), "INSERTED 1\r\n");
  const std::string batch = repeated("stats\r\n", 10000);
  add_client(batch);
  add_client("peek 1\r\n");
  add_client(repeated("peek 1\r\n", 10000));
  add_client("peek 1\r\nquit\r\n");
  expect_idle("clients that do not read");
}

TEST_P(DaemonIdle, HalfClosedClientsWithUnreadAnswersTakeNoTime) {
  ASSERT_TRUE(start_here()) << server_.failure();
  ASSERT_EQ(connect()->put(std::string(20'000'000, 'x')), "INSERTED 1\r\n");
  add_client(repeated("stats\r\n", 8000)).shutdown_write();
  add_client("peek 1\r\n").shutdown_write();
  add_client("peek 1\r\n" + repeated("stats\r\n", 3000)).shutdown_write();
  add_client("peek 1\r\nquit\r\n").shutdown_write();
  add_client("peek 1\r\nquit\r\n" + std::string(20000, 'x')).shutdown_write();
  expect_idle("half-closed clients that do not read");
}

TEST_P(DaemonIdle, UnreadInputTakesNoTime) {
  ASSERT_TRUE(start_here()) << server_.failure();
  const std::string wait = "watch none\r\nignore default\r\nreserve\r\n";
  add_client(wait + repeated("list-tubes\r\n", 1000));
  add_client(wait + repeated("list-tubes\r\n", 100'000));
  expect_idle("clients that send while they wait");
}

}  // namespace
}  // namespace haricot::test
