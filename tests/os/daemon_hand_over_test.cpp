// A restart under a service manager that keeps descriptors: connections, reservations, waits,
// incomplete bodies and unread answers continue in the next process.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/hand_over_fixture.hpp"

namespace haricot::test {
namespace {

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

// The manager still has the sockets when the next server closes its own.
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

}  // namespace
}  // namespace haricot::test
