// A server that lacks a resource: descriptors, memory, a reader of its log. It serves the clients
// that it can, and recovers completely when the resource is back.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "support/daemon_fixture.hpp"
#include "support/process_facts.hpp"

namespace haricot::test {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

class Starved : public DaemonTest {
 protected:
  // Starts the server over a binlog with small files, after a shell command that limits it.
  [[nodiscard]] bool start_limited(const std::string& limit, std::vector<std::string> flags = {}) {
    ServerOptions options;
    options.launcher = {"/bin/sh", "-c", limit + "; exec \"$0\" \"$@\""};
    options.arguments = std::move(flags);
    return start_with(options);
  }
  std::vector<std::string> with_binlog(std::vector<std::string> flags = {}) {
    const std::string path = folder_.file("binlog");
    std::filesystem::create_directory(path);
    flags.insert(flags.end(), {"-b", path});
    return flags;
  }

  // Puts and deletes this many jobs of 1000 bytes, and checks every answer.
  static void turn_over(WireClient& client, int jobs) {
    constexpr int kBatch = 50;
    const std::string puts =
        repeated("put 0 0 60 1000\r\n" + std::string(1000, 'x') + "\r\n", kBatch);
    for (int done = 0; done < jobs; done += kBatch) {
      ASSERT_TRUE(client.send(puts));
      std::string deletes;
      for (int i = 0; i < kBatch; ++i) {
        const auto answer = client.read_line();
        ASSERT_TRUE(answer) << client.failure();
        ASSERT_TRUE(answer->starts_with("INSERTED ")) << *answer;
        deletes += "delete " + answer->substr(9) + "\r\n";
      }
      ASSERT_TRUE(client.send(deletes));
      for (int i = 0; i < kBatch; ++i) ASSERT_EQ(client.read_line(), "DELETED");
    }
  }
};

// A job of the size of a thousand files, and enough jobs that their deletions need hundreds of
// files.
TEST_F(Starved, LargeJobsAndManyJobsTakeNoDescriptors) {
  if (kIsSanitized) GTEST_SKIP() << "the sanitizer itself needs free descriptors for its checks";
  const auto flags = with_binlog({"-s", "65536", "-z", "80000000"});
  ASSERT_TRUE(start_limited("ulimit -n 64", flags)) << server_.failure();
  const auto expect_room = [this] {
    const auto open_files = [this] {
      const std::filesystem::path path = "/proc/" + std::to_string(server_.pid()) + "/fd";
      const std::filesystem::directory_iterator all(path);
      return std::distance(begin(all), end(all));
    };
    EXPECT_TRUE(eventually([&] { return open_files() < 48; })) << open_files();
    const Client another = connect();
    EXPECT_EQ(another->put("small").substr(0, 9), "INSERTED ");
  };
  {
    const Client client = connect();
    ASSERT_EQ(client->put(std::string(65'000'000, 'x')).substr(0, 9), "INSERTED ");
    ASSERT_NO_FATAL_FAILURE(expect_room());
    for (int i = 0; i < 40; ++i) {
      std::string puts;
      for (int k = 0; k < 1000; ++k) puts += "put 0 0 10 0\r\n\r\n";
      ASSERT_TRUE(client->send(puts));
      for (int k = 0; k < 1000; ++k)
        ASSERT_EQ(client->read_line().value_or("nothing").substr(0, 9), "INSERTED ");
    }
    ASSERT_NO_FATAL_FAILURE(expect_room());
  }
  server_.stop();
  ASSERT_TRUE(start_limited("ulimit -n 64", flags)) << server_.failure();
  expect_room();
  EXPECT_EQ(server_.standard_error().find("Too many open files"), std::string::npos);
}

TEST_F(Starved, WithoutAFreeDescriptorTheBinlogStillChangesFiles) {
  if (kIsSanitized) GTEST_SKIP() << "the sanitizer itself needs free descriptors for its checks";
  constexpr std::size_t kClients = 60;
  ASSERT_TRUE(start_limited("ulimit -n 32", with_binlog({"-s", "65536"}))) << server_.failure();
  const Client first = connect();
  ASSERT_EQ(first->ask("list-tube-used"), "USING default\r\n");
  const std::vector<Client> clients = connect(kClients);
  for (const Client& client : clients) client->send_line("list-tube-used");
  ASSERT_EQ(clients[0]->read_answer(), "USING default\r\n");
  ASSERT_TRUE(eventually([this] {
    return server_.standard_error().find("event=accept-paused ") != std::string::npos;
  }));

  // Without logging, and without using CPU time.
  const std::size_t said = server_.standard_error().size();
  const auto begun = Clock::now();
  const double share = cpu_share_over(server_.pid(), milliseconds(2000));
  const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  const double bytes_a_second =
      static_cast<double>(server_.standard_error().size() - said) / seconds;
  std::printf("CPU share %.4f, log %.0f bytes a second\n", share, bytes_a_second);
  EXPECT_LT(share, 0.05);
  EXPECT_LT(bytes_a_second, 1000);

  // The first clients are served, and the records of their jobs go through some 60 files.
  const auto files_begun = [&] {
    return report_value(first->ask("stats"), "binlog-current-index");
  };
  const std::string before = files_begun();
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(first->put(std::string(500, 'x')).substr(0, 9), "INSERTED ");
    ASSERT_NO_FATAL_FAILURE(turn_over(*first, 1000));
  }
  EXPECT_GT(std::stoul(files_begun()), std::stoul(before) + 40);
  EXPECT_EQ(server_.standard_error().find("event=binlog-file-failed"), std::string::npos)
      << server_.standard_error();
  EXPECT_EQ(report_value(first->ask("stats"), "binlog-errors"), "0");
  std::size_t served = 1;
  while (served < kClients && clients[served]->has_input_within(milliseconds(0))) ++served;
  EXPECT_GE(served, 8U);

