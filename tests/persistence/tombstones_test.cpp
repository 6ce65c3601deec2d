// Keys that outlive their jobs, across restarts, kills and changes of the server.

#include <poll.h>

#include <cstdint>
#include <string>
#include <vector>

#include "binlog_folder.hpp"
#include "job_facts.hpp"
#include "persistence_fixture.hpp"

namespace haricot::test {
namespace {

class Tombstones : public PersistenceTest {
 protected:
  // Puts a job with these tags. Returns the answer.
  static std::string put(WireClient& client, const std::string& tags, std::size_t bytes = 3) {
    return client.ask("put 9 0 60 " + std::to_string(bytes) + " " + tags + "\r\n" +
                      numbered_body(7, bytes));
  }
  static std::string deleted(std::uint64_t id) {
    return "INSERTED " + std::to_string(id) + " DELETED\r\n";
  }
  // Puts a job and deletes it. Returns its id.
  static std::uint64_t leave(WireClient& client, const std::string& tags) {
    const std::uint64_t id = inserted_id(put(client, tags));
    EXPECT_EQ(client.ask("delete " + std::to_string(id)), "DELETED\r\n");
    return id;
  }
};

TEST_F(Tombstones, OutliveEveryEndOfAServer) {
  ASSERT_TRUE(start({"-s", "20000", "-f", "0"})) << server_.failure();
  std::vector<std::uint64_t> ids;
  for (int round = 0; round < 4; ++round) {
    const Client client = connect();
    ASSERT_EQ(client->ask("use a-tube"), "USING a-tube\r\n");
    ids.push_back(leave(*client, "idp:key-" + std::to_string(round) + ":3600"));
    ASSERT_GT(ids.back(), 0U);
    ASSERT_TRUE(round % 2 == 0 ? kill_and_start() : restart()) << server_.failure();
    const Client again = connect();
    ASSERT_EQ(again->ask("use a-tube"), "USING a-tube\r\n");
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(put(*again, "idp:key-" + std::to_string(i)), deleted(ids[i])) << round;
    }
    EXPECT_EQ(stat("current-jobs-ready"), 0U);
    EXPECT_EQ(server_.standard_error().find("damage"), std::string::npos)
        << server_.standard_error();
  }
  // They also survive the removal of the files with their first records.
  const Client client = connect();
  const std::uint64_t until = stat("binlog-current-index") + 3;
  for (int i = 0; i < 2000 && stat("binlog-oldest-index") < until; ++i) {
    const std::uint64_t id = inserted_id(client->put(numbered_body(1, 5000)));
    ASSERT_EQ(client->ask("delete " + std::to_string(id)), "DELETED\r\n");
  }
  EXPECT_GE(stat("binlog-oldest-index"), until);
  ASSERT_TRUE(kill_and_start()) << server_.failure();
  const Client last = connect();
  ASSERT_EQ(last->ask("use a-tube"), "USING a-tube\r\n");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(put(*last, "idp:key-" + std::to_string(i)), deleted(ids[i]));
  }
}

// A key expires while no server runs.
TEST_F(Tombstones, EndWhileNoServerRuns) {
  ASSERT_TRUE(start()) << server_.failure();
  const std::uint64_t short_one = leave(*connect(), "idp:short:1");
  const std::uint64_t long_one = leave(*connect(), "idp:long:3600");
  ASSERT_GT(short_one, 0U);
  kill();
  ::poll(nullptr, 0, 1100);
  ASSERT_TRUE(start()) << server_.failure();
  EXPECT_EQ(put(*connect(), "idp:long"), deleted(long_one));
  EXPECT_EQ(inserted_id(put(*connect(), "idp:short")), long_one + 2);
}

// beanstalkd uses the folder in between. It ignores the records of keys and keeps them.
TEST_F(Tombstones, AreThereWhenBeanstalkdHadTheFolder) {
  ASSERT_TRUE(start()) << server_.failure();
  const std::uint64_t id = leave(*connect(), "idp:key:3600");
  EXPECT_EQ(inserted_id(connect()->put("stays")), id + 1);
  ASSERT_NO_FATAL_FAILURE(stop());
  ASSERT_TRUE(start(ServerKind::beanstalkd_1_12)) << server_.failure();
  EXPECT_EQ(stat("current-jobs-ready"), 1U);
  EXPECT_EQ(server_.standard_error(), "");
  ASSERT_NO_FATAL_FAILURE(stop());
  ASSERT_TRUE(start()) << server_.failure();
  EXPECT_EQ(put(*connect(), "idp:key"), deleted(id));
  EXPECT_EQ(stat("current-jobs-ready"), 1U);
}

}  // namespace
}  // namespace haricot::test
