// A disk with slow syncs: only clients whose changes need a sync wait for it.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "binlog_folder.hpp"
#include "persistence_fixture.hpp"
#include "recorded_load.hpp"
#include "support/process_facts.hpp"
#include "traced_faults.hpp"

namespace haricot::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Each sync takes this much longer.
constexpr milliseconds kSync{300};
constexpr const char* kSlowSyncs = "fdatasync,fsync:delay_enter=300000";
constexpr const char* kTracedOnly = "fdatasync,fsync:delay_enter=1";
// A disk that nearly hangs.
constexpr milliseconds kVerySlowSync{2000};
constexpr const char* kVerySlowSyncs = "fdatasync,fsync:delay_enter=2000000";
// Permitted delay of other clients: much shorter than a sync, and longer than delays by a busy
// machine.
constexpr milliseconds kSlack{120};

class SlowSync : public PersistenceTest {
 protected:
  void SetUp() override {
    if (!TracedFaults::are_possible()) GTEST_SKIP() << "strace is missing, or may not trace";
  }

  // Returns the 99th percentile of the answer times, while another client puts jobs without reading
  // the answers.
  milliseconds answer_time_beside_puts() {
    const Client producer = connect();
    const Client other = connect();
    std::vector<Clock::duration> times;
    const auto end = Clock::now() + milliseconds(1500);
    while (Clock::now() < end) {
      producer->send("put 0 0 60 5\r\nhello\r\nput 0 0 60 5\r\nhello\r\n");
      for (const char* question : {"use some-tube", "stats"}) {
        times.push_back(own_time_of(*other, question));
      }
    }
    std::sort(times.begin(), times.end());
    return std::chrono::ceil<milliseconds>(times[times.size() * 99 / 100]);
  }

  milliseconds time_of(WireClient& client, const std::string& question, const char* answer) {
    const auto begin = Clock::now();
    EXPECT_TRUE(client.ask(question).starts_with(answer)) << question;
    return std::chrono::ceil<milliseconds>(Clock::now() - begin);
  }
  // Returns the answer time without the time in which other processes used the cores.
  Clock::duration own_time_of(WireClient& client, const std::string& question) {
    const HeldUp held_up({server_.pid(), faults_.tracer()});
    const auto begin = Clock::now();
    EXPECT_NE(client.ask(question)[0], '<') << question;
    return std::max(Clock::now() - begin - held_up.since(), Clock::duration::zero());
  }

  // A connection that sends as fast as the server reads.
  struct Producer {
    Client client;
    std::string unsent = {};
    std::uint64_t answers = 0;

