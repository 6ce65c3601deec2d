#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "support/daemon_fixture.hpp"
#include "support/hand_over_fixture.hpp"

namespace haricot::test {
namespace {

// Ends of haricotd if it does not serve: exit statuses and output on both streams.

constexpr ExitStatus kUsage{.code = 5};
constexpr ExitStatus kNoUser{.code = 33};
constexpr ExitStatus kCannotListen{.code = 111};

class DaemonStart : public DaemonTest {
 protected:
  // Starts a second server, which must fail to listen. Returns its output.
  std::string error_when_listening(std::vector<std::string> arguments) {
    const Ending ending = run_to_end(std::move(arguments));
    EXPECT_EQ(ending.status.code, kCannotListen.code) << ending.error;
    EXPECT_EQ(ending.output, "");
    EXPECT_NE(ending.error.find("level=error event=cannot-start status=111 "), std::string::npos)
        << ending.error;
    return ending.error;
  }
};

TEST_F(DaemonStart, AMistakeOnTheCommandLineIsTheLastLine) {
  const std::vector<std::vector<std::string>> mistakes = {{"-q"},          {"--nonsense"},
                                                          {"word"},        {""},
                                                          {"-p"},          {"-p", "65536"},
                                                          {"-p", "-1"},    {"-p", "86446"},
                                                          {"-z", "many"},  {"--listen-also="},
                                                          {"-l", ""},      {"-u", ""},
                                                          {"--verbose=1"}, {"-Vx"},
                                                          {"--port="},     {"--compat", "2"},
                                                          {"-s", "-5"},    {"-f", "x"}};
  for (const auto& words : mistakes) {
    SCOPED_TRACE(words[0]);
    const Ending ending = run_to_end(words);
    EXPECT_EQ(ending.status, kUsage);
    EXPECT_EQ(ending.output, "");
    const std::string hint = "Try haricotd --help.\n";
    ASSERT_TRUE(ending.error.starts_with(hint + "haricotd: ")) << ending.error;
    EXPECT_EQ(std::count(ending.error.begin(), ending.error.end(), '\n'), 2) << ending.error;
    EXPECT_TRUE(ending.error.ends_with('\n')) << ending.error;
  }
}

TEST_F(DaemonStart, TheVersionIsOneLineThatOldScriptsCanRead) {
  for (const char* flag : {"-v", "--version", "-Vv"}) {
    const Ending ending = run_to_end({flag, "whatever stands behind it"});
    EXPECT_EQ(ending.status, kGood);
    EXPECT_EQ(ending.error, "");
    const std::string start = "beanstalkd 1.13 (haricot ";
    ASSERT_TRUE(ending.output.starts_with(start) && ending.output.ends_with(")\n"))
        << ending.output;
    const std::string version =
        ending.output.substr(start.size(), ending.output.size() - start.size() - 2);
    EXPECT_EQ(version.find_first_not_of("0123456789."), std::string::npos) << version;
    EXPECT_EQ(std::count(version.begin(), version.end(), '.'), 2) << version;
  }
}

// A package compares the old program with the new one.
TEST_F(DaemonStart, TheVersionsOfAStateGoToTheOutput) {
  const Ending ending = run_to_end({"--reads-state", "-b", "/nowhere"});
  EXPECT_EQ(ending.status, kGood);
  EXPECT_EQ(ending.error, "");
  EXPECT_EQ(ending.output, "1\n");
}

TEST_F(DaemonStart, HelpGoesToTheOutput) {
  for (const char* flag : {"-h", "--help"}) {
    const Ending ending = run_to_end({flag});
    EXPECT_EQ(ending.status, kGood);
    EXPECT_EQ(ending.error, "");
    EXPECT_TRUE(ending.output.starts_with("Use: haricotd ")) << ending.output;
  }
}

TEST_F(DaemonStart, AnUnknownUserHasAStatusOfItsOwn) {
  const Ending ending = run_to_end({"-l", "127.0.0.1", "-p", "0", "-u", "no-such-user-here"});
  EXPECT_EQ(ending.status, kNoUser);
  EXPECT_NE(ending.error.find("no-such-user-here"), std::string::npos) << ending.error;
}

TEST_F(DaemonStart, APortThatIsTakenIsNamed) {
  ASSERT_TRUE(start()) << server_.failure();
  const std::string port = std::to_string(server_.port());
  ServerProcess second;
  ASSERT_TRUE(second.launch(options_with({"-l", "127.0.0.1", "-p", port})));
  EXPECT_EQ(second.wait_exit(), kCannotListen);
  EXPECT_NE(second.standard_error().find(port), std::string::npos) << second.standard_error();
  EXPECT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
}

TEST_F(DaemonStart, AnAddressThatIsNotOursCannotBeListenedOn) {
  error_when_listening({"-l", "203.0.113.7", "-p", "0"});
  error_when_listening({"-l", "not an address", "-p", "0"});
  error_when_listening({"-l", "127.0.0.1", "-p", "no-such-service"});
  error_when_listening({"-l", "unix:", "-p", "0"});
  error_when_listening({"-l", "unix:" + folder_.file("no-such-folder/socket")});
  error_when_listening({"-l", "unix:/tmp/" + std::string(200, 'x')});
}

TEST_F(DaemonStart, AFileInTheSocketsPlaceStaysAsItIs) {
  const std::string path = folder_.file("precious");
  ASSERT_TRUE(write_file(path, "do not touch"));
  EXPECT_NE(error_when_listening({"-l", "unix:" + path}).find(path), std::string::npos);
  EXPECT_EQ(read_file(path), "do not touch");
}

TEST_F(DaemonStart, ASocketOnWhichAServerAnswersStaysThatServers) {
  const std::string address = "unix:" + folder_.file("socket");
  ServerOptions options;
  options.listen_address = address;
  ASSERT_TRUE(start_with(options)) << server_.failure();
  ServerProcess second;
  ASSERT_TRUE(second.launch(options_with({"-l", address})));
  EXPECT_EQ(second.wait_exit(), kCannotListen);
  EXPECT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
}

TEST_F(DaemonStart, FlagsWithoutEffectAreWarnedAbout) {
  ASSERT_TRUE(start({"-c", "-n", "-z", "99999999999"})) << server_.failure();
  const std::string said = said_at_start();
  EXPECT_NE(said.find("-c does nothing"), std::string::npos) << said;
  EXPECT_NE(said.find("-n does nothing"), std::string::npos) << said;
  EXPECT_NE(said.find("1073741824"), std::string::npos) << said;
  EXPECT_EQ(server_stat("max-job-size"), 1073741824U);
}

TEST_F(DaemonStart, LogsItsVersionAndItsAddress) {
  ASSERT_TRUE(start({"-z", "70000"})) << server_.failure();
  const std::string said = said_at_start();
  for (const std::string& part :
       {std::string(" level=info event=start version="), " pid=" + std::to_string(server_.pid()),
        std::string(" addresses=127.0.0.1:") + std::to_string(server_.port()),
        std::string(" compat=1.13 "), std::string(" max_job_size=70000 "),
        std::string(" max_open_files="), std::string(" binlog=none")}) {
    EXPECT_NE(said.find(part), std::string::npos) << part << " is not in " << said;
  }
  EXPECT_NE(said.find(" event=ready jobs=0\n"), std::string::npos) << said;
  EXPECT_EQ(server_.standard_output(), "");
}

// A supervisor that has closed its end of the pipe must still get the status.
TEST_F(DaemonStart, TheStatusIsTheSameIfTheErrorIsNotRead) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]);
  const std::vector<std::pair<std::vector<std::string>, ExitStatus>> cases = {
      {{"--nonsense"}, kUsage},
      {{"-l", "203.0.113.7"}, kCannotListen},
      {{"-l", "127.0.0.1", "-p", "0", "-u", "no-such-user-here"}, kNoUser}};
  for (const auto& [words, status] : cases) {
    ServerOptions options = options_with(words);
    options.error_descriptor = ends[1];
    ASSERT_TRUE(server_.launch(options)) << server_.failure();
    EXPECT_EQ(server_.wait_exit(), status) << words[0];
  }
  ::close(ends[1]);
}

