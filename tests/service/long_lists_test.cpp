#include "haricot/service/long_lists.hpp"

#include <gtest/gtest.h>

#include <string>

#include "haricot/base/turn_limits.hpp"
#include "service/part_world.hpp"

namespace haricot {
namespace {

using Stopped = Session::Stopped;

class LongListsTest : public ::testing::Test, protected test::PartWorld {
 protected:
  ~LongListsTest() override {
    for (const auto& session : sessions) lists.remove(*session);
  }

  static Command command(Verb verb) {
    Command result;
    result.verb = verb;
    return result;
  }
  Budget share(std::uint64_t steps = Budget::kAll) const { return {engine.steps(), steps}; }
  void begin(Session& session, Verb verb, std::uint64_t steps = Budget::kAll) {
    lists.begin(session, command(verb), share(steps));
  }
  // Runs the rest of a list, and returns the whole output.
  std::string rest(Session& session) {
    std::string text = take_output(session);
    while (session.is_answered_in_pieces()) {
      engine.advance(now);
      run_queue.remove(session);
      (void)lists.resume(session, share());
      text += take_output(session);
    }
    return text;
  }
  static std::string list_of(int tubes) {
    std::string text = "---\n- default\n";
    for (int i = 0; i < tubes; ++i) text += "- tube-" + std::to_string(i) + "\n";
    return "OK " + std::to_string(text.size()) + "\r\n" + text + "\r\n";
  }

  LongLists lists{engine, run_queue, outbox, turn};
};

TEST_F(LongListsTest, AListAboveAPageOfTubesIsLong) {
  Session& session = connect();
  Session& other = connect();
  const Command all = command(Verb::list_tubes);
  const Command watched = command(Verb::list_tubes_watched);
  EXPECT_FALSE(lists.is_long(session, all));
  EXPECT_FALSE(lists.is_long(session, watched));
  watch(session, 1000);
  EXPECT_TRUE(lists.is_long(session, all));
  EXPECT_TRUE(lists.is_long(other, all));
  EXPECT_TRUE(lists.is_long(session, watched));
  EXPECT_FALSE(lists.is_long(other, watched));
  EXPECT_FALSE(lists.is_long(session, command(Verb::stats)));
}

TEST_F(LongListsTest, AListOfWatchedTubesConsumesTheShare) {
  Session& session = connect();
  watch(session, 1000);
  begin(session, Verb::list_tubes_watched, 100);
  EXPECT_TRUE(session.is_answered_in_pieces());
  EXPECT_EQ(session.stopped(), Stopped::has_had_share);
  EXPECT_TRUE(session.has_output());
  EXPECT_EQ(rest(session), list_of(1000));
}

TEST_F(LongListsTest, AListStopsWhileTheOutputIsFull) {
  Session& session = connect();
  const std::string prefix(180, 'x');
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(engine.watch(session.client(), prefix + std::to_string(i)), Outcome::done);
  }
  begin(session, Verb::list_tubes_watched);
  EXPECT_EQ(session.stopped(), Stopped::output_full);
  EXPECT_FALSE(session.to_run.linked());
  EXPECT_LT(session.output().owned_bytes(), std::size_t{64} * 1024);
  EXPECT_GT(rest(session).size(), 1000 * prefix.size());
}

TEST_F(LongListsTest, AListOfAllTubesIsSharedAndWaitsForItsPages) {
  Session& first = connect();
  Session& second = connect();
  watch(first, 20'000);
  begin(first, Verb::list_tubes);
  begin(second, Verb::list_tubes);
  EXPECT_EQ(first.stopped(), Stopped::has_had_share);
  EXPECT_FALSE(first.has_output());
  EXPECT_EQ(rest(first), list_of(20'000));
  EXPECT_EQ(rest(second), list_of(20'000));
  EXPECT_TRUE(engine.tube_list().pages().empty()) << "all have got their pages";
}

TEST_F(LongListsTest, AClosedSessionWaitsForNoPages) {
  Session& session = connect();
  Session& other = connect();
  watch(other, 20'000);
  begin(session, Verb::list_tubes);
  lists.remove(session);
  EXPECT_FALSE(session.is_answered_in_pieces());
  while (engine.tube_list().is_working()) engine.advance(now);
  begin(other, Verb::list_tubes);
  EXPECT_EQ(rest(other), list_of(20'000));
}

TEST_F(LongListsTest, ARestartAddsAllPages) {
  Session& session = connect();
  watch(session, 20'000);
  begin(session, Verb::list_tubes);
  lists.add_all_pages(session);
  EXPECT_FALSE(session.has_output()) << "there is no page yet";
  while (engine.tube_list().is_working()) engine.advance(now);
  run_queue.remove(session);
  (void)lists.resume(session, share(1));
  EXPECT_TRUE(session.is_answered_in_pieces());
  lists.add_all_pages(session);
  EXPECT_FALSE(session.is_answered_in_pieces());
  EXPECT_EQ(take_output(session), list_of(20'000));
}

TEST_F(LongListsTest, ARestoredListContinues) {
  Session& session = connect();
  watch(session, 100);
  ASSERT_TRUE(lists.restore(session, {}));
  EXPECT_FALSE(session.is_answered_in_pieces());
  ASSERT_TRUE(lists.restore(session, {.kind = Session::List::watched_tubes, .number = 2}));
  EXPECT_EQ(rest(session), "- tube-98\n- tube-99\n\r\n");
  Session& other = connect();
  ASSERT_TRUE(lists.restore(other, {.kind = Session::List::all_tubes, .number = 77}));
  engine.write_list();
  EXPECT_EQ(rest(other), list_of(100));
}

TEST_F(LongListsTest, AnImpossibleListIsNotRestored) {
  Session& session = connect();
  for (const std::uint64_t left : {0U, 2U}) {
    EXPECT_FALSE(lists.restore(session, {.kind = Session::List::watched_tubes, .number = left}));
    EXPECT_FALSE(session.is_answered_in_pieces());
  }
}

}  // namespace
}  // namespace haricot
