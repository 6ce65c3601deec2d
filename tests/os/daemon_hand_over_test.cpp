#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/daemon_fixture.hpp"
#include "support/hand_over_fixture.hpp"
#include "support/notify_socket.hpp"
#include "take_over_fixture.hpp"

namespace haricot::test {
namespace {

// A restart under a service manager that keeps descriptors: connections, reservations, waits,
// incomplete bodies and unread answers continue in the next process.

class HandOver : public HandOverTest {
 protected:
  // Replaces the stored state by other bytes.
  void exchange_state(const std::string& bytes) {
    const int other = ::memfd_create("state", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ASSERT_EQ(::write(other, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
    ASSERT_EQ(::fcntl(other, F_ADD_SEALS, kSeals), 0);
    ASSERT_TRUE(manager_.exchange("parcel-state", other));
  }
  std::string state() const {
    const int file = manager_.descriptor("parcel-state");
    std::string bytes(100'000, '\0');
    const ssize_t read = ::pread(file, bytes.data(), bytes.size(), 0);
    EXPECT_GT(read, 0);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(read, 1)));
    return bytes;
  }
};

TEST_F(HandOver, KeepsConnectionsJobsAndWaits) {
  start_first();
  const Client producer = connect();
  const Client worker = connect();
  const Client waiting = connect();
  const Client in_line = connect();
  const Client in_body = connect();
  ASSERT_EQ(producer->ask("use work"), "USING work\r\n");
  ASSERT_EQ(producer->put("one"), "INSERTED 1\r\n");
  ASSERT_EQ(producer->ask("put 1 100 60 3\r\ntwo"), "INSERTED 2\r\n");
  ASSERT_EQ(worker->ask("watch work"), "WATCHING 2\r\n");
  ASSERT_EQ(worker->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  ASSERT_EQ(waiting->ask("watch work"), "WATCHING 2\r\n");
  ASSERT_TRUE(waiting->send_line("reserve"));
  ASSERT_TRUE(in_line->send("stats-jo"));
  const std::string body(60'000, 'b');
  ASSERT_TRUE(in_body->send("put 0 0 60 60000\r\n" + body.substr(0, 40'000)));
  // The server has received them all: it answers later ones.
  ASSERT_EQ(producer->ask("stats-job 1").find("NOT_FOUND"), std::string::npos);

  restart();

  EXPECT_EQ(in_line->ask("b 9"), "NOT_FOUND\r\n");
  EXPECT_EQ(producer->put("three"), "INSERTED 4\r\n");
  EXPECT_EQ(waiting->read_answer(), "RESERVED 4 5\r\nthree\r\n");
  EXPECT_EQ(worker->ask("delete 1"), "DELETED\r\n");
  ASSERT_TRUE(in_body->send(body.substr(40'000) + "\r\n"));
  EXPECT_EQ(in_body->read_answer(), "INSERTED 3\r\n");
  EXPECT_EQ(producer->ask("peek 2"), "FOUND 2 3\r\ntwo\r\n");
  EXPECT_EQ(producer->ask("kick 10"), "KICKED 1\r\n");
  WireClient another;
  ASSERT_TRUE(another.connect_tcp(port_)) << "the listener is gone";
  EXPECT_EQ(another.ask("list-tube-used"), "USING default\r\n");
}

TEST_F(HandOver, TheBinlogHasTheBodies) {
  start_first({"-b", folder_.path()});
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  ASSERT_EQ(client->put("two"), "INSERTED 2\r\n");
  ASSERT_EQ(client->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  restart();
  EXPECT_EQ(client->ask("bury 1 0"), "BURIED\r\n") << "it is not held any more";
  EXPECT_EQ(client->ask("reserve"), "RESERVED 2 3\r\ntwo\r\n");
  restart();
  EXPECT_EQ(client->ask("delete 2"), "DELETED\r\n");
  EXPECT_EQ(client->ask("peek-buried"), "FOUND 1 3\r\none\r\n");
}

TEST_F(HandOver, UnreadAnswersArriveAfterIt) {
  start_first();
  const Client client = connect();
  const std::string body(65'000, 'x');
  ASSERT_EQ(client->ask("put 0 0 60 65000\r\n" + body), "INSERTED 1\r\n");
  constexpr int kPeeks = 200;
  for (int i = 0; i < kPeeks; ++i) ASSERT_TRUE(client->send_line("peek 1"));
  restart();
  for (int i = 0; i < kPeeks; ++i) {
    ASSERT_EQ(client->read_answer(), "FOUND 1 65000\r\n" + body + "\r\n") << i;
  }
  EXPECT_EQ(client->ask("list-tube-used"), "USING default\r\n");
}

TEST_F(HandOver, PutUnderWayGoesIntoAnotherFolder) {
  TemporaryFolder other;
  start_first({"-b", folder_.path()});
  const Client client = connect();
  ASSERT_TRUE(client->send("put 0 0 60 4\r\nhe"));
  ASSERT_EQ(connect()->put("next"), "INSERTED 2\r\n");
  arguments_ = {"-b", other.path()};
  restart();
  ASSERT_TRUE(client->send("re\r\n"));
  EXPECT_EQ(client->read_answer(), "INSERTED 1\r\n");
  EXPECT_EQ(client->ask("peek 1"), "FOUND 1 4\r\nhere\r\n");
  EXPECT_EQ(client->ask("peek 2"), "FOUND 2 4\r\nnext\r\n");
}

// The last server has no jobs to lose, so its connections stay, with the jobs of the folder.
TEST_F(HandOver, PutUnderWayGetsAnIdThatNoJobOfAnotherFolderHas) {
  TemporaryFolder other;
  ASSERT_TRUE(start({"-b", other.path()}));
  ASSERT_EQ(connect()->put("there"), "INSERTED 1\r\n");
  ASSERT_EQ(server_.stop(), kGood);
  start_first({"-b", folder_.path()});
  const Client client = connect();
  ASSERT_TRUE(client->send("put 0 0 60 4\r\nhe"));
  ASSERT_EQ(connect()->put("next"), "INSERTED 2\r\n");
  ASSERT_EQ(connect()->ask("delete 2"), "DELETED\r\n");
  arguments_ = {"-b", other.path()};
  restart();
  ASSERT_TRUE(client->send("re\r\n"));
  EXPECT_EQ(client->read_answer(), "INSERTED 3\r\n");
  EXPECT_EQ(client->ask("peek 1"), "FOUND 1 5\r\nthere\r\n");
  EXPECT_EQ(client->ask("peek 3"), "FOUND 3 4\r\nhere\r\n");
}

TEST_F(HandOver, AStartThatEndsInTheMiddleTakesNothingAway) {
  start_first();
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  ASSERT_EQ(client->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  stop();
  // One start cannot listen and ends; another one is killed.
  EXPECT_FALSE(manager_.start(server_, at_address({"-l", "203.0.113.1", "-p", "1"})));
  EXPECT_EQ(server_.wait_exit(), (ExitStatus{.code = 111})) << server_.standard_error();
  manager_.hear_no_removals();
  start_again();
  EXPECT_EQ(client->ask("touch 1"), "TOUCHED\r\n");
  server_.kill_hard();
  // The manager has missed that it may drop them, and starts again.
  manager_.hear_removals();
  start_again();
  EXPECT_EQ(client->ask("delete 1"), "DELETED\r\n");
}

TEST_F(HandOver, AStateThatIsDamagedIsForgottenAndTheServerServes) {
  start_first();
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  stop();
  exchange_state(std::string("\1\0\0\0", 4) + std::string(100, 'x'));
  start_again();
  EXPECT_TRUE(client->at_eof());
  WireClient another;
  ASSERT_TRUE(eventually([&] { return another.connect_tcp(port_); })) << server_.standard_error();
  EXPECT_EQ(another.ask("peek 1"), "NOT_FOUND\r\n");
  const std::string said = server_.standard_error();
  EXPECT_NE(said.find("the state is damaged"), std::string::npos) << said;
}

// In both directions: a state of another version is not read, and the binlog has the jobs.
TEST_F(HandOver, AStateOfAnotherVersionIsRefusedAndNoJobIsLost) {
  start_first({"-b", folder_.path(), "-f", "0"});
  for (const int step : {1, -1}) {
    const Client client = connect_again();
    const std::string put = client->put("one");
    const std::string id = put.substr(9, put.size() - 11);
    ASSERT_EQ(client->ask("reserve"), "RESERVED " + id + " 3\r\none\r\n");
    stop();
    std::string bytes = state();
    bytes[0] = static_cast<char>(bytes[0] + step);
    exchange_state(bytes);
    start_again();
    EXPECT_TRUE(client->at_eof());
    EXPECT_EQ(manager_.kept(), 0U);
    const Client another = connect_again();
    EXPECT_EQ(another->ask("reserve"), "RESERVED " + id + " 3\r\none\r\n");
    EXPECT_EQ(another->ask("delete " + id), "DELETED\r\n");
    const std::string said = server_.standard_error();
    EXPECT_NE(said.find("the state has version " + std::to_string(bytes[0])), std::string::npos)
        << said;
  }
}

// The manager still has the sockets when the successor closes its own.
TEST_F(HandOver, ClientsThatLeaveWhileNoServerRunsDoNoHarm) {
  start_first();
  const Client stays = connect();
  ASSERT_EQ(stays->put("one"), "INSERTED 1\r\n");
  ASSERT_EQ(stays->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  const std::vector<Client> unread = connect(2);
  const std::vector<Client> sending = connect(2);
  for (const Client& client : unread) ASSERT_TRUE(client->send_line("stats"));
  ASSERT_EQ(stays->ask("touch 1"), "TOUCHED\r\n");
  stop();
  for (const Client& client : sending) ASSERT_TRUE(client->send_line("stats"));
  for (const auto* clients : {&unread, &sending}) {
    clients->front()->close();
    clients->back()->reset();
  }
  manager_.hear_no_removals();
  start_again();
  ASSERT_TRUE(eventually([&] { return stat("current-connections") == 2; }));
  EXPECT_EQ(stays->ask("delete 1"), "DELETED\r\n");
  EXPECT_EQ(manager_.stop(server_), kGood) << server_.standard_error();
}

TEST_F(HandOver, AClientSeesTheEndThoughTheManagerKeepsItsSocket) {
  start_first();
  const Client client = connect();
  stop();
  manager_.hear_no_removals();
  start_again();
  ASSERT_TRUE(client->send_line("quit"));
  EXPECT_TRUE(client->at_eof());
}

TEST_F(HandOver, CanBeSwitchedOff) {
  start_first({"--no-hand-over"});
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  stop();
  EXPECT_EQ(manager_.kept(), 0U);
  EXPECT_FALSE(client->send_line("stats") && client->read_line().has_value());
}

// Twenty restarts in a row with clients of all kinds at work: no connection is lost, no answer is
// wrong, and each job comes exactly once.

class HandOverUnderLoad : public HandOverTest, public ::testing::WithParamInterface<const char*> {
 protected:
  static constexpr int kRestarts = 20;
  static constexpr int kOfEachKind = 20;

  // Takes jobs of the shared tube until all producers have ended and the tube is empty.
  void work() {
    WireClient client;
    if (!client.connect_tcp(port_)) return complain("no connection");
    if (client.ask("watch shared") != "WATCHING 2\r\n") return complain("watch");
    while (!has_failed_) {
      const bool was_over = is_over_;
      const std::string got = client.ask("reserve-with-timeout 0");
      if (got == "TIMED_OUT\r\n") {
        if (was_over) return;
        std::this_thread::yield();
        continue;
      }
      if (!got.starts_with("RESERVED ")) return complain("reserve: " + got);
      const std::string id = got.substr(9, got.find(' ', 9) - 9);
      const std::string body = got.substr(got.find('\n') + 1);
      {
        const std::lock_guard guard(lock_);
        if (!taken_.insert(body).second) return complain("it comes twice: " + body);
      }
      if (const std::string is = client.ask("delete " + id); is != "DELETED\r\n") {
        return complain("delete: " + is);
      }
    }
  }
  void produce(int number) {
    WireClient client;
    if (!client.connect_tcp(port_)) return complain("no connection");
    if (client.ask("use shared") != "USING shared\r\n") return complain("use");
    for (int i = 0; !is_over_; ++i) {
      const std::string body = std::to_string(number) + "-" + std::to_string(i);
      if (const std::string is = client.put(body); !is.starts_with("INSERTED ")) {
        return complain("put: " + is);
      }
      const std::lock_guard guard(lock_);
      put_.insert(body + "\r\n");
    }
  }
  void complain(const std::string& what) {
    const std::lock_guard guard(complaints_);
    if (wrong_.empty()) wrong_ = what;
    has_failed_ = is_over_ = true;
  }

  std::mutex lock_;
  std::mutex complaints_;
  std::set<std::string> put_, taken_;
  std::atomic<bool> is_over_ = false;  // The producers stop.
  std::atomic<bool> has_failed_ = false;
  std::string wrong_;
};

TEST_P(HandOverUnderLoad, NothingIsLostAndNothingComesTwice) {
  start_first(*GetParam() == '\0'
                  ? std::vector<std::string>{}
                  : std::vector<std::string>{"-b", folder_.path(), "-f", GetParam()});
  const std::vector<Client> waiting = connect(kOfEachKind);
  const std::vector<Client> holding = connect(kOfEachKind);
  const std::vector<Client> in_line = connect(kOfEachKind);
  const std::vector<Client> in_body = connect(kOfEachKind);
  const std::vector<Client> unread = connect(kOfEachKind);
  std::vector<std::string> held;
  for (std::size_t i = 0; i < kOfEachKind; ++i) {
    ASSERT_EQ(waiting[i]->ask("watch wait-" + std::to_string(i)), "WATCHING 2\r\n");
    ASSERT_EQ(waiting[i]->ask("ignore default"), "WATCHING 1\r\n");
    ASSERT_TRUE(waiting[i]->send_line("reserve"));
    const std::string put = holding[i]->put("held");
    ASSERT_TRUE(put.starts_with("INSERTED ")) << put;
    held.push_back(put.substr(9, put.size() - 11));
    ASSERT_EQ(holding[i]->ask("reserve-job " + held[i]), "RESERVED " + held[i] + " 4\r\nheld\r\n");
    ASSERT_TRUE(in_line[i]->send("list-tube"));
    ASSERT_TRUE(in_body[i]->send("put 0 0 60 10\r\n01234"));
    for (int times = 0; times < 100; ++times) ASSERT_TRUE(unread[i]->send_line("stats"));
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([this] { work(); });
    threads.emplace_back([this, i] { produce(i); });
  }
  for (int i = 0; i < kRestarts && !HasFatalFailure(); ++i) restart();
  is_over_ = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong_, "") << server_.standard_error();
  EXPECT_EQ(put_, taken_);
  EXPECT_GT(put_.size(), static_cast<std::size_t>(kRestarts));

  for (std::size_t i = 0; i < kOfEachKind && !HasFailure(); ++i) {
    EXPECT_EQ(holding[i]->ask("delete " + held[i]), "DELETED\r\n");
    EXPECT_EQ(in_line[i]->ask("-used"), "USING default\r\n");
    const std::string put = in_body[i]->ask("56789");
    EXPECT_TRUE(put.starts_with("INSERTED ")) << put;
    EXPECT_EQ(in_body[i]->ask("delete " + put.substr(9, put.size() - 11)), "DELETED\r\n");
    for (int times = 0; times < 100; ++times) {
      const std::string report = unread[i]->read_answer().value_or("");
      EXPECT_TRUE(report.starts_with("OK ") && report.ends_with("\n\r\n")) << report;
    }
    EXPECT_EQ(in_line[i]->ask("use wait-" + std::to_string(i)),
              "USING wait-" + std::to_string(i) + "\r\n");
    const std::string last = in_line[i]->put("last");
    const std::string id = last.substr(9, last.size() - 11);
    EXPECT_EQ(waiting[i]->read_answer(), "RESERVED " + id + " 4\r\nlast\r\n");
  }
  EXPECT_EQ(stat("current-jobs-ready"), 0U);
  EXPECT_EQ(stat("current-jobs-reserved"), static_cast<std::uint64_t>(kOfEachKind));
}

INSTANTIATE_TEST_SUITE_P(Of, HandOverUnderLoad, ::testing::Values("", "0", "50"),
                         [](const auto& of) {
                           return *of.param == '\0' ? std::string("Memory")
                                                    : std::string("Syncs") + of.param;
                         });

// Clients of a server that is asked to hand over, and has to wait for its disk or for the next
// server.

class ServerAtRest : public DaemonTest {
 protected:
  std::string path() const { return folder_.file("next"); }
  // Starts with a watchdog. With a binlog each sync takes three seconds, if strace is available.
  void start_watched(const std::vector<std::string>& binlog) {
    ASSERT_TRUE(manager_.open(folder_.file("notify")));
    std::vector<std::string> arguments = {"-l", "unix:" + folder_.file("clients"),
                                          "--take-over-socket=" + path()};
    arguments.insert(arguments.end(), binlog.begin(), binlog.end());
    ServerOptions options = options_with(arguments);
    options.environment = {"NOTIFY_SOCKET=" + folder_.file("notify"), "WATCHDOG_USEC=200000",
                           "ASAN_OPTIONS=detect_leaks=0"};
    if (!binlog.empty()) {
      options.launcher = {kStrace, "-D",
                          "-f",    "-qq",
                          "-o",    "/dev/null",
                          "-e",    "trace=fdatasync",
                          "-e",    "inject=fdatasync:delay_enter=3000000"};
    }
    ASSERT_TRUE(server_.launch(options));
    const bool is_ready = !manager_.receive_until("READY=1").empty();
    const std::string said = server_.standard_error();
    if (said.find("ptrace") != std::string::npos) GTEST_SKIP() << "strace may not trace: " << said;
    ASSERT_TRUE(is_ready) << said;
  }
  Client client() {
    auto client = std::make_unique<WireClient>();
    EXPECT_TRUE(client->connect_unix(folder_.file("clients"))) << client->failure();
    return client;
  }
  void ask_for_all(const Talk& next) {
    ASSERT_TRUE(next.say("take over"));
    ASSERT_TRUE(eventually(
        [&] { return server_.standard_error().find("event=handing-over") != std::string::npos; }));
  }

  static constexpr const char* kStrace = "/usr/bin/strace";
  TemporaryFolder jobs_;
  NotifySocket manager_;
};

TEST_F(ServerAtRest, NotifiesTheWatchdogWhileItWaitsForTheNextOne) {
  ASSERT_NO_FATAL_FAILURE(start_watched({}));
  Talk next;
  ASSERT_TRUE(next.connect(path()));
  ASSERT_NO_FATAL_FAILURE(ask_for_all(next));
  ASSERT_TRUE(next.hear().starts_with("parts "));
  (void)manager_.receive_all();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(manager_.receive_until("WATCHDOG=1").empty());
  EXPECT_TRUE(next.say("no time")) << "it has not waited";
  EXPECT_EQ(client()->put("one"), "INSERTED 1\r\n");
}

// For a put whose answer waits for a sync, and one whose answer does not.
class ServerWithASlowDisk : public ServerAtRest,
                            public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Of, ServerWithASlowDisk, ::testing::Values("0", "1"),
                         [](const auto& of) { return std::string("Fsync") + of.param; });

TEST_P(ServerWithASlowDisk, NotifiesTheWatchdogAndEndsNoTtrBeforeItReadsAgain) {
  if (::access(kStrace, X_OK) != 0) GTEST_SKIP() << kStrace << " is missing";
  ASSERT_NO_FATAL_FAILURE(start_watched({"-b", jobs_.path(), "-f", GetParam()}));
  if (IsSkipped()) return;
  const Client producer = client();
  const Client worker = client();
  ASSERT_EQ(producer->put("one", 0, 0, 2), "INSERTED 1\r\n");
  ASSERT_TRUE(producer->send("put 0 0 60 3\r\ntwo\r\n"));
  // The sync is in progress.
  ASSERT_TRUE(
      eventually([&] { return report_number(worker->ask("stats"), "binlog-sync-lag") > 100; }));
  ASSERT_EQ(worker->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  Talk next;
  ASSERT_TRUE(next.connect(path()));
  ASSERT_NO_FATAL_FAILURE(ask_for_all(next));
  (void)manager_.receive_all();
  ASSERT_TRUE(worker->send_line("delete 1"));
  ASSERT_TRUE(next.hear().starts_with("parts "));
  EXPECT_GE(manager_.receive_all().size(), 2U) << "it was silent until then";
  next.close();
  EXPECT_EQ(producer->read_answer(), "INSERTED 2\r\n");
  EXPECT_EQ(worker->read_answer(), "DELETED\r\n");
  EXPECT_EQ(report_number(worker->ask("stats"), "job-timeouts"), 0U);
}

// Two builds of the server: the later one's state has a version that today's server does not read.

const std::string kLater = LATER_HARICOTD;

class StateVersions : public HandOverTest {
 protected:
  std::string versions_of(const std::string& binary) {
    ServerProcess server;
    ServerOptions options = options_with({"--reads-state"});
    if (!binary.empty()) options.binary = binary;
    EXPECT_TRUE(server.launch(options));
    EXPECT_EQ(server.wait_exit(), kGood);
    return server.standard_output();
  }
};

// Returns the version that is written.
std::string last_of(const std::string& versions) {
  const std::size_t before = versions.rfind(' ') + 1;
  return versions.substr(before, versions.size() - before - 1);
}

TEST_F(StateVersions, TheLaterBuildReadsTheStateOfTodaysToo) {
  const std::string today = versions_of("");
  const std::string next = std::to_string(std::stoi(last_of(today)) + 1);
  EXPECT_EQ(versions_of(kLater), today.substr(0, today.size() - 1) + " " + next + "\n")
      << "tests/os/CMakeLists.txt says what the later one reads";
}

TEST_F(StateVersions, AnUpgradeKeepsConnectionsAndReservations) {
  start_first({"-b", folder_.path()});
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  ASSERT_EQ(client->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  binary_ = kLater;
  restart();
  EXPECT_EQ(client->ask("touch 1"), "TOUCHED\r\n");
  restart();
  EXPECT_EQ(client->ask("delete 1"), "DELETED\r\n");
  EXPECT_EQ(stat("hand-overs"), 2U);
}

TEST_F(StateVersions, ADowngradeIsARestartThatKeepsTheJobs) {
  binary_ = kLater;
  start_first({"-b", folder_.path(), "-f", "0"});
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  ASSERT_EQ(client->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  binary_.clear();
  restart();
  EXPECT_TRUE(client->at_eof());
  EXPECT_EQ(manager_.kept(), 0U);
  EXPECT_EQ(connect_again()->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  const std::string said = server_.standard_error();
  const std::string why = "the state has version " + last_of(versions_of(kLater)) +
                          ", and this program reads " + last_of(versions_of(""));
  EXPECT_NE(said.find(why), std::string::npos) << said;
}

TEST_P(TakeOver, ALaterBuildTakesOverAndTodaysIsRefused) {
  start_first();
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  ASSERT_EQ(client->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  take_over(kLater);
  EXPECT_EQ(client->ask("touch 1"), "TOUCHED\r\n");
  take_over(kLater);
  EXPECT_EQ(client->ask("touch 1"), "TOUCHED\r\n");
  ServerProcess& today = launch_next(arguments_);
  EXPECT_EQ(today.wait_exit(), (ExitStatus{.code = 20})) << today.standard_error();
  next_.pop_back();
  expect_refusal(last(), "the state has version ");
  EXPECT_EQ(client->ask("delete 1"), "DELETED\r\n") << "it is not held any more";
  EXPECT_EQ(report_number(client->ask("stats"), "hand-overs"), 2U);
}

}  // namespace
}  // namespace haricot::test