// --check: determines whether a server could start, while another one runs.

class Check : public DaemonTest {
 protected:
  // Checks these flags, which are correct, while the server of the test runs.
  static void expect_good(std::vector<std::string> flags) {
    flags.emplace_back("--check");
    ServerProcess check;
    ASSERT_TRUE(check.launch(options_with(std::move(flags)))) << check.failure();
    EXPECT_EQ(check.wait_exit(), kGood) << check.standard_error();
    EXPECT_EQ(check.standard_output(), "the server can start\n");
    EXPECT_EQ(check.standard_error(), "");
  }
  // Checks these flags, with which a start ends with this status. Both end with the same message.
  void expect_refused(const std::vector<std::string>& flags, int status, const std::string& why) {
    std::vector<std::string> with_check = flags;
    with_check.insert(with_check.begin(), "--check");
    const Ending check = run_to_end(std::move(with_check));
    const Ending start = run_to_end(flags);
    EXPECT_EQ(check.status, (ExitStatus{.code = status})) << check.error;
    EXPECT_EQ(start.status, (ExitStatus{.code = status})) << start.error;
    EXPECT_NE(check.error.find(why), std::string::npos) << check.error;
    EXPECT_NE(start.error.find(why), std::string::npos) << start.error;
  }
  static std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
};

