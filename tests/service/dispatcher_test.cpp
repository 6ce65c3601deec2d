#include "haricot/service/dispatcher.hpp"

#include <gtest/gtest.h>

#include <string>

#include "service/service_world.hpp"
#include "support/allocations.hpp"
#include "support/engine_world.hpp"
#include "support/report_value.hpp"

namespace haricot {
namespace {

using test::World;

class DispatcherTest : public ::testing::Test {
 protected:
  // Returns the line of the answer, followed by a blank and its body.
  std::string run(Client& client, std::string_view line) {
    Command command;
    EXPECT_EQ(parse_command(line, command), ParseResult::ok) << line;
    std::string text = text_of(dispatcher_.run(client, command, CommandSet::operators, world_.now));
    const auto& deliveries = world_.engine.deliveries();
    if (deliveries.empty() || !deliveries.back().is_at_once) return text;
    text += text_of(dispatcher_.delivered(deliveries.back()));
    world_.engine.clear_deliveries();
    return text;
  }
  static std::string text_of(const Reply& reply) {
    if (reply.code == ReplyCode::none) return "";
    char room[kReplyLineBytesMax];
    std::string text(room, write_reply_line(reply, room));
    if (!has_body(reply.code)) return text;
    return text + std::string(reply.blob ? reply.blob.view() : reply.text) + "\r\n";
  }
  std::string put(Client& client, std::string_view line, std::string_view body) {
    Command command;
    EXPECT_EQ(parse_command(line, command), ParseResult::ok) << line;
    const PutPlan plan = dispatcher_.begin_put(client, command);
    if (plan.refusal != ReplyCode::none) return text_of({plan.refusal});
    NewBody whole = test::body_of_bytes(body);
    return text_of(dispatcher_.finish_put(client, plan, whole, world_.now));
  }
  std::uint64_t stat(Client& client, const std::string& key) {
    return test::report_number(run(client, "stats"), key);
  }

