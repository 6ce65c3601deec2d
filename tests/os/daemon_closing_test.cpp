// Peers that close half of their connection, or all of it, or are killed, in every state.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "support/daemon_fixture.hpp"
#include "support/process_facts.hpp"

namespace haricot::test {
namespace {

using std::chrono::milliseconds;

class DaemonHalfClose : public DaemonTest {
 protected:
  // Returns the data between the shutdown of the client's side and the end of the connection.
  static std::string answers_to_the_end(WireClient& client) {
    client.shutdown_write();
    std::string answers;
    while (const auto answer = client.read_answer()) answers += *answer;
    EXPECT_TRUE(client.at_eof()) << client.failure();
    return answers;
  }
};

TEST_F(DaemonHalfClose, AWaitingReserveIsTimedOut) {
  ASSERT_TRUE(start()) << server_.failure();
  for (const char* command : {"reserve", "reserve-with-timeout 1000"}) {
    const Client client = connect();
    client->send_line(command);
    ASSERT_TRUE(eventually([this] { return server_stat("current-waiting") == 1; }));
    EXPECT_EQ(answers_to_the_end(*client), "TIMED_OUT\r\n");
  }
}

TEST_F(DaemonHalfClose, ReserveIsTimedOutAtOnceWhenTheEndWasThereBefore) {
  ASSERT_TRUE(start()) << server_.failure();
  const Client client = connect();
  client->send("reserve\r\nreserve\r\nreserve-with-timeout 1000\r\n");
  EXPECT_EQ(answers_to_the_end(*client), "TIMED_OUT\r\nTIMED_OUT\r\nTIMED_OUT\r\n");
}

TEST_F(DaemonHalfClose, CommandsSentBeforeItAreAnswered) {
  ASSERT_TRUE(start()) << server_.failure();
  const Client client = connect();
  client->send(
      "reserve\r\nuse tube\r\nput 0 0 60 3\r\njob\r\nreserve\r\nwatch tube\r\nreserve\r\n");
  EXPECT_EQ(answers_to_the_end(*client),
            "TIMED_OUT\r\nUSING tube\r\nINSERTED 1\r\nTIMED_OUT\r\nWATCHING 2\r\n"
            "RESERVED 1 3\r\njob\r\n");
  EXPECT_TRUE(eventually([this] { return server_stat("current-jobs-ready") == 1; }));
}

// More than the server reads ahead for a waiting client.
TEST_F(DaemonHalfClose, ALongBatchBehindAWaitingReserveIsAnswered) {
  constexpr int kCommands = 3000;
  ASSERT_TRUE(start()) << server_.failure();
  const Client client = connect();
  client->send("reserve\r\n" + repeated("use tube\r\n", kCommands));
  EXPECT_TRUE(answers_to_the_end(*client) ==
              "TIMED_OUT\r\n" + repeated("USING tube\r\n", kCommands));
}

TEST_F(DaemonHalfClose, AnIncompleteCommandIsDropped) {
  ASSERT_TRUE(start()) << server_.failure();
  const std::vector<std::string> commands = {
      "stat",
      "list-tubes\r",
      std::string(500, 'x'),
      "put 0 0 60 10\r\nhalf",
      "put 0 0 60 4\r\nfull\r",
      "put 0 0 60 30000\r\n" + std::string(20000, 'x'),
      "put 0 0 60 30000\r\n" + std::string(30000, 'x') + "\r",
      "put 0 0 60 70000\r\n" + std::string(60000, 'x'),
      "put 0 0 60 70000\r\n" + std::string(70000, 'x') + "\r",
  };
  for (const std::string& command : commands) {
    SCOPED_TRACE(escaped(command.substr(0, 30)));
    const Client client = connect();
    client->send("use tube\r\n" + command);
    EXPECT_EQ(answers_to_the_end(*client), "USING tube\r\n");
  }
  EXPECT_EQ(server_stat("total-jobs"), 0U);
  EXPECT_TRUE(eventually([this] { return server_stat("current-connections") == 1; }));
}

// The connection ends after answers that did not fit into the socket at first.
TEST_F(DaemonHalfClose, AfterTheLastOfManyUnreadAnswersTheConnectionEnds) {
  constexpr int kCommands = 6000;
  ASSERT_TRUE(start()) << server_.failure();
  ASSERT_EQ(connect()->put(std::string(1000, 'x')), "INSERTED 1\r\n");
  const std::string commands = repeated("peek 1\r\n", kCommands);
  const Client client = connect_narrow();
  ASSERT_EQ(client->send_without_reading(commands, kPatience), commands.size());
  ASSERT_TRUE(client->shutdown_write());
  ASSERT_TRUE(eventually([this] { return server_stat("cmd-peek") > 60; }));
  const std::string answers =
      repeated("FOUND 1 1000\r\n" + std::string(1000, 'x') + "\r\n", kCommands);
  EXPECT_TRUE(answers_to_the_end(*client) == answers);
  EXPECT_TRUE(eventually([this] { return server_stat("current-connections") == 1; }));
}

TEST_F(DaemonHalfClose, AfterALargeUnreadBodyTheConnectionEnds) {
  constexpr std::size_t kBytes = 10'000'000;
  ASSERT_TRUE(start({"-z", std::to_string(kBytes)})) << server_.failure();
  const std::string body = varied_bytes(kBytes, 3);
  ASSERT_EQ(connect()->put(body), "INSERTED 1\r\n");
  const Client half_closing = connect_narrow();
  half_closing->send_line("peek 1");
  half_closing->shutdown_write();
  const Client quitting = connect_narrow();
  quitting->send_line("peek 1\r\nquit");
  ASSERT_TRUE(eventually([this] { return server_stat("cmd-peek") == 2; }));
  const std::string answer = "FOUND 1 " + std::to_string(kBytes) + "\r\n" + body + "\r\n";
  EXPECT_TRUE(half_closing->read_answer() == answer);
  EXPECT_TRUE(half_closing->at_eof()) << half_closing->failure();
  EXPECT_TRUE(quitting->read_answer() == answer);
  EXPECT_TRUE(quitting->at_eof()) << quitting->failure();
}

// Peers that leave --------------------------------------------------------------------------------

class DaemonClosing : public DaemonTest {};

TEST_F(DaemonClosing, QuitEndsTheConnectionBehindAllAnswers) {
  ASSERT_TRUE(start()) << server_.failure();
  const Client client = connect();
  client->send("put 0 0 60 1\r\nx\r\nreserve\r\nquit\r\nuse never\r\n");
  EXPECT_EQ(client->read_answer(), "INSERTED 1\r\n");
  EXPECT_EQ(client->read_answer(), "RESERVED 1 1\r\nx\r\n");
  EXPECT_TRUE(client->at_eof()) << client->failure();
  EXPECT_TRUE(eventually([this] { return server_stat("current-jobs-ready") == 1; }));
}

TEST_F(DaemonClosing, AResetGivesTheJobsBackAtOnce) {
  ASSERT_TRUE(start()) << server_.failure();
  const Client worker = connect();
  const Client holder = connect();
  ASSERT_EQ(holder->put("one"), "INSERTED 1\r\n");
  ASSERT_EQ(holder->put("two"), "INSERTED 2\r\n");
  ASSERT_TRUE(holder->ask("reserve").starts_with("RESERVED 1 "));
  ASSERT_TRUE(holder->ask("reserve").starts_with("RESERVED 2 "));
  const Client second = connect();
  worker->send_line("reserve");
  second->send_line("reserve");
  ASSERT_TRUE(eventually([this] { return server_stat("current-waiting") == 2; }));
  holder->reset();
  std::vector<std::string> answers = {worker->read_answer().value_or(worker->failure()),
                                      second->read_answer().value_or(second->failure())};
  std::sort(answers.begin(), answers.end());
  EXPECT_EQ(answers[0], "RESERVED 1 3\r\none\r\n");
  EXPECT_EQ(answers[1], "RESERVED 2 3\r\ntwo\r\n");
}

TEST_F(DaemonClosing, AJobIsNotGivenToAWorkerThatHasGone) {
  ASSERT_TRUE(start()) << server_.failure();
  const Client gone = connect();
  gone->send_line("reserve");
  ASSERT_TRUE(eventually([this] { return server_stat("current-waiting") == 1; }));
  const Client next = connect();
  next->send_line("reserve");
  ASSERT_TRUE(eventually([this] { return server_stat("current-waiting") == 2; }));
  gone->reset();
  ASSERT_TRUE(eventually([this] { return server_stat("current-waiting") == 1; }));
  ASSERT_EQ(connect()->put("job"), "INSERTED 1\r\n");
  EXPECT_EQ(next->read_answer(), "RESERVED 1 3\r\njob\r\n");
}

// A client in a process of its own, so that it can be killed like in a crash.
struct ClientState {
  const char* name;
  std::string sent;
  int answers;  // Answers that it reads before it is in the state.
};

std::vector<ClientState> client_states() {
  return {
      {"Idle", "", 0},
      {"Waiting", "watch none\r\nignore default\r\nreserve\r\n", 2},
      {"Holding", "reserve\r\n", 1},
      {"HoldingAndWaiting", "reserve\r\nwatch none\r\nignore default\r\nreserve\r\n", 3},
      {"InALine", "reser", 0},
      {"InALongLine", std::string(1000, 'x'), 0},
      {"InABody", "put 0 0 60 100\r\nhalf of it", 0},
      {"InALargeBody", "put 0 0 60 60000\r\n" + std::string(50000, 'x'), 0},
      {"InABodyThatIsThrownAway", "put 0 0 60 4294967295\r\n" + std::string(50000, 'x'), 0},
      {"WithAnswersUnread", "reserve\r\n" + repeated("stats\r\n", 2000), 1},
      {"WithALongBatchBehindAWait",
       "watch none\r\nignore default\r\nreserve\r\n" + repeated("use tube\r\n", 3000), 2},
  };
}

class DaemonKilledClient : public DaemonTest, public ::testing::WithParamInterface<ClientState> {
 protected:
  // Returns when the client is in its state.
  pid_t start_client(const ClientState& state) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      WireClient client;
      bool good = client.connect(server_);
      client.send_without_reading(state.sent, milliseconds(200));
      for (int i = 0; i < state.answers; ++i) good = client.read_answer().has_value() && good;
      if (good) good = ::write(ends[1], "x", 1) == 1;
      for (;;) ::pause();
    }
    ::close(ends[1]);
    char byte;
    EXPECT_EQ(::read(ends[0], &byte, 1), 1);
    ::close(ends[0]);
    return child;
  }
};

INSTANTIATE_TEST_SUITE_P(Each, DaemonKilledClient, ::testing::ValuesIn(client_states()),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST_P(DaemonKilledClient, LeavesNothingBehind) {
  ASSERT_TRUE(start()) << server_.failure();
  ASSERT_EQ(connect()->put("job"), "INSERTED 1\r\n");
  const pid_t client = start_client(GetParam());
  ASSERT_EQ(server_stat("current-connections"), 2U);
  ASSERT_EQ(::kill(client, SIGKILL), 0);
  ASSERT_EQ(::waitpid(client, nullptr, 0), client);
  EXPECT_TRUE(eventually([this] { return server_stat("current-connections") == 1; }));
  EXPECT_EQ(server_stat("current-waiting"), 0U);
  EXPECT_EQ(connect()->ask("reserve-with-timeout 0"), "RESERVED 1 3\r\njob\r\n");
}

}  // namespace
}  // namespace haricot::test