TEST_F(Check, FlagsOfARunningServerAreGoodAndItIsLeftAlone) {
  ASSERT_TRUE(start({"-b", folder_.path()}));
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  for (int i = 0; i < 3; ++i) {
    expect_good({"-l", "127.0.0.1", "-p", std::to_string(server_.port()), "-b", folder_.path()});
  }
  EXPECT_EQ(client->put("two"), "INSERTED 2\r\n");
  EXPECT_EQ(connect()->ask("peek 2"), "FOUND 2 3\r\ntwo\r\n");
  EXPECT_EQ(server_.stop(), kGood);
}

TEST_F(Check, NothingIsWrittenAndNoSocketIsMade) {
  expect_good({"-l", "unix:" + folder_.file("socket"), "-b", folder_.path(), "--take-over-socket",
               folder_.file("next")});
  EXPECT_TRUE(names_in(folder_.path()).empty());
}

TEST_F(Check, StatusIsThatOfTheStart) {
  const std::string file = folder_.file("file");
  std::ofstream(file) << "not a folder";
  expect_refused({"--nonsense"}, 5, "unknown flag: --nonsense");
  expect_refused({"-p", "0", "-b", folder_.file("nowhere")}, 10, "No such file or directory");
  expect_refused({"-p", "0", "-b", file}, 10, "Not a directory");
  expect_refused({"-p", "0", "-l", "203.0.113.1"}, 111, "cannot listen on 203.0.113.1:0");
  expect_refused({"-p", "0", "--listen-also", "203.0.113.1"}, 111, "cannot listen on 203.0.113.1");
  expect_refused({"-l", "unix:" + file}, 111, "exists and is not a socket");
  expect_refused({"-l", "unix:" + folder_.file("no/socket")}, 111, "cannot listen on");
  expect_refused({"-p", "0", "-u", "nobody-has-this-name"}, 33, "there is no user");
}

TEST_F(Check, FolderOfAnUnknownVersionIsRefused) {
  std::ofstream(folder_.file("binlog.1")) << std::string("\x08\0\0\0", 4) + std::string(100, 'x');
  expect_refused({"-p", "0", "-b", folder_.path()}, 10, "is of a version that is not known here");
}

TEST_F(Check, FolderThatTheUserCannotWriteIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  expect_refused({"-p", "0", "-b", folder_.path(), "-u", "nobody"}, 10, "Permission denied");
}

// Failed starts under a service manager, which keeps the connections, jobs and holds of the last
// server until a start succeeds.

