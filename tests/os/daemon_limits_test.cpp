// Limits that an operator can set, from outside.

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "support/daemon_fixture.hpp"
#include "support/process_facts.hpp"

namespace haricot::test {
namespace {

using std::chrono::milliseconds;

class DaemonLimits : public DaemonTest {
 protected:
  std::size_t lines_with(const std::string& words) const {
    const std::string said = server_.standard_error();
    std::size_t count = 0;
    for (std::size_t at = said.find(words); at != std::string::npos;
         at = said.find(words, at + 1)) {
      ++count;
    }
    return count;
  }
};

TEST_F(DaemonLimits, ConnectionsBeyondTheLimitAreClosedAndRarelyLogged) {
  constexpr std::size_t kBeyond = 500;
  ASSERT_TRUE(start({"--connections-max", "20"})) << server_.failure();
  std::vector<Client> clients = connect(20);
  for (const Client& client : clients) ASSERT_EQ(client->ask("use t"), "USING t\r\n");
  const auto started = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < kBeyond; ++i) EXPECT_TRUE(connect()->at_eof());
  const auto seconds =
      std::chrono::ceil<std::chrono::seconds>(std::chrono::steady_clock::now() - started).count();

  EXPECT_GE(lines_with("event=connections-refused "), 1U);
  EXPECT_LE(lines_with("event=connections-refused "), static_cast<std::size_t>(seconds) + 1);
  const std::string report = clients[0]->ask("stats");
  EXPECT_EQ(report_value(report, "connections-max"), "20");
  EXPECT_EQ(report_value(report, "connections-refused"), std::to_string(kBeyond));
  EXPECT_EQ(report_value(report, "current-connections"), "20");
  for (const Client& client : clients) EXPECT_EQ(client->ask("use u"), "USING u\r\n");

