// Memory that clients can make the server hold is bounded, whatever they send and do not read.

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "support/daemon_fixture.hpp"
#include "support/process_facts.hpp"

namespace haricot::test {
namespace {

using std::chrono::milliseconds;

class DaemonMemory : public DaemonTest {
 protected:
  // Prints the measurement, and checks it if it is meaningful.
  static void expect_growth_below(const char* what, std::size_t bytes, std::size_t limit) {
    std::printf("memory: %s: %.1f MiB more\n", what,
                static_cast<double>(bytes) / static_cast<double>(kMebibyte));
    if (!kIsSanitized) {
      EXPECT_LT(bytes, limit) << what;
    }
  }

  // Returns requests whose answers identify the request.
  static std::string numbered_requests(int count) {
    std::string requests;
    for (int i = 0; i < count; ++i) requests += "use tube-" + std::to_string(i) + "\r\n";
    return requests;
  }
  static void expect_numbered_answers(WireClient& client, int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_EQ(client.read_line(), "USING tube-" + std::to_string(i));
    }
    EXPECT_TRUE(client.stays_silent_for(milliseconds(0)));
  }

  // Sends the same text over all connections until the server accepts no more from any. Returns the
  // bytes that each has sent.
  static std::vector<std::size_t> send_until_stuck(const std::vector<Client>& clients,
                                                   std::string_view text) {
    constexpr int kIdleRounds = 20;
    std::vector<std::size_t> sent(clients.size(), 0);
    int idle_rounds = 0;
    while (idle_rounds < kIdleRounds) {
      std::size_t progress = 0;
      for (std::size_t i = 0; i < clients.size(); ++i) {
        const std::size_t bytes =
            clients[i]->send_without_reading(text.substr(sent[i]), milliseconds(0));
        sent[i] += bytes;
        progress += bytes;
      }
      if (progress > 0) {
        idle_rounds = 0;
      } else {
        ++idle_rounds;
        ::poll(nullptr, 0, 5);
      }
    }
    return sent;
  }
};

TEST_F(DaemonMemory, RequestsOfClientsThatReadNothingWait) {
  constexpr int kRequests = 200'000;
  constexpr std::size_t kClients = 100;
  // The kernel buffers little for a unix socket, so the server's own part soon dominates.
  ServerOptions options;
  options.listen_address = "unix:" + folder_.file("socket");
  ASSERT_TRUE(start_with(options)) << server_.failure();
  const std::string requests = numbered_requests(kRequests);
  std::vector<Client> clients = connect(kClients);
  const Client other = connect();
  ASSERT_EQ(other->ask("list-tube-used"), "USING default\r\n");
  const MemoryPeak peak(server_.pid());
  const std::vector<std::size_t> sent = send_until_stuck(clients, requests);
  for (const std::size_t bytes : sent) EXPECT_LT(bytes, requests.size() / 2);
  EXPECT_EQ(other->ask("list-tube-used"), "USING default\r\n");
  EXPECT_EQ(other->put("job"), "INSERTED 1\r\n");
  // 48 KiB of answers and up to 48 KiB of requests each, and their earlier, smaller buffers, which
  // are kept for a second.
  expect_growth_below("100 clients that do not read their answers", peak.growth(), 20 * kMebibyte);

  // One of them reads after all.
  ASSERT_TRUE(clients[0]->send(std::string_view(requests).substr(sent[0])));
  expect_numbered_answers(*clients[0], kRequests);
}

TEST_F(DaemonMemory, ALateReaderGetsEveryAnswerInOrder) {
  constexpr int kRequests = 400'000;
  ASSERT_TRUE(start()) << server_.failure();
  const std::string requests = numbered_requests(kRequests);
  std::vector<Client> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(connect_narrow());
  const std::vector<std::size_t> sent = send_until_stuck(clients, requests);
  for (std::size_t i = 0; i < clients.size(); ++i) {
    EXPECT_LT(sent[i], requests.size());
    ASSERT_TRUE(clients[i]->send(std::string_view(requests).substr(sent[i])));
    expect_numbered_answers(*clients[i], kRequests);
  }
}

TEST_F(DaemonMemory, ALargeJobThatManyPeekAtIsThereOnce) {
  constexpr std::size_t kBytes = 20'000'000;
  constexpr std::size_t kClients = 30;
  ASSERT_TRUE(start({"-z", "30000000"})) << server_.failure();
  ASSERT_EQ(connect()->put(std::string(kBytes, 'x')), "INSERTED 1\r\n");
  std::vector<Client> clients;
  for (std::size_t i = 0; i < kClients; ++i) clients.push_back(connect_narrow());
  const MemoryPeak peak(server_.pid());
  for (const Client& client : clients) client->send_line("peek 1");
  for (const Client& client : clients) ASSERT_TRUE(client->has_input_within(kAnswerDeadline));
  EXPECT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
  expect_growth_below("30 clients that peek at 20 MB and do not read", peak.growth(),
                      40 * kMebibyte);
}

TEST_F(DaemonMemory, AnAnnouncedBodyTakesNone) {
  ASSERT_TRUE(start({"-z", "1073741824"})) << server_.failure();
  const std::vector<Client> clients = connect(20);
  const Client other = connect();
  ASSERT_EQ(other->ask("list-tube-used"), "USING default\r\n");
  const MemoryPeak peak(server_.pid());
  for (std::size_t i = 0; i < clients.size(); ++i) {
    clients[i]->send_line(i % 2 == 0 ? "put 0 0 60 4294967295" : "put 0 0 60 1073741824");
    clients[i]->send(std::string(i * 100, 'x'));
  }
  ASSERT_TRUE(eventually([&] { return server_stat("cmd-put") == clients.size(); }));
  EXPECT_TRUE(other->put("job").starts_with("INSERTED "));
  expect_growth_below("20 bodies of gigabytes announced", peak.growth(), 4 * kMebibyte);
  for (const Client& client : clients) EXPECT_TRUE(client->stays_silent_for(milliseconds(0)));
}

TEST_F(DaemonMemory, ABodyThatIsTooBigIsThrownAwayAsItComes) {
  constexpr std::size_t kBytes = kIsSanitized ? 10'000'000 : 100'000'000;
  ASSERT_TRUE(start()) << server_.failure();
  const Client client = connect();
  const Client other = connect();
  ASSERT_EQ(client->ask("list-tube-used"), "USING default\r\n");
  const MemoryPeak peak(server_.pid());
  client->send_line("put 0 0 60 " + std::to_string(kBytes));
  // The discarded bytes look like commands.
  const std::string piece = repeated("delete 1\r\n", 100'000);
  for (std::size_t sent = 0; sent < kBytes; sent += piece.size()) {
    ASSERT_TRUE(client->send(piece));
    ASSERT_EQ(other->ask("list-tube-used"), "USING default\r\n");
  }
  EXPECT_TRUE(client->stays_silent_for(milliseconds(0)));
  client->send("\r\n");
  EXPECT_EQ(client->read_answer(), "JOB_TOO_BIG\r\n");
  expect_growth_below("a body of 100 MB that is too big", peak.growth(), 2 * kMebibyte);
  EXPECT_EQ(client->put("fits"), "INSERTED 1\r\n");
  EXPECT_EQ(client->ask("reserve"), "RESERVED 1 4\r\nfits\r\n");
}

TEST_F(DaemonMemory, ALineWithoutEndTakesNone) {
  ASSERT_TRUE(start()) << server_.failure();
  const Client client = connect();
  ASSERT_EQ(client->ask("list-tube-used"), "USING default\r\n");
  const MemoryPeak peak(server_.pid());
  const std::string piece(1'000'000, 'x');
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(client->send(piece));
  ASSERT_TRUE(client->send("\r\n"));
  EXPECT_EQ(client->read_answer(), "BAD_FORMAT\r\n");
  expect_growth_below("a line of 20 MB", peak.growth(), 2 * kMebibyte);
  EXPECT_EQ(client->ask("list-tube-used"), "USING default\r\n");
}

TEST_F(DaemonMemory, ADeletedLargeJobGivesItBack) {
  ASSERT_TRUE(start({"-z", "30000000"})) << server_.failure();
  const Client client = connect();
  ASSERT_EQ(client->ask("list-tube-used"), "USING default\r\n");
  const std::size_t before = resident_bytes(server_.pid());
  for (int id = 1; id <= 5; ++id) {
    const std::string number = std::to_string(id);
    ASSERT_EQ(client->put(std::string(20'000'000, 'x')), "INSERTED " + number + "\r\n");
    ASSERT_EQ(client->ask("delete " + number), "DELETED\r\n");
  }
  // It is returned over the next turns, without any input.
  const auto growth = [&] {
    const std::size_t after = resident_bytes(server_.pid());
    return after > before ? after - before : 0;
  };
  EXPECT_TRUE(kIsSanitized || eventually([&] { return growth() < 4 * kMebibyte; }));
  expect_growth_below("5 jobs of 20 MB put and deleted", growth(), 4 * kMebibyte);
}

TEST_F(DaemonMemory, AMillionDeletedJobsGiveItBack) {
  constexpr int kBatches = kIsSanitized ? 20 : 500;
  constexpr int kJobsEach = 2000;
  ASSERT_TRUE(start()) << server_.failure();
  const Client client = connect();
  const std::string puts =
      repeated("put 0 0 60 200\r\n" + std::string(200, 'x') + "\r\n", kJobsEach);
  for (int batch = 0; batch < kBatches; ++batch) {
    ASSERT_TRUE(client->send(puts));
    for (int i = 0; i < kJobsEach; ++i) ASSERT_TRUE(client->read_line());
  }
  EXPECT_EQ(server_stat("current-jobs-ready"), static_cast<std::uint64_t>(kBatches) * kJobsEach);
  for (int batch = 0; batch < kBatches; ++batch) {
    std::string deletes;
    for (int i = 1; i <= kJobsEach; ++i) {
      deletes += "delete " + std::to_string(batch * kJobsEach + i) + "\r\n";
    }
    ASSERT_TRUE(client->send(deletes));
    for (int i = 0; i < kJobsEach; ++i) ASSERT_EQ(client->read_line(), "DELETED");
  }
  // The memory freed last is kept for a second or two, for the next jobs.
  EXPECT_TRUE(kIsSanitized ||
              eventually([&] { return resident_bytes(server_.pid()) < 30 * kMebibyte; }));
  expect_growth_below("a million jobs of 200 bytes put and deleted", resident_bytes(server_.pid()),
                      30 * kMebibyte);
}

// Jobs of a server are deleted in random order. Smaller pieces that malloc keeps between the bodies
// must not retain their memory.
TEST_F(DaemonMemory, DeletedBodiesOfMiddleSizeGiveItBack) {
  constexpr int kJobs = kIsSanitized ? 100 : 2000;
  for (const bool mixed : {false, true}) {
    SCOPED_TRACE(mixed ? "1 to 150 KB" : "60 KB");
    ASSERT_TRUE(start({"-z", "200000"})) << server_.failure();
    const Client client = connect();
    ASSERT_EQ(client->ask("list-tube-used"), "USING default\r\n");
    const std::size_t before = resident_bytes(server_.pid());
    std::mt19937 random{5};
    std::vector<int> ids;
    for (int id = 1; id <= kJobs; ++id) {
      const std::size_t bytes = mixed ? 1000 + random() % 149'000 : 60'000;
      ASSERT_EQ(client->put(std::string(bytes, 'x')), "INSERTED " + std::to_string(id) + "\r\n");
      ids.push_back(id);
    }
    const std::size_t peak = resident_bytes(server_.pid()) - before;
    std::shuffle(ids.begin(), ids.end(), random);
    for (const int id : ids) {
      ASSERT_EQ(client->ask("delete " + std::to_string(id)), "DELETED\r\n");
    }
    const auto growth = [&] {
      const std::size_t after = resident_bytes(server_.pid());
      return after > before ? after - before : 0;
    };
    EXPECT_TRUE(kIsSanitized || eventually([&] { return growth() < peak / 5; }));
    expect_growth_below("2,000 bodies of middle size, put and deleted", growth(), peak / 5);
    server_.kill_hard();
  }
}

TEST_F(DaemonMemory, HalfABodyGivesItBackWithItsClient) {
  constexpr std::size_t kClients = kIsSanitized ? 20 : 500;
  ASSERT_TRUE(start({"-z", "200000"})) << server_.failure();
  const Client other = connect();
  ASSERT_EQ(other->ask("list-tube-used"), "USING default\r\n");
  const std::size_t before = resident_bytes(server_.pid());
  const auto growth = [&] {
    const std::size_t after = resident_bytes(server_.pid());
    return after > before ? after - before : 0;
  };
  {
    const std::vector<Client> clients = connect(kClients);
    for (const Client& client : clients) {
      client->send_line("put 0 0 60 150000");
      ASSERT_TRUE(client->send(std::string(120'000, 'x')));
    }
    ASSERT_TRUE(kIsSanitized || eventually([&] { return growth() > kClients * 100'000; }));
  }
  EXPECT_TRUE(kIsSanitized || eventually([&] { return growth() < kClients * 20'000; }));
  expect_growth_below("500 half bodies of 150 KB whose clients are gone", growth(),
                      kClients * 20'000);
  EXPECT_TRUE(other->put("job").starts_with("INSERTED "));
}

// One job of each chunk survives, and the next jobs are slightly smaller: none of them fits into
// the gaps.
TEST_F(DaemonMemory, TheLimitHoldsTheProcessWhereSizesShrink) {
  constexpr std::size_t kLimit = 32 * kMebibyte;
  ASSERT_TRUE(start({"--memory-max=32m"})) << server_.failure();
  const Client client = connect();
  ASSERT_EQ(client->ask("list-tube-used"), "USING default\r\n");
  const std::size_t before = resident_bytes(server_.pid());
  for (std::size_t size = 1000; size > 50 && !kIsSanitized; size -= 8) {
    const std::size_t jobs = kMebibyte / (size + 60);
    const std::size_t one_of = 256 * 1024 / (size + 60);
    ASSERT_TRUE(client->send(repeated(
        "put 0 0 60 " + std::to_string(size) + "\r\n" + std::string(size, 'x') + "\r\n", jobs)));
    std::string deletes;
    std::size_t number = 0;
    for (std::size_t i = 0; i < jobs; ++i) {
      const std::string answer = *client->read_line();
      if (!answer.starts_with("INSERTED ") || number++ % one_of == 0) continue;
      deletes += "delete " + answer.substr(9) + "\r\n";
    }
    ASSERT_TRUE(client->send(deletes));
    for (auto i = std::count(deletes.begin(), deletes.end(), '\n'); i > 0; --i) {
      ASSERT_EQ(client->read_line(), "DELETED");
    }
  }
  EXPECT_TRUE(kIsSanitized || server_stat("memory-refused") > 0);
  expect_growth_below("shrinking sizes with a limit of 32 MiB",
                      resident_bytes(server_.pid()) - before, kLimit + kLimit / 10 + 4 * kMebibyte);
}

// Each client could hold 1 MiB. Every client gets its page once the clients read.
TEST_F(DaemonMemory, UnreadPagesStayWithinTheLimit) {
  constexpr std::size_t kLimit = 32 * kMebibyte;
  constexpr std::size_t kClients = 200;
  ServerOptions options = options_with({"--memory-max=32m"});
  options.listen_address = "unix:" + folder_.file("socket");
  ASSERT_TRUE(start_with(options)) << server_.failure();
  const Client other = connect();
  const std::string tube(200, 't');  // In each job of a page.
  ASSERT_EQ(other->ask("use " + tube), "USING " + tube + "\r\n");
  ASSERT_TRUE(other->send(repeated("put 0 0 60 1\r\nx\r\n", 1000)));
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(other->read_line());
  std::vector<Client> clients = connect(kClients);
  const MemoryPeak peak(server_.pid());
  for (const Client& client : clients) client->send_line("list-jobs " + tube + " ready 1000");
  // Each answer takes a turn, and a turn has time for a page or two.
  for (std::size_t i = 0; i < 2 * kClients; ++i) {
    ASSERT_EQ(other->ask("list-tube-used"), "USING " + tube + "\r\n");
  }
  expect_growth_below("200 clients that do not read a page, with a limit of 32 MiB", peak.growth(),
                      kLimit + kLimit / 10 + 4 * kMebibyte);
  std::size_t read = 0;
  EXPECT_TRUE(eventually([&] {
    for (Client& client : clients) {
      if (client == nullptr || !client->has_input_within(milliseconds(0))) continue;
      const std::string answer = client->read_answer().value_or("");
      if (!answer.starts_with("OK ") || !answer.ends_with("\r\n")) return false;
      client = nullptr;
      ++read;
    }
    return read == kClients;
  })) << read;
}

// The commands after a waiting reserve are not needed yet.
TEST_F(DaemonMemory, InputBehindWaitsStaysWithinTheLimit) {
  constexpr std::size_t kLimit = 32 * kMebibyte;
  constexpr int kRequests = 10'000;
  constexpr std::size_t kClients = kIsSanitized ? 20 : 1500;
  ServerOptions options = options_with({"--memory-max=32m"});
  options.listen_address = "unix:" + folder_.file("socket");
  ASSERT_TRUE(start_with(options)) << server_.failure();
  const Client other = connect();
  ASSERT_EQ(other->ask("list-tube-used"), "USING default\r\n");
  const std::string requests = "reserve\r\n" + numbered_requests(kRequests);
  std::vector<Client> clients = connect(kClients);
  const MemoryPeak peak(server_.pid());
  const std::vector<std::size_t> sent = send_until_stuck(clients, requests);
  ASSERT_TRUE(eventually([&] { return server_stat("current-waiting") == kClients; }));
  for (int i = 0; i < 50; ++i) ASSERT_EQ(other->ask("list-tube-used"), "USING default\r\n");
  expect_growth_below("1,500 clients with input behind a wait, with a limit of 32 MiB",
                      peak.growth(), kLimit + kLimit / 10 + 4 * kMebibyte);
  // One of them continues when the others are gone.
  clients.resize(1);
  ASSERT_TRUE(eventually([&] { return other->put("x").starts_with("INSERTED "); }));
  EXPECT_TRUE(clients[0]->read_answer().value_or("").starts_with("RESERVED "));
  ASSERT_TRUE(clients[0]->send(std::string_view(requests).substr(sent[0])));
  expect_numbered_answers(*clients[0], kRequests);
}

TEST_F(DaemonMemory, TubesCountInTheLimit) {
  ASSERT_TRUE(start({"--memory-max=16m"})) << server_.failure();
  const Client client = connect();
  ASSERT_EQ(client->ask("list-tube-used"), "USING default\r\n");
  const std::size_t before = resident_bytes(server_.pid());
  for (int i = 0; i < 100'000 && !kIsSanitized; i += 1000) {
    std::string requests;
    for (int k = i; k < i + 1000; ++k) {
      requests += "use tube-" + std::to_string(k) + "\r\nput 0 0 60 1\r\nx\r\n";
    }
    ASSERT_TRUE(client->send(requests));
    for (int k = 0; k < 2000; ++k) ASSERT_TRUE(client->read_line());
  }
  expect_growth_below("a tube for each job with a limit of 16 MiB",
                      resident_bytes(server_.pid()) - before, 22 * kMebibyte);
}

// Tubes, keys of jobs, lanes, and keys that outlive their jobs by a second.
TEST_F(DaemonMemory, TubesKeysAndLanesOfDeletedJobsGiveItBack) {
  constexpr int kJobs = kIsSanitized ? 1000 : 60'000;
  ASSERT_TRUE(start()) << server_.failure();
  const Client client = connect();
  ASSERT_EQ(client->ask("list-tube-used"), "USING default\r\n");
  const std::size_t before = resident_bytes(server_.pid());
  std::vector<std::string> ids;
  for (int i = 0; i < kJobs; i += 1000) {
    std::string requests;
    for (int k = i; k < i + 1000; ++k) {
      const std::string key = std::to_string(k);
      requests += "use tube-" + key + "\r\nput 0 0 60 1 idp:key-" + key + ":1 con:key-" + key +
                  ":3 try:5\r\nx\r\n";
    }
    ASSERT_TRUE(client->send(requests));
    for (int k = 0; k < 1000; ++k) {
      ASSERT_TRUE(client->read_line());
      const std::string answer = *client->read_line();
      ASSERT_TRUE(answer.starts_with("INSERTED ")) << answer;
      ids.push_back(answer.substr(9));
    }
  }
  const std::size_t peak = resident_bytes(server_.pid()) - before;
  for (int i = 0; i < kJobs; i += 1000) {
    std::string requests;
    for (int k = i; k < i + 1000; ++k) {
      requests += "delete " + ids[static_cast<std::size_t>(k)] + "\r\n";
    }
    ASSERT_TRUE(client->send(requests));
    for (int k = 0; k < 1000; ++k) ASSERT_EQ(client->read_line(), "DELETED");
  }
  const auto growth = [&] {
    const std::size_t after = resident_bytes(server_.pid());
    return after > before ? after - before : 0;
  };
  EXPECT_TRUE(kIsSanitized || eventually([&] { return growth() < peak / 4; }));
  expect_growth_below("60,000 tubes, keys and lanes of jobs that are deleted", growth(), peak / 4);
}

TEST_F(DaemonMemory, ClosedWatchesGiveItBack) {
  constexpr int kWatches = kIsSanitized ? 1000 : 200'000;
  ASSERT_TRUE(start()) << server_.failure();
  Client client = connect();
  ASSERT_EQ(client->ask("list-tube-used"), "USING default\r\n");
  const std::size_t before = resident_bytes(server_.pid());
  for (int i = 0; i < kWatches; i += 1000) {
    std::string requests;
    for (int k = i; k < i + 1000; ++k) requests += "watch tube-" + std::to_string(k) + "\r\n";
    ASSERT_TRUE(client->send(requests));
    for (int k = 0; k < 1000; ++k) ASSERT_TRUE(client->read_line());
  }
  const std::size_t peak = resident_bytes(server_.pid()) - before;
  client->close();
  const auto growth = [&] {
    const std::size_t after = resident_bytes(server_.pid());
    return after > before ? after - before : 0;
  };
  EXPECT_TRUE(kIsSanitized || eventually([&] { return growth() < peak / 4; }));
  expect_growth_below("200,000 watches that are closed", growth(), peak / 4);
}

}  // namespace
}  // namespace haricot::test