  // Each client that leaves makes room for one that waits.
  for (std::size_t i = 0; i < served; ++i) clients[i]->close();
  for (std::size_t i = served; i < kClients; ++i) {
    EXPECT_EQ(clients[i]->read_answer(), "USING default\r\n") << i;
    clients[i]->close();
  }
  EXPECT_EQ(server_stat("current-jobs-ready"), 4U);
}

// Puts bodies until memory is exhausted. Only a command fails then, and it has an answer.
class StarvedOfMemory : public Starved, public ::testing::WithParamInterface<std::size_t> {
 protected:
  static std::string put_line(std::size_t bytes) {
    return "put 0 0 60 " + std::to_string(bytes) + "\r\n";
  }

  // Puts jobs of that size until one is refused. Returns how many were accepted.
  std::size_t fill(WireClient& client, std::size_t bytes) {
    constexpr std::size_t kMost = 400 * kMebibyte;
    const std::string body = varied_bytes(bytes, 3);
    std::size_t taken = 0;
    while (taken * bytes < kMost) {
      const std::string answer = client.put(body);
      if (!answer.starts_with("INSERTED ")) {
        EXPECT_EQ(answer, "OUT_OF_MEMORY\r\n");
        return taken;
      }
      ++taken;
    }
    ADD_FAILURE() << "it is never refused";
    return taken;
  }

  void fill_and_recover(const std::vector<std::string>& flags) {
    if (kIsSanitized) GTEST_SKIP() << "a sanitizer takes terabytes of address space";
    const std::size_t bytes = GetParam();
    ASSERT_TRUE(start_limited("ulimit -v 70000", flags)) << server_.failure();
    const Client client = connect();
    const Client other = connect();
    ASSERT_EQ(other->ask("use other"), "USING other\r\n");
    const std::size_t taken = fill(*client, bytes);
    ASSERT_GT(taken, 0U);

    // Other clients are not affected, and a new client either gets in or waits.
    EXPECT_EQ(other->ask("list-tube-used"), "USING other\r\n");
    EXPECT_EQ(other->ask("peek-ready"), "NOT_FOUND\r\n");
    for (int i = 0; i < 100; ++i) {
      const std::string answer = other->ask("use tube-" + std::to_string(i));
      EXPECT_TRUE(answer.starts_with("USING ") || answer == "OUT_OF_MEMORY\r\n") << answer;
    }
    // Jobs can be worked on during any shortage.
    const std::string body = varied_bytes(bytes, 3);
    for (std::size_t i = 0; i < taken; ++i) {
      const auto answer = client->ask("reserve-with-timeout 0");
      const std::size_t blank = answer.find(' ', 9);
      ASSERT_TRUE(answer.starts_with("RESERVED ")) << escaped(answer.substr(0, 60)) << " " << i;
      const std::string id = answer.substr(9, blank - 9);
      ASSERT_TRUE(answer ==
                  "RESERVED " + id + " " + std::to_string(bytes) + "\r\n" + body + "\r\n");
      ASSERT_EQ(client->ask("delete " + id), "DELETED\r\n");
    }
    // Afterwards there is room for almost as many again; other clients have taken the rest.
    EXPECT_TRUE(eventually([&] { return client->put(body).starts_with("INSERTED "); }));
    const std::size_t again = fill(*client, bytes);
    std::printf("%zu jobs of %zu bytes, and then %zu\n", taken, bytes, again);
    EXPECT_GE(again + 1, taken - taken / 4);
    EXPECT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
    EXPECT_EQ(server_.stop(), (ExitStatus{.code = 0})) << server_.standard_error();
  }
};

