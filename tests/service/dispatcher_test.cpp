#include "haricot/service/dispatcher.hpp"

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace haricot