    void push() {
      unsent.erase(0, client->send_without_reading(unsent, milliseconds(1)));
      while (client->has_input_within(milliseconds(0))) read_one();
    }
    void read_one() {
      const auto answer = client->read_answer(milliseconds(60'000));
      ASSERT_TRUE(answer) << client->failure();
      ASSERT_TRUE(answer->starts_with("INSERTED ") || answer->starts_with("DELETED")) << *answer;
      ++answers;
    }
  };

  // Returns the longest answer time of a client that changes nothing, while the producers send for
  // `time`.
  milliseconds longest_look_beside(std::vector<Producer>& producers, milliseconds time) {
    const Client other = connect();
    Clock::duration longest{};
    const auto end = Clock::now() + time;
    while (Clock::now() < end) {
      for (Producer& producer : producers) producer.push();
      for (const char* question : {"use some-tube", "stats", "peek 1"}) {
        longest = std::max(longest, own_time_of(*other, question));
      }
    }
    return std::chrono::ceil<milliseconds>(longest);
  }

  TracedFaults faults_;
};

TEST_F(SlowSync, NoClientWaitsForPeriodicSyncs) {
  ASSERT_TRUE(start({"-f", "50"})) << server_.failure();
  ASSERT_TRUE(faults_.begin(server_.pid(), kTracedOnly));
  const milliseconds before = answer_time_beside_puts();
  faults_.end();
  ASSERT_TRUE(faults_.begin(server_.pid(), kSlowSyncs));
  const milliseconds slow = answer_time_beside_puts();
  EXPECT_LT(slow, before + kSlack);
  EXPECT_LT(own_time_of(*connect(), "put 0 0 60 5\r\nhello"), kSync);
}

TEST_F(SlowSync, OnlyWhoChangedSomethingWaitsForTheSyncOfIt) {
  ASSERT_TRUE(start({"-f", "0"})) << server_.failure();
  ASSERT_TRUE(faults_.begin(server_.pid(), kTracedOnly));
  const milliseconds before = answer_time_beside_puts();
  faults_.end();
  ASSERT_TRUE(faults_.begin(server_.pid(), kSlowSyncs));
  const milliseconds slow = answer_time_beside_puts();
  EXPECT_LT(slow, before + kSlack);
  EXPECT_GE(time_of(*connect(), "put 0 0 60 5\r\nhello", "INSERTED "), kSync);
  // A connection that has just changed something does not wait after that answer either.
  const Client client = connect();
  EXPECT_GE(time_of(*client, "delete 1", "DELETED"), kSync);
  EXPECT_LT(own_time_of(*client, "stats"), kSlack + before);
}

TEST_F(SlowSync, ManyProducersShareASync) {
  ASSERT_TRUE(start({"-f", "0"})) << server_.failure();
  ASSERT_TRUE(faults_.begin(server_.pid(), kSlowSyncs));
  std::vector<Client> producers;
  for (int i = 0; i < 20; ++i) producers.push_back(connect());
  const HeldUp held_up({server_.pid(), faults_.tracer()});
  const auto begin = Clock::now();
  for (const Client& producer : producers) producer->send_line("put 0 0 60 5\r\nhello");
  for (const Client& producer : producers) {
    const auto answer = producer->read_answer();
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->starts_with("INSERTED ")) << *answer;
  }
  // One sync for each producer would be 20 syncs.
  EXPECT_LT(Clock::now() - begin - held_up.since(), 8 * kSync);
}

TEST_F(SlowSync, BatchesThatTakeSeveralReadsAreAnsweredToTheirEnd) {
  constexpr int kPuts = 200;
  ASSERT_TRUE(start({"-f", "0"})) << server_.failure();
  std::string batch;
  for (int i = 0; i < kPuts; ++i) {
    const std::string body = numbered_body(1000, 20 + static_cast<std::size_t>(i) * 37 % 3000);
    batch += "put 0 0 60 " + std::to_string(body.size()) + "\r\n" + body + "\r\n";
  }
  for (int round = 0; round < 5; ++round) {
    std::vector<Client> producers;
    for (int i = 0; i < 3; ++i) producers.push_back(connect());
    for (const Client& producer : producers) producer->send(batch);
    for (const Client& producer : producers) {
      for (int i = 0; i < kPuts; ++i) {
        const auto answer = producer->read_answer();
        ASSERT_TRUE(answer) << "answer " << i << ": " << producer->failure();
        ASSERT_TRUE(answer->starts_with("INSERTED ")) << *answer;
      }
    }
  }
}

// A sync may end at any moment of a turn, also right after the check for ended syncs.
TEST_F(SlowSync, NoAnswerWaitsForACommandOfAnotherClient) {
  RecordedLoad load(seed_of_this_run(), 5);
  ASSERT_TRUE(start({"-f", "0"})) << server_.failure();
  ASSERT_TRUE(load.connect(server_));
  for (int round = 0; round < 400; ++round) {
    load.send(1 + load.below(40));
    ASSERT_TRUE(load.read_all()) << "round " << round;
  }
  EXPECT_EQ(load.nonsense(), "");
}

// The producers begin more files than may wait for their syncs.
TEST_F(SlowSync, OtherClientsDoNotWaitForFastProducers) {
  constexpr std::uint64_t kProducers = 40;
  constexpr std::uint64_t kPuts = 100;
  std::string puts;
  for (std::uint64_t i = 0; i < kPuts; ++i) {
    puts += "put 0 0 60 1000\r\n" + numbered_body(i, 1000) + "\r\n";
  }
  for (const char* interval : {"0", "10"}) {
    SCOPED_TRACE(interval);
    ASSERT_TRUE(start({"-s", "16384", "-f", interval})) << server_.failure();
    const std::uint64_t before = stat("current-jobs-ready");
    ASSERT_TRUE(faults_.begin(server_.pid(), kVerySlowSyncs));
    std::vector<Producer> producers;
    for (std::uint64_t i = 0; i < kProducers; ++i) producers.push_back({connect(), puts});
    EXPECT_LT(longest_look_beside(producers, 2 * kVerySlowSync), kVerySlowSync / 2);
    faults_.end();
    for (Producer& producer : producers) {
      while (!producer.unsent.empty()) producer.push();
      while (producer.answers < kPuts) ASSERT_NO_FATAL_FAILURE(producer.read_one());
    }
    ASSERT_NO_FATAL_FAILURE(stop());
    ASSERT_TRUE(start()) << server_.failure();
    EXPECT_EQ(stat("current-jobs-ready"), before + kProducers * kPuts);
    ASSERT_NO_FATAL_FAILURE(stop());
  }
}

// Files become removable faster than the disk removes them, but the size of the folder is limited.
TEST_F(SlowSync, OtherClientsDoNotWaitForCompaction) {
  constexpr std::uint64_t kFileBytes = 16384;
  constexpr std::uint64_t kPairs = 3000;
  ASSERT_TRUE(start({"-s", std::to_string(kFileBytes), "-f", "10"})) << server_.failure();
  ASSERT_TRUE(faults_.begin(server_.pid(), kVerySlowSyncs));
  std::vector<Producer> producers;
  producers.push_back({connect()});
  Producer& producer = producers.front();
  for (std::uint64_t id = 1; id <= kPairs; ++id) {
    producer.unsent += "put 0 0 60 1000\r\n" + numbered_body(id, 1000) + "\r\ndelete " +
                       std::to_string(id) + "\r\n";
  }
  EXPECT_LT(longest_look_beside(producers, 3 * kVerySlowSync), kVerySlowSync / 2);
  EXPECT_LT(producer.answers, 2 * kPairs) << "the producer was not slowed down";
  // Three times the allowed size, and a few files for spares and the last one.
  EXPECT_LT(folder_bytes(folder_.path()), 3 * 3 * kFileBytes + 4 * kFileBytes);
  faults_.end();
  while (!producer.unsent.empty()) producer.push();
  while (producer.answers < 2 * kPairs) ASSERT_NO_FATAL_FAILURE(producer.read_one());
  EXPECT_EQ(stat("current-jobs-ready"), 0U);
}

// A stop waits until all acknowledged changes are synced.
TEST_F(SlowSync, AStopWaitsForTheDisk) {
  ASSERT_TRUE(start({"-f", "50"})) << server_.failure();
  ASSERT_TRUE(faults_.begin(server_.pid(), kSlowSyncs));
  const Client client = connect();
  for (int i = 1; i <= 100; ++i) {
    ASSERT_EQ(client->put("hello"), "INSERTED " + std::to_string(i) + "\r\n");
  }
  ASSERT_NO_FATAL_FAILURE(stop());
  faults_.end();
  ASSERT_TRUE(start()) << server_.failure();
  EXPECT_EQ(stat("current-jobs-ready"), 100U);
}

}  // namespace
}  // namespace haricot::test
