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

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/daemon_fixture.hpp"
#include "take_over_fixture.hpp"

namespace haricot::test {
namespace {

// A server that takes everything over from a running one, via a socket.

// Puts, reserves and deletes jobs, one at a time, until it is stopped.
class Load {
 public:
  explicit Load(std::uint16_t port) : thread_([this, port] { run(port); }) {}
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  ~Load() { (void)end(); }
  std::uint64_t rounds() const { return rounds_; }
  // Returns the first error; empty: none.
  std::string end() {
    ends_ = true;
    if (thread_.joinable()) thread_.join();
    return wrong_;
  }

 private:
  void run(std::uint16_t port) {
    WireClient client;
    if (!client.connect_tcp(port)) wrong_ = client.failure();
    (void)client.ask("use load");
    (void)client.ask("watch load");
    (void)client.ask("ignore default");
    while (!ends_ && wrong_.empty()) {
      const std::string put = client.put("job");
      const std::string id = put.substr(0, put.find('\r')).substr(put.find(' ') + 1);
      const std::string reserved = client.ask("reserve");
      const std::string deleted = client.ask("delete " + id);
      const bool is_good = put.starts_with("INSERTED ") && deleted == "DELETED\r\n" &&
                           reserved == "RESERVED " + id + " 3\r\njob\r\n";
      if (!is_good) wrong_ = put + reserved + deleted;
      ++rounds_;
    }
  }

