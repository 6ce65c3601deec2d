// A disk whose syncs take long: only who asked to wait for them waits.

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "persistence_fixture.hpp"
#include "recorded_load.hpp"
#include "traced_faults.hpp"

namespace haricot::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Each sync takes this much longer.
constexpr milliseconds kSync{300};
constexpr const char* kSlowSyncs = "fdatasync,fsync:delay_enter=300000";
constexpr const char* kTracedOnly = "fdatasync,fsync:delay_enter=1";
// How much slower others may get: far less than a sync, far more than a busy machine makes it.
constexpr milliseconds kSlack{120};

class SlowSync : public PersistenceTest {
 protected:
  void SetUp() override {
    if (!TracedFaults::are_possible()) GTEST_SKIP() << "strace is missing, or may not trace";
  }

  // The time that 99 of 100 commands do not exceed, while another client puts one job after the
  // other without looking at the answers.
  milliseconds answer_time_beside_puts() {
    const Client producer = connect();
    const Client other = connect();
    std::vector<Clock::duration> times;
    const auto end = Clock::now() + milliseconds(1500);
    while (Clock::now() < end) {
      producer->send("put 0 0 60 5\r\nhello\r\nput 0 0 60 5\r\nhello\r\n");
      for (const char* question : {"use some-tube", "stats"}) {
        const auto begin = Clock::now();
        EXPECT_NE(other->ask(question)[0], '<');
        times.push_back(Clock::now() - begin);
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

  TracedFaults faults_;
};

TEST_F(SlowSync, NobodyWaitsForSyncsThatComeLater) {
  ASSERT_TRUE(start({"-f", "50"})) << server_.failure();
  ASSERT_TRUE(faults_.begin(server_.pid(), kTracedOnly));
  const milliseconds before = answer_time_beside_puts();
  faults_.end();
  ASSERT_TRUE(faults_.begin(server_.pid(), kSlowSyncs));
  const milliseconds slow = answer_time_beside_puts();
  EXPECT_LT(slow, before + kSlack);
  EXPECT_LT(time_of(*connect(), "put 0 0 60 5\r\nhello", "INSERTED "), kSync);
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
  // The same for a connection that has just written, once it has its answer.
  const Client client = connect();
  EXPECT_GE(time_of(*client, "delete 1", "DELETED"), kSync);
  EXPECT_LT(time_of(*client, "stats", "OK "), kSlack + before);
}

TEST_F(SlowSync, ManyProducersShareASync) {
  ASSERT_TRUE(start({"-f", "0"})) << server_.failure();
  ASSERT_TRUE(faults_.begin(server_.pid(), kSlowSyncs));
  std::vector<Client> producers;
  for (int i = 0; i < 20; ++i) producers.push_back(connect());
  const auto begin = Clock::now();
  for (const Client& producer : producers) producer->send_line("put 0 0 60 5\r\nhello");
  for (const Client& producer : producers) {
    const auto answer = producer->read_answer();
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->starts_with("INSERTED ")) << *answer;
  }
  // Each for itself would take 20 syncs.
  EXPECT_LT(Clock::now() - begin, 8 * kSync);
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

// A sync may end at any moment of a turn, also right behind the look at those that have ended.
TEST_F(SlowSync, NoAnswerWaitsForTheNextCommandOfSomebodyElse) {
  RecordedLoad load(seed_of_this_run(), 5);
  ASSERT_TRUE(start({"-f", "0"})) << server_.failure();
  ASSERT_TRUE(load.connect(server_));
  for (int round = 0; round < 400; ++round) {
    load.send(1 + load.below(40));
    ASSERT_TRUE(load.read_all()) << "round " << round;
  }
  EXPECT_EQ(load.nonsense(), "");
}

// A server that is told to end does not leave before the disk has what it acknowledged.
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
