// Number of system calls per command, counted by strace. Their time is a matter for benchmarks.

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <string>

#include "support/daemon_fixture.hpp"

namespace haricot::test {
namespace {

class DaemonSystemCalls : public DaemonTest {
 protected:
  // Begins to count the server's system calls.
  void begin() {
    const std::string server = std::to_string(server_.pid());
    tracer_ = ::fork();
    ASSERT_GE(tracer_, 0);
    if (tracer_ == 0) {
      ::execlp("strace", "strace", "-f", "-c", "-o", counts_.c_str(), "-p", server.c_str(),
               static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ASSERT_TRUE(eventually([&] {
      std::ifstream status("/proc/" + server + "/status");
      for (std::string line; std::getline(status, line);) {
        if (line.starts_with("TracerPid:")) return line.find_first_of("123456789") != line.npos;
      }
      return false;
    })) << "strace could not attach to the server";
  }

  // Ends counting, and returns the number.
  double end() {
    ::kill(tracer_, SIGINT);
    ::waitpid(tracer_, nullptr, 0);
    std::ifstream counts(counts_);
    std::string all;
    for (std::string line; std::getline(counts, line);) {
      all += line + "\n";
      if (!line.ends_with(" total")) continue;
      // % time, seconds, usecs/call, calls
      std::istringstream words(line);
      std::string percent, seconds, each;
      double calls = 0;
      words >> percent >> seconds >> each >> calls;
      return calls;
    }
    ADD_FAILURE() << "strace counted nothing:\n" << all;
    return 0;
  }

 private:
  pid_t tracer_ = -1;
  std::string counts_ = folder_.path() + "/counts";
};

TEST_F(DaemonSystemCalls, ACommandAtATimeTakesOneReadOneSendAndAShareOfAWait) {
  constexpr int kClients = 16;
  constexpr int kRounds = 200;
  ASSERT_TRUE(start()) << server_.failure();
  std::vector<Client> clients = connect(kClients);
  for (const Client& client : clients) client->send_line("list-tube-used");
  for (const Client& client : clients) ASSERT_EQ(client->read_answer(), "USING default\r\n");
  ASSERT_NO_FATAL_FAILURE(begin());
  for (int round = 0; round < kRounds; ++round) {
    for (const Client& client : clients) client->send_line("list-tube-used");
    for (const Client& client : clients) ASSERT_EQ(client->read_answer(), "USING default\r\n");
  }
  const double each = end() / (kClients * kRounds);
  RecordProperty("calls_per_command", std::to_string(each));
  EXPECT_GE(each, 1.5);
  EXPECT_LE(each, 3.1);  // Even if no two clients are ever ready together.
}

TEST_F(DaemonSystemCalls, ABatchSharesThem) {
  constexpr int kBatch = 64;
  constexpr int kRounds = 100;
  ASSERT_TRUE(start()) << server_.failure();
  const Client client = connect();
  client->send_line("list-tube-used");
  ASSERT_EQ(client->read_answer(), "USING default\r\n");
  ASSERT_NO_FATAL_FAILURE(begin());
  for (int round = 0; round < kRounds; ++round) {
    client->send(repeated("put 0 0 60 4\r\nbody\r\n", kBatch));
    for (int i = 0; i < kBatch; ++i) ASSERT_TRUE(client->read_answer());
  }
  const double each = end() / (kBatch * kRounds);
  RecordProperty("calls_per_command", std::to_string(each));
  EXPECT_LE(each, 0.1);
}

}  // namespace
}  // namespace haricot::test