  std::atomic<bool> ends_ = false;
  std::atomic<std::uint64_t> rounds_ = 0;
  std::string wrong_;  // Written by the thread until it has ended.
  std::thread thread_;
};

INSTANTIATE_TEST_SUITE_P(With, TakeOver, ::testing::Bool(),
                         [](const auto& with) { return with.param ? "ABinlog" : "NoBinlog"; });

TEST_P(TakeOver, AChainOfServersServesALoadWithoutAMistake) {
  start_first();
  const Client producer = connect();
  const Client worker = connect();
  const Client waiting = connect();
  const Client in_line = connect();
  ASSERT_EQ(producer->put("held"), "INSERTED 1\r\n");
  ASSERT_EQ(worker->ask("reserve"), "RESERVED 1 4\r\nheld\r\n");
  ASSERT_TRUE(waiting->send_line("reserve"));
  ASSERT_TRUE(in_line->send("list-tube-us"));
  Load load(server_.port());
  for (int i = 1; i <= 3; ++i) {
    const std::uint64_t rounds = load.rounds();
    ASSERT_TRUE(eventually([&] { return load.rounds() > rounds + 20; }));
    take_over();
    EXPECT_EQ(worker->ask("touch 1"), "TOUCHED\r\n");
    EXPECT_EQ(report_number(producer->ask("stats"), "hand-overs"), static_cast<unsigned>(i));
  }
  const std::uint64_t rounds = load.rounds();
  ASSERT_TRUE(eventually([&] { return load.rounds() > rounds + 20; }));
  EXPECT_EQ(load.end(), "");
  EXPECT_EQ(in_line->ask("ed"), "USING default\r\n");
  ASSERT_TRUE(producer->put("new").starts_with("INSERTED "));
  EXPECT_NE(waiting->read_answer()->find("\r\nnew\r\n"), std::string::npos);
  EXPECT_EQ(worker->ask("delete 1"), "DELETED\r\n");
  EXPECT_EQ(last().stop(), kGood);
  EXPECT_NE(::access(path().c_str(), F_OK), 0) << "the file of the socket stays";
}

// Returns true for values that differ between processes, count the query itself, or change with
// time.
bool is_own_fact(const std::string& line) {
  constexpr std::string_view kKeys[] = {
      "pid",       "uptime",     "id",  "rusage-utime", "rusage-stime",
      "cmd-stats", "hand-overs", "age", "time-left",    "pause-time-left"};
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const std::string key = line.substr(begin, line.find(':') - begin);
  return key.starts_with("OK ") || key.starts_with("binlog-") || key.starts_with("age-oldest-") ||
         std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

std::string without_own_facts(const std::string& report) {
  std::string result;
  for (std::size_t at = 0; at < report.size();) {
    const std::size_t end = std::min(report.find('\n', at), report.size());
    const std::string line = report.substr(at, end - at);
    if (!is_own_fact(line)) result += line + "\n";
    at = end + 1;
  }
  return result;
}

TEST_P(TakeOver, NoReportAndNoOrderChanges) {
  start_first();
  const Client first = connect();
  const Client second = connect();
  const Client worker = connect();
  const Client weighted = connect();
  const auto ask = [](const Client& client, const std::string& line, const std::string& answer) {
    ASSERT_EQ(client->ask(line), answer) << line;
  };
  // The tubes are created in another order than the jobs that a binlog restores.
  ask(first, "use b", "USING b\r\n");
  ask(second, "use a", "USING a\r\n");
  ask(second, "put 9 0 60 1\r\n1", "INSERTED 1\r\n");
  for (int id = 2; id < 10; ++id) {
    ask(first, "put 5 0 60 1\r\n" + std::to_string(id), "INSERTED " + std::to_string(id) + "\r\n");
  }
  ask(first, "put 5 900 60 2 idp:key:900 try:3\r\n10", "INSERTED 10\r\n");
  ask(first, "put 5 900 60 2 con:lane\r\n11", "INSERTED 11\r\n");
  for (const char* id : {"5", "3", "4"}) {
    ask(worker, std::string("reserve-job ") + id,
        std::string("RESERVED ") + id + " 1\r\n" + id + "\r\n");
    ask(worker, std::string("bury ") + id + " 7", "BURIED\r\n");
  }
  ask(worker, "reserve-job 9", "RESERVED 9 1\r\n9\r\n");
  ask(worker, "release 9 5 900", "RELEASED\r\n");
  ask(worker, "pause-tube a 900", "PAUSED\r\n");
  ask(worker, "reserve-job 8", "RESERVED 8 1\r\n8\r\n");
  ask(weighted, "watch b 3", "WATCHING 2\r\n");
  ask(weighted, "reserve-mode weighted", "USING weighted\r\n");
  ask(weighted, "reserve-with-timeout 0", "RESERVED 2 1\r\n2\r\n");
  ask(weighted, "ignore default", "WATCHING 1\r\n");
  const auto look = [&] {
    std::string all;
    for (const char* tube : {"a", "b", "default"}) {
      all += without_own_facts(first->ask(std::string("stats-tube ") + tube));
    }
    for (int id = 1; id <= 11; ++id) {
      all += without_own_facts(first->ask("stats-job " + std::to_string(id)));
    }
    for (const char* line : {"list-tubes", "peek-ready", "peek-delayed", "peek-buried"}) {
      all += first->ask(line);
    }
    all += weighted->ask("list-tubes-watched");
    all += without_own_facts(first->ask("stats-tube-detail b"));
    all += without_own_facts(first->ask("stats-tubes * 9"));
    return all;
  };
  // A query counts, too: the second one makes as many after the first.
  const std::string before = look();
  const std::string counted_before = without_own_facts(first->ask("stats"));
  take_over();
  EXPECT_EQ(without_own_facts(first->ask("stats")), counted_before);
  EXPECT_EQ(look(), before);
  EXPECT_EQ(first->ask("put 5 0 60 0 idp:key:900\r\n"), "INSERTED 10 DELAYED\r\n");
  EXPECT_EQ(second->ask("put 5 0 60 0\r\n"), "INSERTED 13\r\n");
  EXPECT_EQ(first->ask("kick 2"), "KICKED 2\r\n");
  EXPECT_EQ(first->ask("peek-buried"), "FOUND 4 1\r\n4\r\n") << "the order of the buried";
}

// A body that is too big is discarded as it arrives, by whichever server is active.

TEST_P(TakeOver, UnfinishedSessionsContinue) {
  start_first();
  const Client discarding = connect();
  const Client in_body = connect();
  const Client piping = connect();
  ASSERT_TRUE(discarding->send("put 0 0 60 70000\r\n" + std::string(30'000, 'x')));
  ASSERT_TRUE(in_body->send("put 0 0 60 60000 try:2\r\n" + std::string(30'000, 'x')));
  ASSERT_TRUE(piping->send("reserve-with-timeout 900\r\nstats-job 1\r\nlist-tube-used\r\n"));
  const Client other = connect();
  ASSERT_TRUE(eventually([&] { return server_stat("current-waiting") == 1; }));
  take_over();
  ASSERT_TRUE(discarding->send(std::string(40'000, 'x') + "\r\nlist-tube-used\r\n"));
  EXPECT_EQ(discarding->read_answer(), "JOB_TOO_BIG\r\n");
  EXPECT_EQ(discarding->read_answer(), "USING default\r\n");
  ASSERT_TRUE(in_body->send(std::string(30'000, 'x') + "\r\n"));
  EXPECT_EQ(in_body->read_answer(), "INSERTED 1\r\n");
  EXPECT_TRUE(piping->read_answer()->starts_with("RESERVED 1 60000\r\n"));
  EXPECT_NE(piping->read_answer()->find("state: reserved"), std::string::npos);
  EXPECT_EQ(piping->read_answer(), "USING default\r\n");
}

// The test relays between two servers, and delays the next one's messages.
TEST_P(TakeOver, CommandsOfAHolderAreInTimeForTheNextServer) {
  start_first();
  const Client worker = connect();
  ASSERT_EQ(worker->put("job", 0, 0, 3), "INSERTED 1\r\n");
  ASSERT_EQ(worker->put("other", 0, 0, 3), "INSERTED 2\r\n");
  ASSERT_EQ(worker->ask("reserve"), "RESERVED 1 3\r\njob\r\n");
  ASSERT_EQ(worker->ask("reserve"), "RESERVED 2 5\r\nother\r\n");
  Talk here;
  ASSERT_TRUE(here.connect(path()));
  ASSERT_TRUE(here.say("take over"));
  std::vector<int> descriptors;
  const std::string parts = here.hear(descriptors);
  ASSERT_TRUE(worker->send_line("delete 1"));
  std::this_thread::sleep_for(std::chrono::milliseconds(3200));
  Talk listener;
  ASSERT_TRUE(listener.listen(folder_.file("late")));
  next_.push_back(std::make_unique<ServerProcess>());
  arguments_.push_back("--take-over=" + folder_.file("late"));
  ASSERT_TRUE(last().launch(options_with(arguments_)));
  Talk there(listener.accept());
  EXPECT_EQ(there.hear(), "take over");
  ASSERT_TRUE(there.say(parts, descriptors));
  for (const int descriptor : descriptors) ::close(descriptor);
  EXPECT_EQ(there.hear(), "mine");
  EXPECT_TRUE(here.say("mine"));
  EXPECT_EQ(here.hear(), "yours");
  EXPECT_EQ(here.hear(), "");
  EXPECT_EQ(server_.wait_exit(), kGood);
  EXPECT_TRUE(there.say("yours"));
  there.close();
  EXPECT_EQ(worker->read_answer(), "DELETED\r\n");
  // Input that was not sent in time is late.
  EXPECT_EQ(worker->ask("delete 2"), "DELETED\r\n") << "nobody has taken it";
  EXPECT_EQ(report_number(worker->ask("stats"), "job-timeouts"), 1U);
}

TEST_P(TakeOver, AnotherAddressIsListenedOnAndTheConnectionsStay) {
  start_first();
  const Client client = connect();
  const std::uint16_t port = server_.port();
  const std::string clients = folder_.file("clients");
  std::vector<std::string> arguments = binlog_;
  arguments.insert(arguments.end(), {"-l", "unix:" + clients, "-z", "100"});
  ServerProcess& next = launch_next(arguments);
  EXPECT_EQ(server_.wait_exit(), kGood) << next.standard_error();
  ASSERT_TRUE(says(next, "event=taken-over")) << next.standard_error();
  EXPECT_EQ(client->put("one"), "INSERTED 1\r\n");
  EXPECT_EQ(client->ask("put 0 0 60 101\r\n" + std::string(101, 'x')), "JOB_TOO_BIG\r\n");
  WireClient there;
  ASSERT_TRUE(there.connect_unix(clients));
  EXPECT_EQ(there.ask("peek 1"), "FOUND 1 3\r\none\r\n");
  WireClient here;
  EXPECT_FALSE(here.connect_tcp(port)) << "the old listener is there";
  // It was not started with the flag, so no server can take over from it.
  EXPECT_NE(::access(path().c_str(), F_OK), 0);
}

TEST_P(TakeOver, TheFileOfAUnixSocketIsThatOfTheServerThatServes) {
  const std::string clients = folder_.file("clients");
  start_first();
  ASSERT_EQ(server_.stop(), kGood);
  std::vector<std::string> arguments = {"-l", "unix:" + clients, "--take-over-socket=" + path()};
  arguments.insert(arguments.end(), binlog_.begin(), binlog_.end());
  ASSERT_TRUE(server_.launch(options_with(arguments)));
  ASSERT_TRUE(says(server_, "event=ready"));
  // A server that fails after getting the sockets removes no file.
  std::vector<std::string> wrong = arguments;
  wrong.insert(wrong.end(), {"-u", "no-such-user"});
  ServerProcess& failing = launch_next(wrong);
  EXPECT_EQ(failing.wait_exit(), (ExitStatus{.code = 33})) << failing.standard_error();
  next_.pop_back();
  EXPECT_EQ(::access(clients.c_str(), F_OK), 0);
  EXPECT_EQ(::access(path().c_str(), F_OK), 0);
  arguments_ = arguments;
  take_over();
  WireClient client;
  ASSERT_TRUE(client.connect_unix(clients));
  EXPECT_EQ(client.put("one"), "INSERTED 1\r\n");
  EXPECT_EQ(last().stop(), kGood);
  EXPECT_NE(::access(clients.c_str(), F_OK), 0);
  EXPECT_NE(::access(path().c_str(), F_OK), 0);
}

TEST_P(TakeOver, WithAUserAndInTheSandboxToo) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  if (kIsSanitized) GTEST_SKIP() << "builds with a sanitizer have no sandbox";
  const passwd* const nobody = ::getpwnam("nobody");
  ASSERT_NE(nobody, nullptr);
  for (const std::string& folder : {folder_.path(), jobs_.path()}) {
    ASSERT_EQ(::chown(folder.c_str(), nobody->pw_uid, nobody->pw_gid), 0);
  }
  start_first({"-u", "nobody", "--sandbox"});
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  ASSERT_EQ(client->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  struct stat status {};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, nobody->pw_uid);
  take_over();
  take_over();
  EXPECT_EQ(client->ask("delete 1"), "DELETED\r\n");
  EXPECT_EQ(client->put("two"), "INSERTED 2\r\n");
  EXPECT_EQ(last().stop(), kGood);
  EXPECT_NE(::access(path().c_str(), F_OK), 0);
}

// Take-overs that fail: the successor asks for everything, but does not begin.

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
  expect_refusal(server_, "the successor has ended before it was ready");

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
  // The successors are killed at various points: they have not begun if the first server still
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
  const std::string why = GetParam() ? "the predecessor has another folder than that of -b"
                                     : "the predecessor has no binlog, and this one has -b";
  const auto refuses = [&](const std::vector<std::string>& arguments, const std::string& reason) {
    ServerProcess& next = launch_next(arguments);
    EXPECT_EQ(next.wait_exit(), kNotTakenOver) << next.standard_error();
    EXPECT_NE(next.standard_error().find(reason), std::string::npos) << next.standard_error();
    expect_refusal(server_, reason);
    EXPECT_EQ(client->ask("peek 1"), "FOUND 1 3\r\none\r\n");
    next_.pop_back();
  };
  refuses(with_other, why);
  if (GetParam()) refuses(address, "the predecessor has a binlog, and this one has no -b");
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

// No descriptors are left for a state: a file in memory, or a pair of sockets.
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