  World world_;
  ServerInfo info_;
  MemoryCushion cushion_;
  Dispatcher dispatcher_{world_.engine, world_.journal, info_, cushion_, world_.now};
};

TEST_F(DispatcherTest, CollectsOversizedPutsForTheLog) {
  Client& client = world_.connect();
  info_.job_bytes_max = 10;
  EXPECT_FALSE(dispatcher_.has_oversized());
  run(client, "use mail");
  put(client, "put 0 0 1 10", "1234567890");
  EXPECT_FALSE(dispatcher_.has_oversized());
  put(client, "put 0 0 1 5000000", "");
  put(client, "put 0 0 1 11", "");
  ASSERT_TRUE(dispatcher_.has_oversized());
  const OversizedPuts puts = dispatcher_.take_oversized();
  EXPECT_EQ(puts.count, 2U);
  EXPECT_EQ(puts.largest_bytes, 5000000U);
  EXPECT_EQ(puts.limit, 10U);
  EXPECT_EQ(puts.tube, "mail");
  EXPECT_FALSE(dispatcher_.has_oversized());
}

TEST_F(DispatcherTest, EachCommandHasItsWordForSuccess) {
  Client& client = world_.connect();
  EXPECT_EQ(put(client, "put 5 0 10 4", "body"), "INSERTED 1\r\n");
  EXPECT_EQ(run(client, "peek 1"), "FOUND 1 4\r\nbody\r\n");
  EXPECT_EQ(run(client, "peek-ready"), "FOUND 1 4\r\nbody\r\n");
  EXPECT_EQ(run(client, "reserve"), "RESERVED 1 4\r\nbody\r\n");
  EXPECT_EQ(run(client, "touch 1"), "TOUCHED\r\n");
  EXPECT_EQ(run(client, "release 1 5 0"), "RELEASED\r\n");
  EXPECT_EQ(run(client, "reserve-with-timeout 0"), "RESERVED 1 4\r\nbody\r\n");
  EXPECT_EQ(run(client, "bury 1 5"), "BURIED\r\n");
  EXPECT_EQ(run(client, "peek-buried"), "FOUND 1 4\r\nbody\r\n");
  EXPECT_EQ(run(client, "kick 10"), "KICKED 1\r\n");
  EXPECT_EQ(run(client, "reserve-job 1"), "RESERVED 1 4\r\nbody\r\n");
  EXPECT_EQ(run(client, "release 1 5 100"), "RELEASED\r\n");
  EXPECT_EQ(run(client, "peek-delayed"), "FOUND 1 4\r\nbody\r\n");
  EXPECT_EQ(run(client, "kick-job 1"), "KICKED\r\n");
  EXPECT_EQ(run(client, "delete 1"), "DELETED\r\n");
  EXPECT_EQ(run(client, "use t"), "USING t\r\n");
  EXPECT_EQ(run(client, "list-tube-used"), "USING t\r\n");
  EXPECT_EQ(run(client, "watch t"), "WATCHING 2\r\n");
  EXPECT_EQ(run(client, "list-tubes"), "OK 18\r\n---\n- default\n- t\n\r\n");
  EXPECT_EQ(run(client, "list-tubes-watched"), "OK 18\r\n---\n- default\n- t\n\r\n");
  EXPECT_EQ(run(client, "ignore default"), "WATCHING 1\r\n");
  EXPECT_EQ(run(client, "ignore no-such-tube"), "WATCHING 1\r\n");
  EXPECT_EQ(run(client, "list-tubes-watched"), "OK 8\r\n---\n- t\n\r\n");
  EXPECT_EQ(run(client, "pause-tube t 5"), "PAUSED\r\n");
}

TEST_F(DispatcherTest, EachCommandHasItsWordForFailure) {
  Client& client = world_.connect();
  for (const char* line : {"peek 1", "peek-ready", "peek-delayed", "peek-buried", "reserve-job 1",
                           "delete 1", "release 1 0 0", "bury 1 0", "touch 1", "kick-job 1",
                           "stats-job 1", "stats-tube t", "pause-tube t 1"}) {
    EXPECT_EQ(run(client, line), "NOT_FOUND\r\n") << line;
  }
  EXPECT_EQ(run(client, "reserve-with-timeout 0"), "TIMED_OUT\r\n");
  EXPECT_EQ(run(client, "ignore default"), "NOT_IGNORED\r\n");
  EXPECT_EQ(run(client, "kick 5"), "KICKED 0\r\n");
  put(client, "put 0 0 1 0", "");
  run(client, "reserve");
  EXPECT_EQ(run(client, "reserve"), "DEADLINE_SOON\r\n");
}

TEST_F(DispatcherTest, AWaitingReserveIsNotAnswered) {
  Client& client = world_.connect();
  EXPECT_EQ(run(client, "reserve"), "");
  EXPECT_TRUE(client.is_waiting());
}

TEST_F(DispatcherTest, ADeliveryBecomesAReply) {
  Client& client = world_.connect();
  Client& other = world_.connect();
  const auto delivered = [&] {
    EXPECT_EQ(world_.engine.deliveries().size(), 1u);
    const std::string text = text_of(dispatcher_.delivered(world_.engine.deliveries().at(0)));
    world_.engine.clear_deliveries();
    return text;
  };
  run(client, "reserve");
  put(other, "put 0 0 3 4", "body");
  EXPECT_EQ(delivered(), "RESERVED 1 4\r\nbody\r\n");
  run(client, "reserve");
  world_.pass_s(2);
  EXPECT_EQ(delivered(), "DEADLINE_SOON\r\n");
  run(other, "reserve-with-timeout 1");
  world_.pass_ms(999);
  EXPECT_TRUE(world_.engine.deliveries().empty());
  world_.engine.stop_waiting(other, Delivery::Kind::timed_out);
  EXPECT_EQ(delivered(), "TIMED_OUT\r\n");
  for (std::uint32_t i = 0; i <= Engine::kJobsPerCall; ++i) put(other, "put 0 9 9 0", "");
  EXPECT_EQ(run(other, "kick 4294967295"), "");
  world_.engine.advance(world_.now);
  EXPECT_EQ(delivered(), "KICKED " + std::to_string(Engine::kJobsPerCall + 1) + "\r\n");
}

TEST_F(DispatcherTest, ALargeBodyIsPassedAsABlob) {
  Client& client = world_.connect();
  const std::string large(5000, 'x');
  EXPECT_EQ(put(client, "put 0 0 1 5000", large), "INSERTED 1\r\n");
  Command command;
  ASSERT_EQ(parse_command("peek 1", command), ParseResult::ok);
  const Reply reply = dispatcher_.run(client, command, CommandSet::operators, world_.now);
  EXPECT_TRUE(reply.blob);
  EXPECT_EQ(text_of(reply), "FOUND 1 5000\r\n" + large + "\r\n");
}

TEST_F(DispatcherTest, AnOversizedPutTakesNoIdAndCountsNoProducer) {
  info_.job_bytes_max = 10;
  Client& client = world_.connect();
  EXPECT_EQ(put(client, "put 0 0 1 11", "12345678901"), "JOB_TOO_BIG\r\n");
  EXPECT_EQ(world_.engine.counts().producers, 0u);
  EXPECT_EQ(put(client, "put 0 0 1 10", "1234567890"), "INSERTED 1\r\n");
  EXPECT_EQ(world_.engine.counts().producers, 1u);
  EXPECT_EQ(stat(client, "cmd-put"), 2u);
  EXPECT_EQ(stat(client, "total-jobs"), 1u);
}

TEST_F(DispatcherTest, AnIdIsTakenWhenThePutIsAnnounced) {
  Client& client = world_.connect();
  Command command;
  ASSERT_EQ(parse_command("put 0 0 1 1", command), ParseResult::ok);
  dispatcher_.begin_put(client, command);  // Its body does not arrive.
  EXPECT_EQ(put(client, "put 0 0 1 1", "x"), "INSERTED 2\r\n");
}

TEST_F(DispatcherTest, DrainModeRefusesOnlyPuts) {
  Client& client = world_.connect();
  put(client, "put 0 0 1 1", "x");
  dispatcher_.drain();
  EXPECT_TRUE(dispatcher_.is_draining());
  EXPECT_EQ(put(client, "put 0 0 1 1", "x"), "DRAINING\r\n");
  EXPECT_EQ(run(client, "reserve"), "RESERVED 1 1\r\nx\r\n");
  EXPECT_EQ(run(client, "release 1 0 0"), "RELEASED\r\n");
  EXPECT_NE(run(client, "stats").find("\ndraining: true\n"), std::string::npos);
}

TEST_F(DispatcherTest, AFullJournalFailsPutsWithOutOfMemory) {
  Client& client = world_.connect();
  put(client, "put 0 0 100 1", "x");
  run(client, "reserve");
  world_.journal.refuse_from(1, JournalStatus::full);
  EXPECT_EQ(put(client, "put 0 0 1 1", "x"), "OUT_OF_MEMORY\r\n");
  EXPECT_EQ(run(client, "release 1 0 0"), "INTERNAL_ERROR\r\n");
  EXPECT_EQ(run(client, "bury 1 0"), "INTERNAL_ERROR\r\n");
  world_.journal.accept();
  EXPECT_EQ(run(client, "bury 1 0"), "BURIED\r\n");
  world_.journal.refuse_from(1, JournalStatus::failed);
  EXPECT_EQ(put(client, "put 0 0 1 1", "x"), "INTERNAL_ERROR\r\n");
  EXPECT_EQ(run(client, "kick 1"), "INTERNAL_ERROR\r\n");
  EXPECT_EQ(run(client, "kick-job 1"), "INTERNAL_ERROR\r\n");
  EXPECT_EQ(run(client, "delete 1"), "INTERNAL_ERROR\r\n");
  EXPECT_EQ(run(client, "reserve-job 1"), "INTERNAL_ERROR\r\n");
  world_.journal.accept();
  EXPECT_EQ(run(client, "delete 1"), "DELETED\r\n");
}

TEST_F(DispatcherTest, EveryCommandIsCountedUnderItsKey) {
  Client& client = world_.connect();
  const std::pair<const char*, const char*> commands[] = {
      {"peek 1", "cmd-peek"},
      {"peek-ready", "cmd-peek-ready"},
      {"peek-delayed", "cmd-peek-delayed"},
      {"peek-buried", "cmd-peek-buried"},
      {"reserve-with-timeout 0", "cmd-reserve-with-timeout"},
      {"delete 1", "cmd-delete"},
      {"release 1 0 0", "cmd-release"},
      {"use default", "cmd-use"},
      {"watch default", "cmd-watch"},
      {"ignore default", "cmd-ignore"},
      {"bury 1 0", "cmd-bury"},
      {"kick 1", "cmd-kick"},
      {"touch 1", "cmd-touch"},
      {"stats-job 1", "cmd-stats-job"},
      {"stats-tube t", "cmd-stats-tube"},
      {"list-tubes", "cmd-list-tubes"},
      {"list-tube-used", "cmd-list-tube-used"},
      {"list-tubes-watched", "cmd-list-tubes-watched"},
      {"pause-tube t 1", "cmd-pause-tube"},
  };
  std::uint64_t times = 1;
  for (const auto& [line, key] : commands) {
    for (std::uint64_t i = 0; i < times; ++i) run(client, line);
    ++times;
  }
  times = 1;
  for (const auto& [line, key] : commands) EXPECT_EQ(stat(client, key), times++) << key;
  const std::uint64_t before = stat(client, "cmd-stats");
  EXPECT_EQ(stat(client, "cmd-stats"), before + 1);  // It counts itself.
  run(client, "reserve");
  EXPECT_EQ(stat(world_.connect(), "cmd-reserve"), 1u);
}

TEST_F(DispatcherTest, StatsReportTheUptime) {
  Client& client = world_.connect();
  dispatcher_.count_connection();
  dispatcher_.count_connection();
  world_.pass_s(77);
  EXPECT_EQ(stat(client, "uptime"), 77u);
  EXPECT_EQ(stat(client, "total-connections"), 2u);
}

bool keep(PendingTags& tags, JobId id, std::string_view text) {
  JobTags read;
  EXPECT_TRUE(read_tags(text, read));
  return tags.keep(id, text, read);
}

// Keeps the tags, and then destroys their line.
bool keep_without_line(PendingTags& tags, JobId id, std::string line) {
  const bool is_kept = keep(tags, id, line);
  tags.release_line();
  line.assign(line.size(), '?');
  return is_kept;
}

TEST(PendingTags, OnePutAtATimeNeedsNoAllocation) {
  PendingTags tags;
  for (JobId id = 1; id <= 3; ++id) {
    const std::int64_t before = test::made_allocations();
    ASSERT_TRUE(keep_without_line(tags, id, "idp:key-" + std::to_string(id) + " try:2"));
    const ReadTags& kept = tags.find(id);
    EXPECT_EQ(kept.text, "try:2 idp:key-" + std::to_string(id));
    EXPECT_EQ(kept.tags.unique_key, "key-" + std::to_string(id));
    EXPECT_EQ(kept.tags.tries, 2U);
    tags.forget(id);
    EXPECT_EQ(test::made_allocations(), before);
  }
}

TEST(PendingTags, AreCopiedOnlyWhenTheirLineIsReleased) {
  PendingTags tags;
  const std::string_view line = "idp:key";
  ASSERT_TRUE(keep(tags, 1, line));
  EXPECT_EQ(tags.find(1).text.data(), line.data());
  EXPECT_EQ(tags.find(1).tags.unique_key.data(), line.data() + 4);
  tags.release_line();
  EXPECT_NE(tags.find(1).text.data(), line.data());
  EXPECT_EQ(tags.find(1).text, line);
  EXPECT_EQ(tags.find(1).tags.unique_key, "key");
  tags.forget(1);
  tags.release_line();
}

TEST(PendingTags, AreReorderedAtOnce) {
  PendingTags tags;
  ASSERT_TRUE(keep(tags, 1, "idp:key try:2"));
  EXPECT_EQ(tags.find(1).text, "try:2 idp:key");
}

TEST(PendingTags, AreKeptForSeveralPuts) {
  PendingTags tags;
  for (JobId id = 1; id <= 4; ++id) {
    ASSERT_TRUE(keep_without_line(tags, id, "con:c idp:key-" + std::to_string(id)));
  }
  tags.forget(2);
  tags.forget(4);
  tags.forget(7);
  ASSERT_TRUE(keep(tags, 5, "try:5"));
  EXPECT_EQ(tags.find(5).tags.tries, 5U);
  for (const JobId id : {3U, 1U, 3U}) {
    EXPECT_EQ(tags.find(id).tags.unique_key, "key-" + std::to_string(id));
    EXPECT_EQ(tags.find(id).tags.lane, "c");
    EXPECT_EQ(tags.find(id).text, "con:c idp:key-" + std::to_string(id));
  }
}

TEST(PendingTags, KeepTheTimeOfAKey) {
  PendingTags tags;
  ASSERT_TRUE(keep_without_line(tags, 1, "idp:one:060 try:2"));
  ASSERT_TRUE(keep_without_line(tags, 2, "idp:two:4294967295"));
  ASSERT_TRUE(keep_without_line(tags, 3, "idp:three"));
  EXPECT_EQ(tags.find(1).text, "try:2 idp:one:60");
  EXPECT_EQ(tags.find(1).tags.tombstone_s, 60U);
  EXPECT_EQ(tags.find(2).tags.tombstone_s, kTombstoneSecondsMax);
  EXPECT_EQ(tags.find(3).tags.tombstone_s, 0U);
}

TEST(PendingTags, FailWithoutMemoryAndChangeNothing) {
  PendingTags tags;
  ASSERT_TRUE(keep_without_line(tags, 1, "idp:one"));
  bool is_kept = true;
  {
    const test::AllocationFailure failure;
    is_kept = keep(tags, 2, "idp:two");
  }
  EXPECT_FALSE(is_kept);
  EXPECT_EQ(tags.find(1).tags.unique_key, "one");
}

// Bodies of several connections arrive in pieces, alternately.
TEST(PendingTags, BelongToTheirPutsWhileBodiesArrive) {
  test::ServiceWorld world;
  Session& one = world.connect();
  Session& two = world.connect();
  Session& three = world.connect();
  world.send(one, "put 1 0 60 2 idp:one\r\na");
  world.send(two, "put 1 0 60 2 idp:two\r\na");
  world.send(three, "put 1 0 60 2 idp:three\r\n");
  EXPECT_EQ(world.ask(one, "b\r\n"), "INSERTED 1\r\n");
  world.disconnect(three);
  EXPECT_EQ(world.ask(two, "b\r\nput 1 0 60 1 idp:two\r\nx\r\nput 1 0 60 1 idp:one\r\nx\r\n"),
            "INSERTED 2\r\nINSERTED 2 READY\r\nINSERTED 1 READY\r\n");
  EXPECT_EQ(world.ask(one, "put 1 0 60 1 idp:three\r\nx\r\n"), "INSERTED 6\r\n");
  world.service.engine().check_invariants();
}

TEST(PendingTagsDeathTest, FindingMissingTagsAborts) {
  PendingTags tags;
  EXPECT_DEATH(tags.find(7), "found != others_.end");
  ASSERT_TRUE(keep(tags, 1, "idp:one"));
  EXPECT_DEATH((void)keep(tags, 1, "idp:two"), "last_id_");
}

}  // namespace

}  // namespace haricot
