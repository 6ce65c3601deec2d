// Backpressure while the memory limit is reached.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "haricot/base/memory.hpp"
#include "service_world.hpp"

namespace haricot {
namespace {

using test::ServiceWorld;

constexpr std::string_view kPage = "list-jobs default ready 1000\r\n";

class ServicePages : public ::testing::Test {
 protected:
  ServicePages() {
    Session& producer = world.connect();
    for (int i = 0; i < 200; ++i) {
      EXPECT_TRUE(world.ask(producer, "put 0 0 60 100\r\n" + std::string(100, 'x') + "\r\n")
                      .starts_with("INSERTED "));
    }
  }
  ~ServicePages() override { leave_limit(); }

  void reach_limit() {
    held_ = Memory::allocate(Memory::kOwnBytes + 1);
    Memory::limit(1);
    ASSERT_TRUE(Memory::is_at_limit());
  }
  void leave_limit() {
    Memory::limit(SIZE_MAX);
    Memory::free(held_);
    held_ = nullptr;
  }
  std::vector<Session*> connect(int count) {
    std::vector<Session*> sessions;
    for (int i = 0; i < count; ++i) sessions.push_back(&world.connect());
    return sessions;
  }
  static int answered(const std::vector<Session*>& sessions) {
    int found = 0;
    for (const Session* session : sessions) found += session->has_output() ? 1 : 0;
    return found;
  }

  ServiceWorld world;

 private:
  void* held_ = nullptr;
};

TEST_F(ServicePages, FewPagesAreUnreadAtTheMemoryLimit) {
  const std::vector<Session*> clients = connect(10);
  reach_limit();
  for (Session* client : clients) world.send(*client, kPage);
  world.settle();
  ASSERT_EQ(answered(clients), 4);
  EXPECT_GT(world.service.next_event(), world.now);

  // A page that is read, or whose client has closed, makes room for the next one.
  EXPECT_TRUE(world.receive(*clients[0]).starts_with("OK "));
  world.settle();
  EXPECT_TRUE(clients[4]->has_output());
  EXPECT_EQ(answered(clients), 4);
  world.disconnect(*clients[1]);
  world.settle();
  EXPECT_TRUE(clients[5]->has_output());
  EXPECT_FALSE(clients[6]->has_output());
  world.disconnect(*clients[6]);  // Its command waits.

  leave_limit();
  world.settle();
  for (const std::size_t i : {2U, 3U, 4U, 5U, 7U, 8U, 9U}) {
    EXPECT_TRUE(world.receive(*clients[i]).starts_with("OK ")) << i;
  }
}

TEST_F(ServicePages, OtherCommandsAreAnsweredAtTheMemoryLimit) {
  const std::vector<Session*> clients = connect(5);
  reach_limit();
  for (Session* client : clients) world.send(*client, std::string(kPage) + "list-tube-used\r\n");
  world.settle();
  ASSERT_EQ(answered(clients), 4);
  EXPECT_TRUE(world.ask(world.connect(), "stats\r\n").starts_with("OK "));
  // The answers of a client keep their order.
  EXPECT_TRUE(world.ask(*clients[0], "").ends_with("USING default\r\n"));
  world.settle();
  const std::string last = world.ask(*clients[4], "");
  EXPECT_TRUE(last.starts_with("OK ") && last.ends_with("USING default\r\n"));
}

TEST_F(ServicePages, NoInputIsReadDuringAWaitAtTheMemoryLimit) {
  Session& waiting = world.connect();
  Session& idle = world.connect();
  world.send(waiting, "watch other\r\nignore default\r\nreserve\r\n");
  world.receive(waiting);
  world.send(waiting, "list-tube-used\r\n");
  EXPECT_TRUE(waiting.wants_input());
  reach_limit();
  EXPECT_FALSE(waiting.wants_input());
  EXPECT_TRUE(idle.wants_input());
  world.ask(idle, "use other\r\nput 0 0 60 1\r\nx\r\n");
  EXPECT_TRUE(world.ask(waiting, "").ends_with("USING default\r\n"));
  EXPECT_TRUE(waiting.wants_input());
}

TEST_F(ServicePages, UnreadAnswersAreFewAtTheMemoryLimit) {
  Session& client = world.connect();
  std::string commands;
  std::string answers;
  for (int i = 0; i < 500; ++i) {
    commands += "list-tube-used\r\n";
    answers += "USING default\r\n";
  }
  reach_limit();
  world.send(client, commands);
  world.settle();
  EXPECT_LT(client.output().owned_bytes(), 1024U);
  EXPECT_FALSE(client.wants_input());
  EXPECT_EQ(world.ask(client, ""), answers);
}

TEST_F(ServicePages, BatchesAreSmallAtTheMemoryLimit) {
  Session& worker = world.connect();
  reach_limit();
  world.send(worker, "reserve-batch 200\r\n");
  EXPECT_GT(worker.output().owned_bytes(), 1000U);
  EXPECT_LT(worker.output().owned_bytes(), 8192U);
}

}  // namespace
}  // namespace haricot