  // A client that leaves makes room.
  clients.pop_back();
  ASSERT_TRUE(eventually(
      [&] { return report_value(clients[0]->ask("stats"), "current-connections") == "19"; }));
  EXPECT_EQ(connect()->ask("use t"), "USING t\r\n");
}

TEST_F(DaemonLimits, IdleConnectionsAreClosedAndOthersStay) {
  ASSERT_TRUE(start({"--idle-timeout=1", "-V"})) << server_.failure();
  const Client silent = connect();
  const Client half = connect();
  half->send("put 0 0 60 10\r\nhalf");
  const Client waiting = connect();
  waiting->send_line("watch none\r\nignore default\r\nreserve");
  ASSERT_EQ(waiting->read_line(), "WATCHING 2");
  ASSERT_EQ(waiting->read_line(), "WATCHING 1");
  const Client holding = connect();
  ASSERT_EQ(holding->ask("put 0 0 600 1\r\nx"), "INSERTED 2\r\n");
  ASSERT_EQ(holding->ask("reserve"), "RESERVED 2 1\r\nx\r\n");
  const Client reads_nothing = connect_narrow();
  reads_nothing->send_line("put 0 0 600 60000\r\n" + std::string(60'000, 'x'));
  ASSERT_EQ(reads_nothing->read_answer(), "INSERTED 3\r\n");
  reads_nothing->send_without_reading(repeated("peek 3\r\n", 1000), milliseconds(100));

  EXPECT_TRUE(silent->at_eof());
  EXPECT_TRUE(half->at_eof());
  // Each query uses another connection, which is not idle itself.
  EXPECT_TRUE(eventually([this] {
    const std::string report = connect()->ask("stats");
    return report_value(report, "idle-closed") == "3" &&
           report_value(report, "current-connections") == "3";
  })) << connect()->ask("stats");
  EXPECT_TRUE(waiting->stays_silent_for(milliseconds(2500)));
  EXPECT_EQ(holding->ask("delete 2"), "DELETED\r\n");
  EXPECT_EQ(lines_with(" reason=idle\n"), 3U) << server_.standard_error();
}

TEST_F(DaemonLimits, AServerOfIdleAndSparedConnectionsSleeps) {
  ASSERT_TRUE(start({"--idle-timeout=1"})) << server_.failure();
  const std::vector<Client> clients = connect(500);
  for (const Client& client : clients) client->send_line("reserve");
  ASSERT_TRUE(eventually([&] { return server_stat("current-waiting") == clients.size(); }));
  EXPECT_LT(cpu_share_over(server_.pid(), milliseconds(2000)), 0.1);
}

TEST_F(DaemonLimits, PutsStopWhereTheMemoryForJobsEnds) {
  ASSERT_TRUE(start({"--memory-max=1m", "-z", "300000"})) << server_.failure();
  const Client client = connect();
  const std::string body = varied_bytes(200'000, 1);
  for (int i = 1; i <= 5; ++i) {
    ASSERT_EQ(client->put(body), "INSERTED " + std::to_string(i) + "\r\n");
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(client->put(body), "OUT_OF_MEMORY\r\n");
  EXPECT_EQ(client->ask("reserve"), "RESERVED 1 200000\r\n" + body + "\r\n");
  EXPECT_EQ(client->ask("release 1 0 0"), "RELEASED\r\n");
  EXPECT_EQ(server_stat("memory-max"), 1048576U);
  EXPECT_EQ(server_stat("memory-refused"), 20U);
  EXPECT_EQ(client->ask("delete 1"), "DELETED\r\n");
  EXPECT_TRUE(client->put(body).starts_with("INSERTED "));
}

// There may be memory for the job even if the heap of its tube cannot grow.
TEST_F(DaemonLimits, PutsAtTheMemoryLimitAreRefusedAndNotBuried) {
  constexpr std::size_t kWorkers = 100;
  constexpr int kTubesPerSend = 500;
  // A build with a sanitizer counts jobs only, not tubes.
  ASSERT_TRUE(start({kIsSanitized ? "--memory-max=1m" : "--memory-max=4m"})) << server_.failure();
  const std::vector<Client> workers = connect(kWorkers);
  for (std::size_t i = 0; i < kWorkers; ++i) {
    ASSERT_EQ(workers[i]->ask("watch waited-" + std::to_string(i)), "WATCHING 2\r\n");
    ASSERT_EQ(workers[i]->ask("ignore default"), "WATCHING 1\r\n");
    workers[i]->send_line("reserve");
  }
  ASSERT_TRUE(eventually([&] { return server_stat("current-waiting") == kWorkers; }));

  const Client producer = connect();
  std::uint64_t inserted = 0;
  std::uint64_t refused = 0;
  const auto put_into = [&](const std::vector<std::string>& tubes) {
    std::string requests;
    for (const std::string& tube : tubes) requests += "use " + tube + "\r\nput 0 0 60 1\r\nx\r\n";
    ASSERT_TRUE(producer->send(requests));
    for (std::size_t i = 0; i < tubes.size(); ++i) {
      ASSERT_TRUE(producer->read_line());  // Answer to `use`, which may be refused, too.
      const std::string answer = *producer->read_line();
      ASSERT_TRUE(answer.starts_with("INSERTED ") || answer == "OUT_OF_MEMORY") << answer;
      ++(answer == "OUT_OF_MEMORY" ? refused : inserted);
    }
  };
  for (int i = 0; i < 20'000; i += kTubesPerSend) {
    std::vector<std::string> tubes;
    for (int k = i; k < i + kTubesPerSend; ++k) tubes.push_back("tube-" + std::to_string(k));
    put_into(tubes);
  }
  EXPECT_GT(refused, 0U);
  std::vector<std::string> tubes;
  for (std::size_t i = 0; i < kWorkers; ++i) tubes.push_back("waited-" + std::to_string(i));
  const std::uint64_t inserted_before = inserted;
  put_into(tubes);
  EXPECT_EQ(server_stat("current-jobs-buried"), 0U);
  EXPECT_EQ(server_stat("current-jobs-reserved"), inserted - inserted_before);
  EXPECT_EQ(server_stat("current-waiting"), kWorkers - (inserted - inserted_before));
  EXPECT_EQ(server_stat("memory-refused"), refused);
  EXPECT_EQ(server_stat("total-jobs"), inserted);
}

TEST_F(DaemonLimits, TheBeginAndTheEndOfAMemoryShortageAreLogged) {
  ASSERT_TRUE(start({"--memory-max=1m", "-z", "300000"})) << server_.failure();
  const Client client = connect();
  const std::string body = varied_bytes(200'000, 1);
  for (int i = 1; i <= 5; ++i) ASSERT_TRUE(client->put(body).starts_with("INSERTED "));
  EXPECT_EQ(server_stat("memory-full"), 0U);
  for (int i = 0; i < 20; ++i) ASSERT_EQ(client->put(body), "OUT_OF_MEMORY\r\n");
  EXPECT_EQ(server_stat("memory-full"), 1U);
  EXPECT_TRUE(eventually([&] { return lines_with(" level=warning event=memory-full ") == 1; }));
  EXPECT_EQ(lines_with("event=memory-again "), 0U);
  ASSERT_EQ(client->ask("delete 1"), "DELETED\r\n");
  EXPECT_EQ(server_stat("memory-full"), 0U);
  EXPECT_TRUE(eventually([&] { return lines_with(" level=info event=memory-again ") == 1; }));

  // The log omits changes for a while after that.
  const auto started = std::chrono::steady_clock::now();
  for (int round = 0; round < 20; ++round) {
    const std::string answer = client->put(body);
    ASSERT_TRUE(answer.starts_with("INSERTED ")) << answer;
    ASSERT_EQ(client->put(body), "OUT_OF_MEMORY\r\n");
    ASSERT_EQ(client->ask("delete " + answer.substr(9, answer.size() - 11)), "DELETED\r\n");
  }
  if (std::chrono::steady_clock::now() - started < std::chrono::seconds(20)) {
    EXPECT_EQ(lines_with("event=memory-full "), 1U);
  }
  EXPECT_EQ(lines_with("event=memory-again "), lines_with("event=memory-full "));
}

TEST_F(DaemonLimits, JobsThatAreBroughtBackMayBeMore) {
  ASSERT_TRUE(start({"-b", folder_.path()})) << server_.failure();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(connect()->put(std::string(60'000, 'x')).starts_with("INSERTED "));
  }
  ASSERT_EQ(server_.stop(), (ExitStatus{.code = 0}));
  ASSERT_TRUE(start({"-b", folder_.path(), "--memory-max=100k"})) << server_.failure();
  const Client client = connect();
  EXPECT_EQ(client->put("x"), "OUT_OF_MEMORY\r\n");
  for (int i = 1; i <= 10; ++i) {
    ASSERT_TRUE(client->ask("reserve").starts_with("RESERVED "));
    ASSERT_EQ(client->ask("delete " + std::to_string(i)), "DELETED\r\n");
  }
  EXPECT_TRUE(client->put("x").starts_with("INSERTED "));
}

}  // namespace
}  // namespace haricot::test
