// Clients that misbehave, on purpose or by accident: the others are served in time, the memory that
// the server holds for them is bounded, and nothing is left of them afterwards.

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bystander.hpp"
#include "support/colliding_names.hpp"
#include "support/daemon_fixture.hpp"
#include "support/process_facts.hpp"
#include "support/random.hpp"

namespace haricot::test {
namespace {

using std::chrono::milliseconds;

class Hostile : public DaemonTest {
 protected:
  // Maximum delay of the others, in addition to the delays of this machine.
  static constexpr Bystander::Milliseconds kP99Max{20};

  // Runs `hostility` while another client is served. Machines are shared: time in which other
  // processes had the cores is subtracted, and a slow run gets a second try.
  void others_are_served_during(const std::function<void()>& hostility) {
    bool in_time = false;
    for (int attempt = 0; attempt < 2 && !in_time && !HasFatalFailure(); ++attempt) {
      const Bystander::Milliseconds quiet = p99_during([] { ::poll(nullptr, 0, 300); });
      const CpuTimes before = cpu_times(server_.pid());
      const Bystander::Milliseconds hostile = p99_during(hostility);
      const double slowdown = slowdown_since(server_.pid(), before);
      std::printf(
          "p99 of others: %.2f ms, without hostility %.2f ms, on a machine %.1f times as slow\n",
          hostile.count(), quiet.count(), slowdown);
      in_time = hostile < (kP99Max + quiet) * slowdown;
    }
    EXPECT_TRUE(kIsSanitized || in_time);
  }

  // Checks and prints the peak of the server's additional memory.
  void expect_memory_below(const MemoryPeak& peak, std::size_t limit) {
    std::printf("memory: %.1f MiB more\n",
                static_cast<double>(peak.growth()) / static_cast<double>(kMebibyte));
    if (!kIsSanitized) {
      EXPECT_LT(peak.growth(), limit);
    }
  }

  // Checks, after all clients have gone, that nothing is left of them, the server is idle, and it
  // serves.
  void expect_all_well(std::uint64_t jobs = 0) {
    EXPECT_TRUE(eventually([this] { return server_stat("current-connections") == 1; }));
    EXPECT_EQ(server_stat("current-waiting"), 0U);
    // Removing a client with many watches from their tubes is a long task.
    EXPECT_TRUE(eventually([this] { return server_stat("current-tubes") == 1; }));
    EXPECT_EQ(server_stat("current-jobs-reserved"), 0U);
    EXPECT_EQ(server_stat("current-jobs-ready"), jobs);
    EXPECT_TRUE(
        eventually([this] { return cpu_share_over(server_.pid(), milliseconds(300)) < 0.02; }));
    EXPECT_TRUE(connect()->put("job").starts_with("INSERTED "));
    EXPECT_EQ(server_.stop(), (ExitStatus{.code = 0})) << server_.standard_error();
  }

