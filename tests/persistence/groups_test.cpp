// Groups and held jobs across restarts, kills and changes of the server.

#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "job_facts.hpp"
#include "persistence_fixture.hpp"

namespace haricot::test {
namespace {

class GroupsOnDisk : public PersistenceTest {
 protected:
  static std::uint64_t put(WireClient& client, const std::string& tags, int delay_s = 0) {
    return inserted_id(client.ask("put 9 " + std::to_string(delay_s) + " 60 1 " + tags + "\r\nj"));
  }
  static void remove(WireClient& client, std::uint64_t id) {
    ASSERT_EQ(client.ask("delete " + std::to_string(id)), "DELETED\r\n");
  }
  // Deletes a job with beanstalkd, between two runs of haricotd.
  void remove_elsewhere(std::uint64_t id) {
    ASSERT_TRUE(start(ServerKind::beanstalkd_1_12)) << server_.failure();
    remove(*connect(), id);
    ASSERT_NO_FATAL_FAILURE(stop());
    ASSERT_TRUE(start()) << server_.failure();
  }
  static std::string state(WireClient& client, std::uint64_t id) {
    return std::string(report_value(client.ask("stats-job " + std::to_string(id)), "state"));
  }
  static bool is_held(WireClient& client, std::uint64_t id) {
    const std::string found = client.ask("scan-jobs " + std::to_string(id) + " 1");
    return found.find("\n  held: true\n") != std::string::npos;
  }
};

TEST_F(GroupsOnDisk, OutliveEveryEndOfAServer) {
  ASSERT_TRUE(start({"-s", "20000", "-f", "0"})) << server_.failure();
  const std::uint64_t member = put(*connect(), "grp:g");
  const std::uint64_t waits = put(*connect(), "aft:g");
  for (int round = 0; round < 4; ++round) {
    const Client client = connect();
    const std::uint64_t more = put(*client, "grp:g");
    ASSERT_TRUE(round % 2 == 0 ? kill_and_start() : restart()) << server_.failure();
    const Client again = connect();
    EXPECT_TRUE(is_held(*again, waits)) << round;
    const std::string group = again->ask("stats-group g");
    EXPECT_EQ(report_value(group, "ready"), "2");
    EXPECT_EQ(report_value(group, "waiting-jobs"), "1");
    remove(*again, more);
  }
  // They also survive the removal of the files with their first records.
  const Client client = connect();
  const std::uint64_t until = stat("binlog-current-index") + 3;
  for (int i = 0; i < 2000 && stat("binlog-oldest-index") < until; ++i) {
    const std::uint64_t id = inserted_id(client->put(numbered_body(1, 5000)));
    remove(*client, id);
  }
  EXPECT_GE(stat("binlog-oldest-index"), until);
  ASSERT_TRUE(kill_and_start()) << server_.failure();
  const Client last = connect();
  EXPECT_TRUE(is_held(*last, waits));
  remove(*last, member);
  EXPECT_EQ(state(*last, waits), "ready");
  EXPECT_EQ(server_.standard_error().find("damage"), std::string::npos) << server_.standard_error();
}

// Kills the server at any moment: while the group has a job, it holds all others, and afterwards
// none, even if the records of that are lost. Releasing so many held jobs takes many turns.
TEST_F(GroupsOnDisk, AreFinishedThoughAKillComesInBetween) {
  constexpr int kHeld = 20'000;
  for (const int pause_ms : {-1, -1, 0, 0, 1, 3}) {
    SCOPED_TRACE(pause_ms);
    ASSERT_TRUE(start({"-f", "0"})) << server_.failure();
    const Client client = connect();
    const std::uint64_t member = put(*client, "grp:g");
    std::string puts;
    for (int i = 0; i < kHeld; ++i) puts += "put 9 0 60 1 aft:g\r\nj\r\n";
    client->send(puts);
    for (int i = 0; i < kHeld; ++i) ASSERT_GT(inserted_id(client->read_answer().value_or("")), 0U);
    client->send("delete " + std::to_string(member) + "\r\n");
    // Kills before the answer (-1), or that many milliseconds after it.
    const bool is_told = pause_ms >= 0;
    if (is_told) {
      EXPECT_EQ(client->read_answer().value_or(""), "DELETED\r\n");
    }
    ::poll(nullptr, 0, std::max(pause_ms, 0));
    ASSERT_TRUE(kill_and_start()) << server_.failure();
    const Client again = connect();
    const bool is_there = again->ask("peek " + std::to_string(member)).starts_with("FOUND");
    EXPECT_FALSE(is_told && is_there);
    if (is_there) {
      EXPECT_EQ(stat("current-jobs-delayed"), static_cast<std::uint64_t>(kHeld));
    } else {
      EXPECT_TRUE(eventually([&] { return stat("current-jobs-delayed") == 0; }));
    }
    EXPECT_EQ(stat("current-jobs-ready"), static_cast<std::uint64_t>(is_there ? 1 : kHeld));
    EXPECT_TRUE(again->ask("flush-tube default").starts_with("FLUSHED"));
    ASSERT_NO_FATAL_FAILURE(stop());
  }
}

// beanstalkd has no groups: a held job is delayed by a hundred years there, unless it is kicked.
// haricotd continues with the jobs that beanstalkd leaves.
TEST_F(GroupsOnDisk, AreThereWhenBeanstalkdHadTheFolder) {
  ASSERT_TRUE(start()) << server_.failure();
  std::uint64_t member = 0;
  std::uint64_t waits[3] = {};
  {
    const Client client = connect();
    member = put(*client, "grp:g");
    for (std::uint64_t& id : waits) id = put(*client, "aft:g", 7);
    ASSERT_NO_FATAL_FAILURE(stop());
  }
  ASSERT_TRUE(start(ServerKind::beanstalkd_1_12)) << server_.failure();
  {
    const Client client = connect();
    EXPECT_EQ(server_.standard_error(), "");
    EXPECT_EQ(stat("current-jobs-delayed"), 3U);
    const std::string job = client->ask("stats-job " + std::to_string(waits[0]));
    EXPECT_GT(std::stoull(std::string(report_value(job, "time-left"))), 3'000'000'000U);
    EXPECT_EQ(report_value(job, "delay"), "7");
    EXPECT_EQ(client->ask("kick-job " + std::to_string(waits[1])), "KICKED\r\n");
    ASSERT_NO_FATAL_FAILURE(stop());
  }
  ASSERT_TRUE(start()) << server_.failure();
  {
    const Client client = connect();
    EXPECT_TRUE(is_held(*client, waits[0]));
    EXPECT_EQ(state(*client, waits[1]), "ready");
    EXPECT_TRUE(is_held(*client, waits[2]));
    ASSERT_NO_FATAL_FAILURE(stop());
  }
  // beanstalkd moves jobs to another file without their tags: then they wait for no group.
  ASSERT_NO_FATAL_FAILURE(remove_elsewhere(member));
  const Client client = connect();
  EXPECT_EQ(client->ask("stats-group g"), "NOT_FOUND\r\n");
  EXPECT_TRUE(eventually([&] { return !is_held(*client, waits[0]); }));
  EXPECT_FALSE(is_held(*client, waits[2]));
  EXPECT_EQ(state(*client, waits[0]), "delayed");
}

// beanstalkd deletes the last job of a group, so the next haricotd releases the held job.
TEST_F(GroupsOnDisk, EndWhereBeanstalkdDeletesTheirLastJob) {
  ASSERT_TRUE(start()) << server_.failure();
  const std::uint64_t member = put(*connect(), "grp:g");
  const std::uint64_t waits = put(*connect(), "aft:g");
  ASSERT_NO_FATAL_FAILURE(stop());
  ASSERT_NO_FATAL_FAILURE(remove_elsewhere(member));
  const Client client = connect();
  EXPECT_TRUE(eventually([&] { return state(*client, waits) == "ready"; }));
  EXPECT_EQ(client->ask("stats-group g"), "NOT_FOUND\r\n");
  EXPECT_NE(client->ask("scan-jobs 1 9").find("\n  aft: \"g\"\n"), std::string::npos)
      << "its tags were there";
}

}  // namespace
}  // namespace haricot::test