class FailedStart : public HandOverTest {
 protected:
  // Makes a reserved job, a ready job, and a waiting client.
  void begin_clients() {
    holder_ = connect();
    waiting_ = connect();
    ASSERT_EQ(holder_->put("held"), "INSERTED 1\r\n");
    ASSERT_EQ(holder_->put("ready"), "INSERTED 2\r\n");
    ASSERT_EQ(holder_->ask("reserve"), "RESERVED 1 4\r\nheld\r\n");
    ASSERT_EQ(waiting_->ask("watch other"), "WATCHING 2\r\n");
    ASSERT_EQ(waiting_->ask("ignore default"), "WATCHING 1\r\n");
    ASSERT_TRUE(waiting_->send_line("reserve"));
    ASSERT_TRUE(eventually([&] { return stat("current-waiting") == 1; }));
  }
  void expect_all_is_there() {
    EXPECT_EQ(holder_->ask("bury 1 5"), "BURIED\r\n") << "the hold is lost";
    EXPECT_EQ(holder_->ask("peek-buried"), "FOUND 1 4\r\nheld\r\n");
    EXPECT_EQ(holder_->ask("peek-ready"), "FOUND 2 5\r\nready\r\n");
    const Client producer = connect_again();
    ASSERT_EQ(producer->ask("use other"), "USING other\r\n");
    EXPECT_EQ(producer->put("new"), "INSERTED 3\r\n");
    EXPECT_EQ(waiting_->read_answer(), "RESERVED 3 3\r\nnew\r\n");
  }
  // Starts with these flags instead of those of the first server, and expects this exit status and
  // these words in the log.
  void expect_failed_start(std::vector<std::string> flags, int status, const std::string& words) {
    const std::size_t kept = manager_.kept();
    ASSERT_GT(kept, 0U);
    std::vector<std::string> arguments = address_;
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    ServerOptions options = options_with(std::move(arguments));
    options.environment = environment_;
    EXPECT_FALSE(manager_.start(server_, options));
    EXPECT_EQ(server_.wait_exit(), (ExitStatus{.code = status})) << server_.standard_error();
    const std::string said = server_.standard_error();
    EXPECT_NE(said.find("event=cannot-start"), std::string::npos) << said;
    EXPECT_NE(said.find(words), std::string::npos) << said;
    EXPECT_NE(said.find("are kept"), std::string::npos) << said;
    EXPECT_EQ(manager_.kept(), kept);
  }

  Client holder_;
  Client waiting_;
};

TEST_F(FailedStart, MistakesKeepTheStateUntilAStartSucceeds) {
  start_first();
  begin_clients();
  stop();
  expect_failed_start({"--nonsense"}, 5, "unknown flag: --nonsense");
  expect_failed_start({"-b", folder_.file("nowhere")}, 10, "nowhere");
  expect_failed_start({"--listen-also", "203.0.113.1"}, 111, "cannot listen on 203.0.113.1");
  expect_failed_start({"-u", "nobody-has-this-name"}, 33, "there is no user");
  start_again();
  expect_all_is_there();
}

TEST_F(FailedStart, StateOfAnotherVersionIsKeptWhereNoBinlogHasTheJobs) {
  binary_ = LATER_HARICOTD;
  start_first();
  begin_clients();
  stop();
  expect_failed_start({}, 20, "the state has version 2, and this program reads 1");
  start_again();
  expect_all_is_there();
}

TEST_F(FailedStart, KilledStartKeepsTheState) {
  start_first();
  begin_clients();
  for (int i = 0; i < 3; ++i) {
    stop();
    environment_ = {};
    ASSERT_NO_FATAL_FAILURE(kill_start(options_with(address_), [] {}));
    start_again();
  }
  expect_all_is_there();
}

TEST_F(FailedStart, NewFolderTakesTheJobs) {
  start_first();
  begin_clients();
  TemporaryFolder jobs;
  arguments_ = {"-b", jobs.path()};
  restart();
  EXPECT_EQ(stat("current-jobs-reserved"), 1U);
  expect_all_is_there();
  // They are in the folder now.
  server_.kill_hard();
  manager_.drop_all();
  start_again();
  const Client client = connect_again();
  EXPECT_EQ(client->ask("peek 1"), "FOUND 1 4\r\nheld\r\n");
  EXPECT_EQ(client->ask("peek-buried"), "FOUND 1 4\r\nheld\r\n");
  EXPECT_EQ(client->ask("peek 2"), "FOUND 2 5\r\nready\r\n");
  EXPECT_EQ(client->put("next"), "INSERTED 4\r\n");
}