 private:
  Bystander::Milliseconds p99_during(const std::function<void()>& hostility) {
    Bystander bystander(server_.port());
    hostility();
    const Bystander::Milliseconds p99 = bystander.p99();
    EXPECT_TRUE(bystander.was_served());
    return p99;
  }
};

TEST_F(Hostile, PipelinesThatAreNeverReadStop) {
  ASSERT_TRUE(start()) << server_.failure();
  const std::string requests = repeated("stats\r\n", 20'000);
  {
    std::vector<Client> clients;
    ASSERT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
    const MemoryPeak peak(server_.pid());
    others_are_served_during([&] {
      // Clients of the first try must be gone, otherwise the peak includes both.
      clients.clear();
      ASSERT_TRUE(eventually([this] { return server_stat("current-connections") <= 2; }));
      for (int i = 0; i < 100; ++i) clients.push_back(connect_narrow());
      const auto begun = std::chrono::steady_clock::now();
      while (std::chrono::steady_clock::now() - begun < milliseconds(1500)) {
        for (const Client& client : clients)
          client->send_without_reading(requests, milliseconds(0));
        ::poll(nullptr, 0, 1);
      }
    });
    // Idle, not busy waiting.
    EXPECT_TRUE(
        eventually([this] { return cpu_share_over(server_.pid(), milliseconds(300)) < 0.02; }));
    // A client has at most 64 KiB of answers and 16 KiB of commands: 8 MiB. If all grow at once,
    // their earlier buffers take as much again, until they are returned a second later.
    expect_memory_below(peak, 24 * kMebibyte);
  }
  expect_all_well();
}

// Written with one call, each of these jobs would take 150 to 350 ms. The p99 would not show that,
// because it is one turn among very many.
TEST_F(Hostile, LargeJobsAreRecordedBesideTheOthers) {
  constexpr std::size_t kBytes = 256 * kMebibyte;
  constexpr double kLongest = 60;
  if (kIsSanitized) GTEST_SKIP() << "slow code says nothing about waits";
  const std::string body(kBytes, 'x');
  for (const char* const file_bytes : {"65536", "10485760"}) {
    const std::string binlog = folder_.file(file_bytes);
    ASSERT_EQ(::mkdir(binlog.c_str(), 0700), 0);
    ASSERT_TRUE(start({"-b", binlog, "-z", std::to_string(kBytes), "-s", file_bytes}))
        << server_.failure();
    const Client client = connect();
    bool in_time = false;
    for (int attempt = 0; attempt < 3 && !in_time; ++attempt) {
      const CpuTimes before = cpu_times(server_.pid());
      Bystander bystander(server_.port());
      const std::string answer = client->put(body);
      ASSERT_TRUE(answer.starts_with("INSERTED ")) << answer;
      const Bystander::Milliseconds longest = bystander.longest();
      EXPECT_TRUE(bystander.was_served());
      const double slowdown = slowdown_since(server_.pid(), before);
      std::printf("-s %s: the longest wait of others: %.2f ms, on a machine %.1f times as slow\n",
                  file_bytes, longest.count(), slowdown);
      in_time = longest.count() < kLongest * slowdown;
      EXPECT_EQ(client->ask("delete " + answer.substr(9, answer.size() - 11)), "DELETED\r\n");
    }
    EXPECT_TRUE(in_time);
    EXPECT_EQ(server_.stop(), (ExitStatus{.code = 0})) << server_.standard_error();
  }
}

TEST_F(Hostile, LargeBodiesThatAreNeverReadAreThereOnce) {
  constexpr std::size_t kBytes = 20'000'000;
  ASSERT_TRUE(start({"-z", "20000000"})) << server_.failure();
  ASSERT_EQ(connect()->put(std::string(kBytes, 'x')), "INSERTED 1\r\n");
  {
    std::vector<Client> clients;
    for (int i = 0; i < 30; ++i) clients.push_back(connect_narrow());
    const MemoryPeak peak(server_.pid());
    others_are_served_during([&] {
      for (const Client& client : clients) client->send_line("peek 1");
      for (const Client& client : clients) ASSERT_TRUE(client->has_input_within(kAnswerDeadline));
    });
    expect_memory_below(peak, 4 * kMebibyte);
  }
  EXPECT_EQ(connect()->ask("delete 1"), "DELETED\r\n");
  expect_all_well();
}

TEST_F(Hostile, AByteASecondDelaysNoOtherClient) {
  ASSERT_TRUE(start()) << server_.failure();
  const std::vector<std::string> texts = {"use tube\r\n", "put 0 0 60 3\r\nabc\r\n", "reserve\r\n",
                                          std::string(20, '\0')};
  {
    const std::vector<Client> clients = connect(80);
    const MemoryPeak peak(server_.pid());
    const double before = cpu_seconds(server_.pid());
    std::size_t at = 0;
    const auto begun = std::chrono::steady_clock::now();
    for (; at < 3; ++at) {
      for (std::size_t i = 0; i < clients.size(); ++i) {
        ASSERT_TRUE(clients[i]->send(std::string_view(texts[i % texts.size()]).substr(at, 1)));
      }
      ::poll(nullptr, 0, 1000);
    }
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begun;
    const double share = (cpu_seconds(server_.pid()) - before) / passed.count();
    std::printf("CPU share %.4f\n", share);
    EXPECT_TRUE(kIsSanitized || share < 0.02);
    others_are_served_during([&] {
      for (std::size_t round = 0; round < 3; ++round, ++at) {
        for (std::size_t i = 0; i < clients.size(); ++i) {
          ASSERT_TRUE(clients[i]->send(std::string_view(texts[i % texts.size()]).substr(at, 1)));
        }
        ::poll(nullptr, 0, 100);
      }
    });
    expect_memory_below(peak, kMebibyte);
  }
  expect_all_well();
}

TEST_F(Hostile, ThirtyThousandTubesOfOneClientDelayNoOtherClient) {
  constexpr int kTubes = 30'000;
  ASSERT_TRUE(start()) << server_.failure();
  {
    const Client client = connect();
    const MemoryPeak peak(server_.pid());
    others_are_served_during([&] {
      for (int first = 0; first < kTubes; first += 500) {
        std::string watches;
        for (int i = first; i < first + 500; ++i)
          watches += "watch tube-" + std::to_string(i) + "\r\n";
        ASSERT_TRUE(client->send(watches));
        for (int i = 0; i < 500; ++i) ASSERT_TRUE(client->read_answer());
      }
      // Waits in all of them at once, and requests all reports about them.
      ASSERT_EQ(client->ask("reserve-with-timeout 0"), "TIMED_OUT\r\n");
      for (const char* report : {"list-tubes", "list-tubes-watched", "stats"}) {
        ASSERT_TRUE(client->ask(report).starts_with("OK "));
      }
      client->send_line("reserve");
    });
    ASSERT_TRUE(eventually([this] { return server_stat("current-waiting") == 1; }));
    EXPECT_EQ(server_stat("current-tubes"), kTubes + 1U);
    // Some 300 bytes for a tube, and 150 for watching it and waiting there.
    expect_memory_below(peak, 24 * kMebibyte);
    // And all of them are removed at once.
    others_are_served_during([&] { client->reset(); });
  }
  expect_all_well();
}

TEST_F(Hostile, NamesThatCollideCostAsMuchAsOthers) {
  constexpr std::size_t kNames = 10'000;
  ASSERT_TRUE(start()) << server_.failure();
  const auto cpu_of_watching = [&](const std::vector<std::string>& names) {
    const Client client = connect();
    const double before = cpu_seconds(server_.pid());
    for (std::size_t first = 0; first < names.size(); first += 500) {
      std::string watches;
      for (std::size_t i = first; i < first + 500; ++i) watches += "watch " + names[i] + "\r\n";
      EXPECT_TRUE(client->send(watches));
      for (int i = 0; i < 500; ++i) EXPECT_TRUE(client->read_answer());
    }
    return cpu_seconds(server_.pid()) - before;
  };
  std::vector<std::string> others;
  for (std::size_t i = 0; i < kNames; ++i) {
    others.push_back("a-name-of-so-many-bytes-----" + std::to_string(1000 + i));
  }
  const std::vector<std::string> colliding = CollidingNames::make(kNames);
  const double usual = cpu_of_watching(others);
  ASSERT_TRUE(eventually([this] { return server_stat("current-tubes") == 1; }));
  const double hostile = cpu_of_watching(colliding);
  std::printf("%.3f s for %zu names, %.3f s for as many that collide\n", usual, kNames, hostile);
  EXPECT_LT(hostile, 5 * usual + 0.1);
  expect_all_well();
}

TEST_F(Hostile, ReservesAndReportsOverVeryManyTubesDelayNoOtherClient) {
  constexpr int kTubes = 200'000;
  ASSERT_TRUE(start()) << server_.failure();
  {
    const Client client = connect();
    for (int first = 0; first < kTubes; first += 500) {
      std::string watches;
      for (int i = first; i < first + 500; ++i)
        watches += "watch tube-" + std::to_string(i) + "\r\n";
      ASSERT_TRUE(client->send(watches));
      for (int i = 0; i < 500; ++i) ASSERT_TRUE(client->read_answer());
    }
    others_are_served_during([&] {
      ASSERT_TRUE(client->send(repeated("reserve-with-timeout 0\r\n", 2000)));
      for (int i = 0; i < 2000; ++i) ASSERT_EQ(client->read_answer(), "TIMED_OUT\r\n");
      const std::vector<Client> readers = connect(20);
      for (const Client& reader : readers) reader->send_line("list-tubes");
      for (const Client& reader : readers) {
        ASSERT_TRUE(reader->read_answer().value_or("").starts_with("OK "));
      }
      ASSERT_TRUE(client->ask("list-tubes-watched").starts_with("OK "));
    });
    // Unread answers share their content.
    std::vector<Client> unread;
    for (int i = 0; i < 20; ++i) unread.push_back(connect_narrow());
    const MemoryPeak peak(server_.pid());
    for (const Client& reader : unread) reader->send_line("list-tubes");
    for (const Client& reader : unread) ASSERT_TRUE(reader->has_input_within(kAnswerDeadline));
    expect_memory_below(peak, 8 * kMebibyte);
    client->send_line("reserve");
    ASSERT_TRUE(eventually([this] { return server_stat("current-waiting") == 1; }));
    others_are_served_during([&] { client->reset(); });
  }
  expect_all_well();
}

// A page of a thousand jobs takes the server half a millisecond, and it has to write a hundred at
// once.
TEST_F(Hostile, PagesRequestedByManyDelayNoOtherClient) {
  constexpr std::size_t kJobs = 1000;
  ASSERT_TRUE(start()) << server_.failure();
  {
    const Client owner = connect();
    ASSERT_EQ(owner->ask("use pages"), "USING pages\r\n");
    ASSERT_TRUE(owner->send(repeated("put 0 0 60 3\r\njob\r\n", kJobs)));
    for (std::size_t i = 0; i < kJobs; ++i) ASSERT_TRUE(owner->read_answer());
    const std::vector<Client> clients = connect(100);
    others_are_served_during([&] {
      const auto begun = std::chrono::steady_clock::now();
      while (std::chrono::steady_clock::now() - begun < milliseconds(1500)) {
        for (const Client& client : clients) client->send_line("scan-jobs 0 1000 pages");
        for (const Client& client : clients) {
          const std::string page = client->read_answer().value_or("");
          ASSERT_TRUE(page.starts_with("OK ")) << page.substr(0, 100);
        }
      }
    });
    ASSERT_EQ(owner->ask("flush-tube pages"), "FLUSHED 1000\r\n");
  }
  expect_all_well();
}

TEST_F(Hostile, TenThousandConnectionsComeAndGo) {
  constexpr int kConnections = kIsSanitized ? 2'000 : 10'000;
  ASSERT_TRUE(start()) << server_.failure();
  const MemoryPeak peak(server_.pid());
  const std::vector<std::string> texts = {
      "", "use a\r\n", "reserve\r\n", "put 0 0 60 9000\r\nnot all of it", "watch b\r\nreserve\r\n"};
  others_are_served_during([&] {
    for (int i = 0; i < kConnections; ++i) {
      WireClient client;
      ASSERT_TRUE(client.connect(server_)) << i << ": " << client.failure();
      client.send(texts[static_cast<std::size_t>(i) % texts.size()]);
      if (i % 3 == 0) client.reset();
    }
  });
  expect_memory_below(peak, 8 * kMebibyte);
  expect_all_well();
}

TEST_F(Hostile, FourGigabytesThatAreOnlyAnnouncedTakeNothing) {
  if (kIsSanitized) GTEST_SKIP() << "the sanitizer writes down what is only announced";
  ASSERT_TRUE(start({"-z", "1073741824"})) << server_.failure();
  {
    const std::vector<Client> clients = connect(100);
    const MemoryPeak peak(server_.pid());
    others_are_served_during([&] {
      for (std::size_t i = 0; i < clients.size(); ++i) {
        clients[i]->send_line(i % 2 == 0 ? "put 0 0 60 4294967295" : "put 0 0 60 1073741823");
      }
    });
    ASSERT_TRUE(eventually([this] { return server_stat("cmd-put") >= 100U; }));
    expect_memory_below(peak, 4 * kMebibyte);
  }
  expect_all_well();
}

TEST_F(Hostile, GarbageIsAnsweredLineByLine) {
  constexpr std::size_t kClients = 50;
  ASSERT_TRUE(start()) << server_.failure();
  Random random(4711);
  {
    const std::vector<Client> clients = connect(kClients);
    const MemoryPeak peak(server_.pid());
    others_are_served_during([&] {
      for (std::size_t i = 0; i < kClients; ++i) {
        std::string garbage;
        for (int k = 0; k < 20'000; ++k) {
          // NULs, lone carriage returns and line feeds are more frequent than in random bytes.
          const auto byte = static_cast<char>(random.bits());
          garbage += random.one_in(8) ? "\0\r\n\0"[random.below(4)] : byte;
        }
        clients[i]->send(garbage);
        // Two line ends: one ends the garbage, the other is a line of its own.
        clients[i]->send("\r\n\r\nuse behind-garbage\r\n");
      }
    });
    for (const Client& client : clients) {
      std::string line;
      while (line != "USING behind-garbage") {
        const auto next = client->read_line();
        ASSERT_TRUE(next) << client->failure();
        ASSERT_TRUE(*next == "UNKNOWN_COMMAND" || *next == "BAD_FORMAT" ||
                    next->starts_with("USING "))
            << *next;
        line = *next;
      }
    }
    expect_memory_below(peak, 4 * kMebibyte);
  }
  expect_all_well();
}

// Clients in processes, killed like in a crash, each in one of the possible states of a client.
class HostileCrash : public Hostile {
 protected:
  pid_t start_client(const std::string& sent, int answers) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      WireClient client;
      bool good = client.connect(server_);
      client.send_without_reading(sent, milliseconds(100));
      for (int i = 0; i < answers; ++i) good = client.read_answer().has_value() && good;
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

TEST_F(HostileCrash, ManyClientsKilledAtOnceInEveryStateLeaveNothing) {
  constexpr int kOfEach = 5;
  constexpr int kHeld = 20;
  const std::string apart = "watch none\r\nignore default\r\n";
  struct State {
    std::string sent;
    int answers;
  };
  const std::vector<State> states = {
      {"", 0},
      {"reser", 0},
      {std::string(400, 'x'), 0},
      {"use tube\r\nput 0 0 60 100\r\nhalf of it", 1},
      {"put 0 0 60 60000\r\n" + std::string(40'000, 'x'), 0},
      {apart + "reserve\r\n", 2},
      {apart + "reserve-with-timeout 100\r\n", 2},
      {repeated("reserve\r\n", kHeld), kHeld},
      {"reserve\r\n" + apart + "reserve\r\n", 3},
      {"reserve\r\n" + repeated("stats\r\n", 3000), 1},
      {"peek 1\r\n", 0},
  };
  ASSERT_TRUE(start({"-z", "5000000"})) << server_.failure();
  constexpr std::uint64_t kJobs = 400;
  ASSERT_EQ(connect()->put(std::string(5'000'000, 'x'), 1000), "INSERTED 1\r\n");
  {
    const Client producer = connect();
    for (std::uint64_t i = 1; i < kJobs; ++i)
      ASSERT_TRUE(producer->put("job").starts_with("INSERTED "));
  }
  std::vector<pid_t> clients;
  for (const State& state : states) {
    for (int i = 0; i < kOfEach; ++i) clients.push_back(start_client(state.sent, state.answers));
  }
  EXPECT_EQ(server_stat("current-jobs-reserved"), kOfEach * (kHeld + 2U));
  others_are_served_during([&] {
    for (const pid_t client : clients) ::kill(client, SIGKILL);
    for (const pid_t client : clients) ::waitpid(client, nullptr, 0);
    clients.clear();
  });
  expect_all_well(kJobs);
}

}  // namespace
}  // namespace haricot::test
