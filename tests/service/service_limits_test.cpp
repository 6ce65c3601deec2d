// Limits that the service enforces: connections and memory for jobs.

#include <gtest/gtest.h>

#include <string>

#include "service/service_world.hpp"

namespace haricot {
namespace {

using test::put_line;
using test::ServiceWorld;
using test::whole_put;

constexpr std::uint64_t kMemory = 64 * 1024;

std::string last_keys(ServiceWorld& world, Session& session) {
  const std::string report = world.ask(session, "stats\r\n");
  const std::size_t platform = report.find("\nplatform: ");
  return report.substr(report.find('\n', platform + 1) + 1);
}

TEST(ServiceLimits, WithoutLimitsTheReportHasNoKeysOfThem) {
  ServiceWorld world;
  EXPECT_EQ(last_keys(world, world.connect()), "\r\n");
}

TEST(ServiceLimits, TheReportHasEachLimitThatIsSet) {
  {
    ServiceWorld world(Limits{.connections_max = 2});
    Session& session = world.connect();
    EXPECT_EQ(last_keys(world, session), "connections-max: 2\nconnections-refused: 0\n\r\n");
  }
  {
    ServiceWorld world(Limits{.idle_timeout_s = 30});
    Session& session = world.connect();
    EXPECT_EQ(last_keys(world, session), "idle-timeout: 30\nidle-closed: 0\n\r\n");
  }
  ServiceWorld world(Limits{.job_memory_bytes_max = kMemory});
  Session& session = world.connect();
  EXPECT_EQ(last_keys(world, session),
            "memory-max: 65536\nmemory-used: 0\nmemory-refused: 0\nmemory-full: 0\n\r\n");
}

// Connections -----------------------------------------------------------------------------------

TEST(ServiceLimits, AdmitsTheLimitOfConnections) {
  ServiceWorld world(Limits{.connections_max = 2});
  EXPECT_TRUE(world.service.admit_connection());
  Session& first = world.connect();
  EXPECT_TRUE(world.service.admit_connection());
  Session& second = world.connect();
  EXPECT_FALSE(world.service.admit_connection());
  EXPECT_FALSE(world.service.admit_connection());
  EXPECT_EQ(world.stat(first, "connections-refused"), 2U);
  EXPECT_EQ(world.stat(first, "total-connections"), 2U);
  world.disconnect(second);
  EXPECT_TRUE(world.service.admit_connection());
}

TEST(ServiceLimits, AdmitsEachConnectionWithoutALimit) {
  ServiceWorld world;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(world.service.admit_connection());
    world.connect();
  }
}

// Memory ----------------------------------------------------------------------------------------

class ServiceMemory : public ::testing::Test {
 protected:
  // Puts jobs of that size until one is refused. Returns the number of accepted jobs.
  int fill(std::size_t body_bytes) {
    for (int count = 0;; ++count) {
      const std::string answer = world.ask(session, whole_put(std::string(body_bytes, 'x')));
      if (!answer.starts_with("INSERTED ")) {
        EXPECT_EQ(answer, "OUT_OF_MEMORY\r\n");
        return count;
      }
    }
  }

  ServiceWorld world{Limits{.job_memory_bytes_max = kMemory}};
  Session& session = world.connect();
};

TEST_F(ServiceMemory, RefusesPutsAtTheLimit) {
  const int taken = fill(100);
  EXPECT_GT(taken, 350);  // A job takes 152 bytes, and 21 besides.
  EXPECT_LT(taken, 400);
  EXPECT_GT(world.stat(session, "memory-used"), kMemory - 200);
  EXPECT_LE(world.stat(session, "memory-used"), kMemory);
  EXPECT_EQ(world.stat(session, "memory-refused"), 1U);
  EXPECT_EQ(world.ask(session, "delete 1\r\n" + whole_put(std::string(100, 'y'))),
            "DELETED\r\nINSERTED " + std::to_string(taken + 2) + "\r\n");
}

TEST_F(ServiceMemory, DiscardsALargeBodyThatDoesNotFit) {
  EXPECT_EQ(fill(20'000), 3);
  world.send(session, put_line(20'000));
  EXPECT_TRUE(session.direct_space().empty());
  world.send(session, std::string(20'000, 'x') + "\r\nuse t\r\n");
  world.settle();
  EXPECT_EQ(world.receive(session), "OUT_OF_MEMORY\r\nUSING t\r\n");
  EXPECT_EQ(world.stat(session, "memory-refused"), 2U);
}

// Two incomplete bodies may share the room for one.
TEST_F(ServiceMemory, TheFirstCompleteBodyGetsTheRoom) {
  Session& other = world.connect();
  world.send(session, put_line(40'000) + std::string(39'999, 'x'));
  world.send(other, put_line(40'000) + std::string(40'000, 'y') + "\r\n");
  world.send(session, "x\r\n");
  world.settle();
  EXPECT_EQ(world.receive(other), "INSERTED 2\r\n");
  EXPECT_EQ(world.receive(session), "OUT_OF_MEMORY\r\n");
  EXPECT_EQ(world.stat(session, "memory-refused"), 1U);
}

TEST_F(ServiceMemory, WorkersAreNeverRefused) {
  fill(1000);
  EXPECT_EQ(world
                .ask(session,
                     "reserve-job 1\r\nrelease 1 0 0\r\nreserve-job 1\r\nbury 1 0\r\n"
                     "kick 1\r\nreserve-job 1\r\ntouch 1\r\ndelete 1\r\n")
                .find("OUT_OF_MEMORY"),
            std::string::npos);
}

TEST_F(ServiceMemory, ADrainingServerAnswersDrainingForAnySize) {
  fill(20'000);
  world.service.drain();
  EXPECT_EQ(world.ask(session, whole_put(std::string(20'000, 'x'))), "DRAINING\r\n");
  EXPECT_EQ(world.ask(session, whole_put("x")), "DRAINING\r\n");
}

}  // namespace
}  // namespace haricot
