// Failed starts under a service manager, which keeps the connections, jobs and holds of the last
// server until a start succeeds.

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/hand_over_fixture.hpp"

namespace haricot::test {
namespace {

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
    ASSERT_TRUE(server_.launch(manager_.passing(options_with(address_))));
    server_.kill_hard();
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
  expect_failed_start({"-b", jobs.path()}, 20, "cannot take the 2 jobs of the previous server");
  start_again();
  expect_all_is_there();
}

}  // namespace
}  // namespace haricot::test