INSTANTIATE_TEST_SUITE_P(OfEachSize, StarvedOfMemory, ::testing::Values(2'000, 60'000, 8'000'000),
                         [](const auto& instance) {
                           return std::to_string(instance.param) + "Bytes";
                         });

TEST_P(StarvedOfMemory, ItRefusesPutsAndRecovers) {
  fill_and_recover({"-z", "10000000"});
}

TEST_P(StarvedOfMemory, ItRefusesPutsAndRecoversWithABinlog) {
  fill_and_recover(with_binlog({"-z", "10000000"}));
}

// Many connections use memory, too.
TEST_F(Starved, OfMemoryForConnectionsItKeepsThoseItHas) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer takes terabytes of address space";
  constexpr std::size_t kClients = 300;
  ASSERT_TRUE(start_limited("ulimit -v 100000", {"-z", "10000000"})) << server_.failure();
  const std::vector<Client> clients = connect(kClients);
  const std::string body(10'000'000, 'x');
  for (const Client& client : clients) {
    client->send_line("put 0 0 60 10000000");
    client->send_without_reading(std::string_view(body).substr(0, 400'000), milliseconds(5));
  }
  // Clients that leave make room, in whatever state they are.
  for (std::size_t i = 1; i < kClients; ++i) clients[i]->reset();
  ASSERT_TRUE(eventually([this] { return server_stat("current-connections") <= 2; }));
  EXPECT_EQ(connect()->put("job").substr(0, 9), "INSERTED ");
  EXPECT_EQ(server_.stop(), (ExitStatus{.code = 0})) << server_.standard_error();
}

TEST_F(Starved, OfStandardStreamsItPutsNoFileInTheirPlace) {
  for (const char* closed : {"0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"}) {
    SCOPED_TRACE(closed);
    ServerOptions options;
    options.launcher = {"/bin/sh", "-c", std::string("exec \"$0\" \"$@\" ") + closed};
    options.arguments = with_binlog({"-VV", "-s", "65536"});
    ASSERT_TRUE(start_with(options)) << server_.failure();
    const Client client = connect();
    ASSERT_NO_FATAL_FAILURE(turn_over(*client, 300));
    const auto descriptors = open_descriptors(server_.pid());
    for (int number = 0; number <= 2; ++number) {
      ASSERT_TRUE(descriptors.contains(number)) << number;
      EXPECT_EQ(descriptors.at(number).find("binlog"), std::string::npos) << number;
      EXPECT_EQ(descriptors.at(number).find("socket"), std::string::npos) << number;
    }
    EXPECT_EQ(server_.stop(), (ExitStatus{.code = 0}));
    // No line of the log is in a file of the binlog.
    for (const auto& entry : std::filesystem::directory_iterator(folder_.file("binlog"))) {
      EXPECT_EQ(read_file(entry.path().string()).find("level="), std::string::npos) << entry.path();
    }
  }
}

// With all log events, and a binlog, to a pipe that was full from the start.
TEST_F(Starved, OfAReaderOfItsLogItServesAtFullSpeed) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const std::string filling(65536, 'x');
  while (::write(ends[1], filling.data(), filling.size()) > 0) {
  }
  ASSERT_EQ(::fcntl(ends[1], F_SETFL, 0), 0);  // As servers get it: writing would block.
  ServerOptions options;
  options.arguments = with_binlog({"-VV", "-s", "65536"});
  options.error_descriptor = ends[1];
  ASSERT_TRUE(start_with(options)) << server_.failure();
  const Client client = connect();
  ASSERT_NO_FATAL_FAILURE(turn_over(*client, 5000));
  EXPECT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
  EXPECT_LT(resident_bytes(server_.pid()), (kIsSanitized ? 300 : 30) * kMebibyte);
  EXPECT_EQ(server_.stop(), (ExitStatus{.code = 0}));
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace haricot::test
