// Descriptors: the standard ones, running out of them, leaking none.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "support/daemon_fixture.hpp"
#include "support/process_facts.hpp"

namespace haricot::test {
namespace {

using std::chrono::milliseconds;

class DaemonDescriptors : public DaemonTest {
 protected:
  static ServerOptions through_shell(const std::string& commands) {
    ServerOptions options;
    options.launcher = {"/bin/sh", "-c", commands};
    return options;
  }

  // A line for each open descriptor.
  std::string descriptors_of_the_server() const {
    std::string lines;
    for (const auto& [number, what] : open_descriptors(server_.pid())) {
      lines += std::to_string(number) + " " + what + "\n";
    }
    return lines;
  }

  std::size_t complaints() const {
    const std::string said = server_.standard_error();
    const std::string words = "event=accept-paused ";
    std::size_t count = 0;
    for (std::size_t at = said.find(words); at != std::string::npos;
         at = said.find(words, at + 1)) {
      ++count;
    }
    return count;
  }
};

// A client's socket in the place of stderr would receive the log.
TEST_F(DaemonDescriptors, NoSocketEverTakesThePlaceOfAStandardStream) {
  for (const char* closed : {"0<&-", "1>&-", "2>&-", "0<&- 1>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-"}) {
    SCOPED_TRACE(closed);
    ServerOptions options = through_shell(std::string("exec \"$0\" \"$@\" ") + closed);
    options.arguments = {"-VV"};
    ASSERT_TRUE(start_with(options)) << server_.failure();
    const std::vector<Client> clients = connect(10);
    for (const Client& client : clients) {
      EXPECT_EQ(client->ask("list-tube-used"), "USING default\r\n");
    }
    const auto descriptors = open_descriptors(server_.pid());
    for (int number = 0; number <= 2; ++number) {
      ASSERT_TRUE(descriptors.contains(number)) << number;
      EXPECT_FALSE(descriptors.at(number).starts_with("socket:")) << number;
      EXPECT_EQ(descriptors.at(number).find("anon_inode"), std::string::npos) << number;
    }
    for (const Client& client : clients) EXPECT_TRUE(client->stays_silent_for(milliseconds(0)));
    EXPECT_EQ(server_.stop(), (ExitStatus{.code = 0}));
  }
}

TEST_F(DaemonDescriptors, TheSoftLimitIsRaisedToTheHardOne) {
  ASSERT_TRUE(start_with(through_shell("ulimit -S -n 40; exec \"$0\" \"$@\"")))
      << server_.failure();
  const auto [soft, hard] = descriptor_limits(server_.pid());
  EXPECT_EQ(soft, hard);
  EXPECT_GT(hard, 40U);
}

TEST_F(DaemonDescriptors, WithoutAFreeOneItServesItsClientsAndWaitsQuietly) {
  if (kIsSanitized) GTEST_SKIP() << "the sanitizer itself needs free descriptors for its checks";
  constexpr std::size_t kClients = 60;
  ASSERT_TRUE(start_with(through_shell("ulimit -n 32; exec \"$0\" \"$@\""))) << server_.failure();
  std::vector<Client> clients = connect(kClients);
  for (const Client& client : clients) client->send_line("list-tube-used");
  ASSERT_EQ(clients[0]->read_answer(), "USING default\r\n") << server_.standard_error();
  ASSERT_TRUE(eventually([this] { return complaints() > 0; }));

  const auto started = std::chrono::steady_clock::now();
  const double share = cpu_share_over(server_.pid(), milliseconds(1500));
  std::printf("CPU share without a free descriptor: %.3f\n", share);
  EXPECT_LT(share, 0.3);
  std::size_t served = 1;  // The first one was read above.
  while (served < kClients && clients[served]->has_input_within(milliseconds(0))) ++served;
  EXPECT_GE(served, 20U);
  EXPECT_LT(served, 32U);
  for (std::size_t i = 1; i < served; ++i) {
    EXPECT_EQ(clients[i]->read_answer(), "USING default\r\n");
    EXPECT_EQ(clients[i]->ask("use here"), "USING here\r\n");
  }
  const auto seconds =
      std::chrono::ceil<std::chrono::seconds>(std::chrono::steady_clock::now() - started);
  EXPECT_LE(complaints(), static_cast<std::size_t>(seconds.count()) + 2);

  // Each client that leaves makes room for one that waits; then all leave.
  clients[3]->close();
  EXPECT_EQ(clients[served]->read_answer(), "USING default\r\n");
  for (std::size_t i = 0; i < served; ++i) clients[i]->close();
  for (std::size_t i = served + 1; i < kClients; ++i) {
    EXPECT_EQ(clients[i]->read_answer(), "USING default\r\n") << i;
    clients[i]->close();
  }
  EXPECT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
}

TEST_F(DaemonDescriptors, ThousandsOfShortConnectionsLeaveNothingBehind) {
  constexpr int kConnections = 5000;
  ASSERT_TRUE(start()) << server_.failure();
  // The server listens before it opens the rest, and has opened everything when it answers.
  const Client stays = connect();
  ASSERT_EQ(stays->ask("list-tube-used"), "USING default\r\n");
  const std::string descriptors = descriptors_of_the_server();
  const auto come_and_go = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const Client client = connect();
      switch (i % 4) {
        case 0:
          EXPECT_EQ(client->ask("list-tube-used"), "USING default\r\n");
          break;
        case 1:
          client->send_line("watch a-tube-of-its-own-" + std::to_string(i));
          client->reset();
          break;
        case 2:
          client->send_line("reserve");
          break;
        default:
          client->send("put 0 0 60 9000\r\nnot all of it");
          break;
      }
    }
    EXPECT_TRUE(
        eventually([&] { return report_number(stays->ask("stats"), "current-connections") == 1; }));
  };
  come_and_go(kConnections / 5);
  const std::size_t memory = resident_bytes(server_.pid());
  come_and_go(kConnections);
  EXPECT_EQ(descriptors_of_the_server(), descriptors);
  EXPECT_EQ(report_number(stays->ask("stats"), "current-tubes"), 1U);
  const std::size_t after = resident_bytes(server_.pid());
  std::printf("memory after %d connections: %zu KiB, after %d more: %zu KiB\n", kConnections / 5,
              memory / 1024, kConnections, after / 1024);
  if (!kIsSanitized) {
    EXPECT_LT(after, memory + kMebibyte);
  }
}

}  // namespace
}  // namespace haricot::test
