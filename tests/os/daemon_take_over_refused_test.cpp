// Take-overs that fail: the next server asks for everything, but does not begin.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/daemon_fixture.hpp"
#include "take_over_fixture.hpp"

namespace haricot::test {
namespace {

constexpr ExitStatus kNotTakenOver{.code = 20};

TEST_P(TakeOver, ANextOneThatEndsAtAnyStepLeavesTheServerAsItWas) {
  start_first();
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  ASSERT_EQ(client->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  Talk next;
  ASSERT_TRUE(next.connect(path()));
  next.close();
  EXPECT_EQ(client->ask("touch 1"), "TOUCHED\r\n");

  ASSERT_TRUE(next.connect(path()));
  ASSERT_TRUE(next.say("something else"));
  EXPECT_EQ(next.hear(), "");
  EXPECT_EQ(client->ask("touch 1"), "TOUCHED\r\n");
  EXPECT_EQ(server_.standard_error().find("hand"), std::string::npos) << server_.standard_error();

  ASSERT_TRUE(next.connect(path()));
  ASSERT_TRUE(next.say("take over"));
  EXPECT_TRUE(next.hear().starts_with("parts parcel-state:parcel-descriptors-0"));
  next.close();
  EXPECT_EQ(client->ask("touch 1"), "TOUCHED\r\n");
  expect_refusal(server_, "the next server has ended before it was ready");

  ASSERT_TRUE(next.connect(path()));
  ASSERT_TRUE(next.say("take over"));
  EXPECT_TRUE(next.hear().starts_with("parts "));
  EXPECT_TRUE(next.say("no time for this"));
  EXPECT_EQ(next.hear(), "");
  EXPECT_EQ(client->ask("delete 1"), "DELETED\r\n");
  expect_refusal(server_, "time for this");

  EXPECT_EQ(client->put("two"), "INSERTED 2\r\n");
  take_over();
  EXPECT_EQ(client->ask("peek 2"), "FOUND 2 3\r\ntwo\r\n");
}

TEST_P(TakeOver, ThePreviousServerContinuesIfTheNextIsKilledBeforeItIsReady) {
  start_first();
  const Client client = connect();
  std::string jobs;
  for (int i = 0; i < 20'000; ++i) jobs += "put 0 0 60 3\r\njob\r\n";
  ASSERT_TRUE(client->send(jobs));
  for (int i = 1; i <= 20'000; ++i) {
    ASSERT_EQ(client->read_answer(), "INSERTED " + std::to_string(i) + "\r\n");
  }
  ASSERT_EQ(client->ask("reserve"), "RESERVED 1 3\r\njob\r\n");
  // The next servers are killed at various points: they have not begun if the first server still
  // answers.
  for (int pause_us = 500; pause_us < 200'000; pause_us *= 2) {
    ServerProcess& before = last();
    ServerProcess& next = launch_next(arguments_);
    ::usleep(static_cast<useconds_t>(pause_us));
    if (next.standard_error().find("event=ready") == std::string::npos) next.kill_hard();
    const bool has_begun = next.running() || !before.running();
    if (has_begun) break;
    next_.pop_back();
    if (client->ask("touch 1") == "TOUCHED\r\n") continue;
    // It was killed when it owned everything: the previous one may only have to end.
    EXPECT_TRUE(says(before, "event=handed-over")) << pause_us << before.standard_error();
    return;
  }
  if (!last().running()) return;  // It was killed when it owned everything.
  EXPECT_EQ(client->ask("delete 1"), "DELETED\r\n");
  EXPECT_EQ(client->ask("reserve"), "RESERVED 2 3\r\njob\r\n");
}

// It has duplicates of all sockets.
TEST_P(TakeOver, ClientsLeaveAServerWhileTheNextOneThatWasRefusedHangs) {
  start_first();
  const std::vector<Client> clients = connect(3);
  Talk next;
  ASSERT_TRUE(next.connect(path()));
  ASSERT_TRUE(next.say("take over"));
  std::vector<int> parts;
  ASSERT_TRUE(next.hear(parts).starts_with("parts "));
  ASSERT_TRUE(next.say("no time"));
  EXPECT_EQ(next.hear(), "");
  clients[0]->close();
  clients[1]->reset();
  ASSERT_TRUE(clients[2]->send_line("quit"));
  EXPECT_TRUE(clients[2]->at_eof()) << "its end is not seen";
  EXPECT_TRUE(eventually([&] { return server_stat("current-connections") == 1; }));
  for (const int part : parts) ::close(part);
  take_over();
  WireClient late;
  ASSERT_TRUE(late.connect_tcp(server_.port()));
  EXPECT_EQ(late.put("one"), "INSERTED 1\r\n");
}

// Input that arrives while the server waits for the next one was in time: no TTR ends before it is
// read.
TEST_P(TakeOver, CommandsOfAHolderAreInTimeForTheContinuingServer) {
  start_first();
  const Client worker = connect();
  ASSERT_EQ(worker->put("job", 0, 0, 3), "INSERTED 1\r\n");
  ASSERT_EQ(worker->ask("reserve"), "RESERVED 1 3\r\njob\r\n");
  Talk next;
  ASSERT_TRUE(next.connect(path()));
  ASSERT_TRUE(next.say("take over"));
  ASSERT_TRUE(next.hear().starts_with("parts "));
  ASSERT_TRUE(worker->send_line("delete 1"));
  std::this_thread::sleep_for(std::chrono::milliseconds(3200));
  next.close();
  EXPECT_EQ(worker->read_answer(), "DELETED\r\n");
  EXPECT_EQ(report_number(worker->ask("stats"), "job-timeouts"), 0U);
}

TEST_P(TakeOver, AServerThatIsStoppedMeanwhileEnds) {
  start_first();
  Talk next;
  ASSERT_TRUE(next.connect(path()));
  ASSERT_TRUE(next.say("take over"));
  ASSERT_TRUE(next.hear().starts_with("parts "));
  ASSERT_TRUE(server_.signal(SIGTERM));
  ASSERT_TRUE(next.say("mine"));
  EXPECT_EQ(next.hear(), "");
  EXPECT_EQ(server_.wait_exit(), kGood);
  expect_refusal(server_, "this server is stopping");
}

TEST_P(TakeOver, WithoutAListenerNoServerStarts) {
  const std::vector<std::string> arguments = {"-l", "127.0.0.1", "-p", "0",
                                              "--take-over=" + path()};
  const Ending ending = run_to_end(arguments);
  EXPECT_EQ(ending.status, kNotTakenOver);
  EXPECT_NE(ending.error.find("cannot connect to a server on " + path()), std::string::npos)
      << ending.error;
}

TEST_P(TakeOver, UnsupportedRequestsAreRefusedAndTheServerContinues) {
  start_first();
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  TemporaryFolder other;
  const std::vector<std::string> address(arguments_.begin(), arguments_.begin() + 4);
  std::vector<std::string> with_other = address;
  with_other.insert(with_other.end(), {"-b", other.path()});
  const std::string why = GetParam() ? "the previous server has another folder than that of -b"
                                     : "the previous server has no binlog, and this one has -b";
  const auto refuses = [&](const std::vector<std::string>& arguments, const std::string& reason) {
    ServerProcess& next = launch_next(arguments);
    EXPECT_EQ(next.wait_exit(), kNotTakenOver) << next.standard_error();
    EXPECT_NE(next.standard_error().find(reason), std::string::npos) << next.standard_error();
    expect_refusal(server_, reason);
    EXPECT_EQ(client->ask("peek 1"), "FOUND 1 3\r\none\r\n");
    next_.pop_back();
  };
  refuses(with_other, why);
  if (GetParam()) refuses(address, "the previous server has a binlog, and this one has no -b");
  // An address that is not available: nothing is lost either.
  std::vector<std::string> elsewhere = binlog_;
  elsewhere.insert(elsewhere.end(), {"-l", "203.0.113.1", "-p", "1"});
  ServerProcess& next = launch_next(elsewhere);
  EXPECT_EQ(next.wait_exit(), (ExitStatus{.code = 111})) << next.standard_error();
  expect_refusal(server_, "cannot listen on 203.0.113.1:1");
  EXPECT_EQ(client->ask("peek 1"), "FOUND 1 3\r\none\r\n");
}

// It can read all jobs.
TEST_P(TakeOver, AFolderThatTheNextServerCannotWriteIsNotGivenUp) {
  if (!GetParam()) return;
  start_first();
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  ASSERT_EQ(client->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  std::vector<std::string> arguments = arguments_;
  if (::geteuid() == 0) {
    arguments.insert(arguments.end(), {"-u", "nobody"});  // Everything belongs to root.
    ASSERT_EQ(::chmod(jobs_.path().c_str(), 0755), 0);
    for (const char* name : {"lock", "binlog.1"}) {
      ASSERT_EQ(::chmod(jobs_.file(name).c_str(), 0644), 0);
    }
  } else {
    ASSERT_EQ(::chmod(jobs_.path().c_str(), 0500), 0);
  }
  ServerProcess& next = launch_next(arguments);
  EXPECT_EQ(next.wait_exit(), (ExitStatus{.code = 10})) << next.standard_error();
  expect_refusal(server_, "cannot ");
  EXPECT_EQ(client->ask("touch 1"), "TOUCHED\r\n");
  ASSERT_EQ(::chmod(jobs_.path().c_str(), 0700), 0);
  EXPECT_EQ(client->put("two"), "INSERTED 2\r\n");
  next_.pop_back();
  take_over();
  EXPECT_EQ(client->ask("delete 1"), "DELETED\r\n");
}

// No descriptors are left for a parcel: a file in memory, or a pair of sockets.
TEST_P(TakeOver, WithoutDescriptorsAServerEndsAsWithoutAHandOver) {
  const std::string clients = folder_.file("clients");
  const int manager = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = Talk::address_of(folder_.file("notify"));
  ASSERT_EQ(::bind(manager, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  std::vector<std::string> arguments = {"-l", "unix:" + clients};
  arguments.insert(arguments.end(), binlog_.begin(), binlog_.end());
  ServerOptions options = options_with(arguments);
  options.environment = {"NOTIFY_SOCKET=" + folder_.file("notify")};
  options.launcher = {"/bin/sh", "-c", "ulimit -n 40; exec \"$0\" \"$@\""};
  ASSERT_TRUE(server_.launch(options));
  ASSERT_TRUE(says(server_, "event=ready")) << server_.standard_error();
  std::vector<std::unique_ptr<WireClient>> all;
  while (server_.standard_error().find("event=accept-paused") == std::string::npos) {
    all.push_back(std::make_unique<WireClient>());
    ASSERT_LT(all.size(), 1000U);
    ASSERT_TRUE(all.back()->connect_unix(clients));
    ::usleep(1000);
  }
  ASSERT_TRUE(server_.signal(SIGTERM));
  EXPECT_EQ(server_.wait_exit(), kGood);
  expect_refusal(server_, "cannot make a ");
  EXPECT_NE(::access(clients.c_str(), F_OK), 0) << "the file of the socket stays";
  ::close(manager);
}

// The test stands between both servers. When the first one has given everything up, another server
// takes the lock of the folder before the next one does. The jobs are that server's: two servers
// would deliver each of them twice.
TEST_P(TakeOver, AServerWhoseFolderAnotherOneTakesInBetweenEndsAndSaysWho) {
  if (!GetParam()) return;
  start_first();
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  ASSERT_EQ(client->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  Relay relay;
  ASSERT_TRUE(relay.begin(path(), folder_.file("late")));
  std::vector<std::string> arguments = arguments_;
  arguments.push_back("--take-over=" + folder_.file("late"));
  next_.push_back(std::make_unique<ServerProcess>());
  ASSERT_TRUE(last().launch(options_with(arguments)));
  ASSERT_TRUE(relay.pass_parts()) << last().standard_error();
  ASSERT_TRUE(relay.end_first()) << server_.standard_error();
  ASSERT_EQ(server_.wait_exit(), kGood);
  ServerProcess thief;
  ServerOptions options = options_with({"-b", jobs_.path()});
  ASSERT_TRUE(thief.start(options)) << thief.failure();
  ASSERT_TRUE(relay.let_next_begin());
  EXPECT_EQ(last().wait_exit(), (ExitStatus{.code = 10})) << last().standard_error();
  const std::string why = "another server uses the folder " + jobs_.path() + " (process " +
                          std::to_string(thief.pid()) + ")";
  EXPECT_NE(last().standard_error().find(why), std::string::npos) << last().standard_error();
  EXPECT_TRUE(client->at_eof());
  WireClient there;
  ASSERT_TRUE(there.connect(thief));
  EXPECT_EQ(there.ask("reserve"), "RESERVED 1 3\r\none\r\n");
}

TEST_P(TakeOver, AnUnknownVersionIsRefused) {
  Talk listener;
  ASSERT_TRUE(listener.listen(path()));
  std::vector<std::string> arguments = binlog_;
  arguments.insert(arguments.end(), {"-l", "127.0.0.1", "-p", "0"});
  ServerProcess& next = launch_next(arguments);
  const Talk before(listener.accept());
  EXPECT_EQ(before.hear(), "take over");
  const int state = ::memfd_create("state", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::write(state, "\x63\0\0\0and more", 12), 12);
  ASSERT_EQ(::fcntl(state, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL),
            0);
  ASSERT_TRUE(before.say("parts parcel-state", {state}));
  ::close(state);
  const std::string why = "the state has version 99, and this program reads 1";
  EXPECT_EQ(before.hear(), "no " + why);
  EXPECT_EQ(next.wait_exit(), kNotTakenOver);
  EXPECT_NE(next.standard_error().find(why), std::string::npos) << next.standard_error();
}

TEST_P(TakeOver, OnlyRootAndTheServersUserMayAsk) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  start_first();
  const Client client = connect();
  struct stat status {};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  ASSERT_EQ(::chmod(path().c_str(), 0666), 0);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    Talk next;
    const bool is_other = ::setuid(::getpwnam("nobody")->pw_uid) == 0;
    if (!is_other || !next.connect(path())) ::_exit(1);
    (void)next.say("take over");
    ::_exit(next.hear() == "no only root and the user of the server may take over" ? 0 : 2);
  }
  int result = -1;
  ASSERT_EQ(::waitpid(child, &result, 0), child);
  EXPECT_TRUE(WIFEXITED(result));
  EXPECT_EQ(WEXITSTATUS(result), 0);
  EXPECT_EQ(client->put("one"), "INSERTED 1\r\n");
}

}  // namespace
}  // namespace haricot::test