TEST_F(FailedStart, NewFolderTakesJobsOfEachKind) {
  start_first();
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  ASSERT_EQ(client->ask("put 7 1000 60 7\r\ndelayed"), "INSERTED 2\r\n");
  const std::string body(60'000, 'b');
  ASSERT_EQ(client->ask("put 0 0 60 60000\r\n" + body), "INSERTED 3\r\n");
  ASSERT_EQ(client->ask("put 0 0 60 3 idp:key:1000\r\nkey"), "INSERTED 4\r\n");
  ASSERT_EQ(client->ask("put 0 0 60 3 idp:gone:1000\r\nend"), "INSERTED 5\r\n");
  ASSERT_EQ(client->ask("delete 5"), "DELETED\r\n");
  ASSERT_EQ(client->ask("put 0 0 60 4 grp:group\r\nhead"), "INSERTED 6\r\n");
  ASSERT_EQ(client->ask("put 0 0 60 5 aft:group\r\nafter"), "INSERTED 7\r\n");
  for (const char* letter : {"c", "a", "b"}) {
    ASSERT_EQ(client->put(letter).substr(0, 8), "INSERTED");
  }
  for (const char* id : {"9", "8", "10"}) {
    const std::string answer = client->ask("reserve-job " + std::string(id));
    ASSERT_EQ(answer.substr(0, 8), "RESERVED") << answer;
    ASSERT_EQ(client->ask("bury " + std::string(id) + " 0"), "BURIED\r\n");
  }
  TemporaryFolder jobs;
  arguments_ = {"-b", jobs.path()};
  restart();
  server_.kill_hard();
  manager_.drop_all();
  start_again();
  const Client again = connect_again();
  EXPECT_EQ(again->ask("peek 3"), "FOUND 3 60000\r\n" + body + "\r\n");
  EXPECT_EQ(again->ask("peek-delayed").substr(0, 7), "FOUND 2");
  EXPECT_EQ(again->ask("put 0 0 60 3 idp:key:1000\r\nkey"), "INSERTED 4 READY\r\n");
  EXPECT_EQ(again->ask("put 0 0 60 3 idp:gone:1000\r\nend"), "INSERTED 5 DELETED\r\n");
  EXPECT_EQ(again->ask("peek 5"), "NOT_FOUND\r\n");
  EXPECT_EQ(again->ask("peek-buried"), "FOUND 9 1\r\na\r\n");
  EXPECT_EQ(again->ask("kick-job 9"), "KICKED\r\n");
  EXPECT_EQ(again->ask("peek-buried"), "FOUND 8 1\r\nc\r\n");
  EXPECT_EQ(again->ask("delete 6"), "DELETED\r\n");
  EXPECT_EQ(again->put("next"), "INSERTED 13\r\n");
}

// Each folder has the jobs by turns, and memory in between.
TEST_F(FailedStart, JobsAndHoldsGoFromFolderToFolderAndToMemory) {
  TemporaryFolder first;
  TemporaryFolder second;
  TemporaryFolder third;
  start_first({"-b", first.path()});
  begin_clients();
  const std::string body(60'000, 'b');
  ASSERT_EQ(holder_->ask("put 9 1000 60 60000\r\n" + body), "INSERTED 3\r\n");
  ASSERT_EQ(holder_->ask("delete 3"), "DELETED\r\n");
  for (const std::vector<std::string>& next :
       {std::vector<std::string>{"-b", second.path()}, {}, {"-b", third.path(), "-f", "0"}}) {
    arguments_ = next;
    restart();
    EXPECT_EQ(holder_->ask("touch 1"), "TOUCHED\r\n");
    EXPECT_EQ(stat("current-waiting"), 1U);
    const std::string said = server_.standard_error();
    EXPECT_EQ(said.find("hand-over-refused"), std::string::npos) << said;
  }
  EXPECT_EQ(stat("hand-overs"), 3U);
  EXPECT_EQ(holder_->ask("peek 2"), "FOUND 2 5\r\nready\r\n");
  EXPECT_EQ(holder_->ask("delete 1"), "DELETED\r\n");
  server_.kill_hard();
  manager_.drop_all();
  start_again();
  const Client client = connect_again();
  EXPECT_EQ(client->ask("peek 1"), "NOT_FOUND\r\n");
  EXPECT_EQ(client->ask("peek 2"), "FOUND 2 5\r\nready\r\n");
}

TEST_F(FailedStart, FolderWithOtherJobsIsRefusedAndAllIsKept) {
  TemporaryFolder jobs;
  ASSERT_TRUE(start({"-b", jobs.path()}));
  ASSERT_EQ(connect()->put("there"), "INSERTED 1\r\n");
  ASSERT_EQ(server_.stop(), kGood);
  start_first();
  begin_clients();
  stop();
  expect_failed_start({"-b", jobs.path()}, 20, "cannot take the 2 jobs of the predecessor");
  start_again();
  expect_all_is_there();
}

}  // namespace
}  // namespace haricot::test
