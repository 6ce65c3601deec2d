// Sessions that wait for the end of a job.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "service/service_state.hpp"
#include "service/service_world.hpp"

namespace haricot {
namespace {

using test::ServiceWorld;
using test::whole_put;

class SessionJobWaits : public ::testing::Test {
 protected:
  SessionJobWaits() : waiting(world.connect(&world)), other(world.connect(&world)) {
    EXPECT_EQ(world.ask(other, whole_put("x")), "INSERTED 1\r\n");
  }
  void TearDown() override { service.engine().check_invariants(); }

  ServiceWorld world;
  Service& service = world.service;
  Session& waiting;
  Session& other;
};

TEST_F(SessionJobWaits, RunNoCommandBeforeTheEnd) {
  EXPECT_EQ(world.ask(waiting, "wait-job 1 60\r\nuse t\r\n"), "");
  EXPECT_EQ(world.ask(other, "delete 1\r\n"), "DELETED\r\n");
  EXPECT_EQ(world.ask(waiting, ""), "DELETED\r\nUSING t\r\n");
}

TEST_F(SessionJobWaits, AreNotifiedOfADeletionWhenItIsSafe) {
  EXPECT_EQ(world.ask(waiting, "wait-job 1 60\r\n"), "");
  world.journal.hold_back();
  EXPECT_EQ(world.ask(other, "delete 1\r\n"), "");
  EXPECT_TRUE(waiting.has_output());
  EXPECT_FALSE(waiting.may_send());
  world.journal.make_safe();
  service.end_turn(world.now);
  EXPECT_EQ(world.receive(waiting), "DELETED\r\n");
  EXPECT_EQ(world.receive(other), "DELETED\r\n");
}

TEST_F(SessionJobWaits, AreNotNotifiedOfADeletionInDoubt) {
  EXPECT_EQ(world.ask(waiting, "wait-job 1 60\r\n"), "");
  world.journal.hold_back();
  EXPECT_EQ(world.ask(other, "delete 1\r\n"), "");
  world.journal.doubt(world.journal.records());
  service.end_turn(world.now);
  EXPECT_EQ(world.receive(waiting), "INTERNAL_ERROR\r\n");
}

TEST_F(SessionJobWaits, AreNotifiedOfABurialWhenItIsSafe) {
  EXPECT_EQ(world.ask(waiting, "wait-job 1 60\r\n"), "");
  EXPECT_EQ(world.ask(other, "reserve\r\n"), "RESERVED 1 1\r\nx\r\n");
  world.journal.hold_back();
  EXPECT_EQ(world.ask(other, "bury 1 0\r\n"), "");
  EXPECT_FALSE(waiting.may_send());
  world.journal.make_safe();
  service.end_turn(world.now);
  EXPECT_EQ(world.receive(waiting), "BURIED\r\n");
}

TEST_F(SessionJobWaits, WaitInDrainModeToo) {
  service.drain();
  EXPECT_EQ(world.ask(waiting, "wait-job 1 60\r\n"), "");
  EXPECT_EQ(world.ask(other, "delete 1\r\n"), "DELETED\r\n");
  EXPECT_EQ(world.receive(waiting), "DELETED\r\n");
}

TEST_F(SessionJobWaits, AreNotCountedAsWorkers) {
  EXPECT_EQ(world.ask(waiting, "wait-job 1 60\r\n"), "");
  EXPECT_EQ(world.stat(other, "current-waiting"), 0U);
  EXPECT_EQ(world.stat(other, "current-workers"), 0U);
}

TEST_F(SessionJobWaits, ContinueInAnotherProcess) {
  EXPECT_EQ(world.ask(waiting, "wait-job 1 60\r\nlist-tube-used\r\n"), "");
  ServiceWorld next;
  const std::vector<Session*> sessions = test::hand_over(world, next, {&next, &next});
  ASSERT_EQ(sessions.size(), 2U);
  next.settle();
  EXPECT_FALSE(sessions[0]->has_output());
  EXPECT_EQ(next.ask(*sessions[1], "delete 1\r\n"), "DELETED\r\n");
  EXPECT_EQ(next.receive(*sessions[0]), "DELETED\r\nUSING default\r\n");
}

}  // namespace
}  // namespace haricot
