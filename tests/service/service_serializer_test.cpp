#include "haricot/service/service_serializer.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/little_endian.hpp"
#include "service/service_fixture.hpp"
#include "service/service_state.hpp"
#include "service/service_world.hpp"

namespace haricot {
namespace {

using test::put_line;
using test::repeated;
using test::ServiceTest;
using test::ServiceWorld;
using test::whole_put;

class ServiceSerializerTest : public ServiceTest {
 protected:
  Session& connect() {
    owners_.push_back(&next_);  // Any value except null, which means a lost connection.
    sessions_.push_back(&world.connect(&next_));
    return *sessions_.back();
  }
  // Hands all sessions over to another service, except those whose owner was set to null.
  void move_to_next() {
    sessions_ = test::hand_over(world, next_, owners_);
    ASSERT_EQ(sessions_.size(), owners_.size());
  }
  std::string receive(std::size_t i) {
    next_.settle();
    return next_.receive(*sessions_[i]);
  }
  // Returns true if a server accepts the state.
  bool is_taken(const std::string& state) {
    ServiceWorld other;
    return !test::restore_service(state, other, owners_).empty();
  }
  std::string ask(std::size_t i, std::string_view bytes) { return next_.ask(*sessions_[i], bytes); }

  ServiceWorld next_{4 * 1024 * 1024};
  std::vector<Session*> sessions_;
  std::vector<void*> owners_;
};

TEST_F(ServiceSerializerTest, ALineContinuesInItsMiddle) {
  world.send(connect(), "list-tube");
  world.send(connect(), std::string(300, 'x'));  // Too long: its rest is discarded.
  move_to_next();
  EXPECT_EQ(ask(0, "-used\r\n"), "USING default\r\n");
  EXPECT_EQ(ask(1, "y\r\nlist-tube-used\r\n"), "BAD_FORMAT\r\nUSING default\r\n");
}

TEST_F(ServiceSerializerTest, BodiesContinueInTheirMiddle) {
  const std::string large(10'000, 'l');
  world.send(connect(), put_line(5) + "ab");
  world.send(connect(), put_line(large.size()) + large.substr(0, 4000));
  world.send(connect(), "put 0 0 60 10000 idp:key con:lane\r\n" + large.substr(0, 9000));
  world.send(connect(), put_line(large.size()) + large + "\r");
  world.send(connect(), put_line(5'000'000) + large);  // Too big: discarded.
  move_to_next();
  EXPECT_EQ(ask(0, "cde\r\n"), "INSERTED 1\r\n");
  EXPECT_EQ(ask(1, large.substr(4000) + "\r\n"), "INSERTED 2\r\n");
  EXPECT_EQ(ask(2, large.substr(9000) + "\r\n"), "INSERTED 3\r\n");
  EXPECT_EQ(ask(3, "\n"), "INSERTED 4\r\n");
  EXPECT_EQ(ask(4, std::string(5'000'000 - large.size(), 'z') + "\r\nlist-tube-used\r\n"),
            "JOB_TOO_BIG\r\nUSING default\r\n");
  EXPECT_EQ(ask(0, "peek 2\r\n"), "FOUND 2 10000\r\n" + large + "\r\n");
  EXPECT_EQ(ask(0, "put 0 0 60 1 idp:key\r\nx\r\n"), "INSERTED 3 READY\r\n");
}

TEST_F(ServiceSerializerTest, UnsentAnswersAreSent) {
  Session& session = connect();
  const std::string large(10'000, 'l');
  ASSERT_EQ(world.ask(session, whole_put(large)), "INSERTED 1\r\n");
  world.send(session, repeated("peek 1\r\nlist-tube-used\r\n", 3));
  EXPECT_EQ(world.receive(session, 5000).size(), 5000U);  // To the middle of a body.
  move_to_next();
  const std::string all = repeated("FOUND 1 10000\r\n" + large + "\r\nUSING default\r\n", 3);
  EXPECT_EQ(receive(0), all.substr(5000));
}

TEST_F(ServiceSerializerTest, RemainingCommandsRun) {
  Session& session = connect();
  // The answers are not read, so most of the commands are left.
  world.send(session, repeated("stats\r\n", 2000));
  world.settle();
  move_to_next();
  std::string received;
  for (std::string more = receive(0); !more.empty(); more = receive(0)) received += more;
  std::size_t answers = 0;
  for (std::size_t at = received.find("OK "); at != std::string::npos;
       at = received.find("OK ", at + 1)) {
    ++answers;
  }
  EXPECT_EQ(answers, 2000U);
}

TEST_F(ServiceSerializerTest, ASessionOfTheBacklogMayHaveLostItsConnection) {
  world.send(connect(), repeated("use t\r\n", 3000));
  world.send(connect(), "use u\r\n");
  owners_[0] = nullptr;
  move_to_next();
  EXPECT_EQ(sessions_[0], nullptr);
  EXPECT_EQ(receive(1), "USING u\r\n");
}

// After a broken state, a server closes the sessions that it has read.
TEST_F(ServiceSerializerTest, ASessionOfTheBacklogMayBeClosedDuringTheReading) {
  world.send(connect(), repeated("use t\r\n", 3000));
  const std::string state = test::service_state(service);
  StateReader reader(state);
  ServiceSerializer serializer = next_.service.serializer();
  ASSERT_EQ(serializer.read_queue(reader), ServiceSerializer::Read::good);
  Session* session = nullptr;
  ASSERT_TRUE(serializer.read_session(reader, &next_, false, next_.now, session));
  next_.disconnect(*session);
}

TEST_F(ServiceSerializerTest, AWaitKeepsItsDeadline) {
  world.send(connect(), "reserve-with-timeout 10\r\nlist-tube-used\r\n");
  world.send(connect(), "reserve\r\n");
  world.pass_s(4);
  move_to_next();
  next_.pass_s(5);
  EXPECT_EQ(receive(0), "");
  next_.pass_s(1);
  EXPECT_EQ(receive(0), "TIMED_OUT\r\nUSING default\r\n");
  EXPECT_EQ(ask(0, whole_put("job")), "INSERTED 1\r\n");
  EXPECT_EQ(receive(1), "RESERVED 1 3\r\njob\r\n");
}

TEST_F(ServiceSerializerTest, ASessionWithoutItsConnectionReturnsItsJobs) {
  ASSERT_EQ(world.ask(connect(), whole_put("job") + "reserve\r\n"),
            "INSERTED 1\r\nRESERVED 1 3\r\njob\r\n");
  world.send(connect(), "reserve\r\n");
  owners_[0] = nullptr;
  move_to_next();
  EXPECT_EQ(sessions_[0], nullptr);
  EXPECT_EQ(receive(1), "RESERVED 1 3\r\njob\r\n");
}

TEST_F(ServiceSerializerTest, CountersContinueAndDrainModeEnds) {
  Session& session = connect();
  ASSERT_EQ(world.ask(session, whole_put("job")), "INSERTED 1\r\n");
  service.drain();
  ASSERT_EQ(world.ask(session, whole_put("job")), "DRAINING\r\n");
  move_to_next();
  EXPECT_EQ(next_.stat(*sessions_[0], "cmd-put"), 2U);
  EXPECT_EQ(next_.stat(*sessions_[0], "total-connections"), 1U);
  EXPECT_EQ(next_.stat(*sessions_[0], "total-jobs"), 1U);
  // Drain mode ends: on many servers, a restart is the only way to end it.
  EXPECT_EQ(ask(0, whole_put("job")), "INSERTED 3\r\n");
}

TEST_F(ServiceSerializerTest, AConnectionKeepsItsAgeAndCommandCount) {
  Session& worker = connect();
  ASSERT_EQ(world.ask(worker, whole_put("job") + "reserve\r\n"),
            "INSERTED 1\r\nRESERVED 1 3\r\njob\r\n");
  world.pass_s(3);
  world.send(connect(), "reserve\r\n");
  world.pass_s(4);
  move_to_next();
  const auto row = [&](const std::string& id) { return ask(0, "list-clients " + id + " 1\r\n"); };
  const std::string first = row("1");
  EXPECT_EQ(test::report_number(first, "  age"), 7U);
  EXPECT_EQ(test::report_number(first, "  commands"), 3U);
  const std::string second = row("2");
  EXPECT_EQ(test::report_number(second, "  age"), 4U);
  EXPECT_EQ(test::report_number(second, "  idle"), 4U);
  EXPECT_EQ(test::report_number(second, "  commands"), 1U);
  EXPECT_EQ(test::report_number(ask(0, "scan-jobs 1 1\r\n"), "  holder"), 1U);
}

TEST_F(ServiceSerializerTest, ALongListContinues) {
  Session& session = connect();
  for (int i = 0; i < 3000; ++i) {
    ASSERT_NE(world.ask(session, "watch a-tube-with-a-long-name-" + std::to_string(i) + "\r\n"),
              "");
  }
  ServiceWorld same;
  const std::string list = [&] {
    world.send(session, "list-tubes-watched\r\n");
    world.settle();
    std::string received = world.receive(session, 100);
    move_to_next();
    for (std::string more = receive(0); !more.empty(); more = receive(0)) received += more;
    return received;
  }();
  EXPECT_EQ(list, ask(0, "list-tubes-watched\r\n"));
}

// The list is a snapshot, and its length was sent before the hand-over.
TEST_F(ServiceSerializerTest, AListOfAllTubesInProgressDoesNotChange) {
  Session& session = connect();
  const std::string name(190, 'x');
  for (int i = 0; i < 8'000; ++i) {
    ASSERT_NE(world.ask(session, "watch " + name + std::to_string(i) + "\r\n"), "");
  }
  world.send(session, "list-tubes\r\nuse last\r\n");
  world.settle();
  std::string received = world.receive(session, 100);
  world.ask(connect(), "use another\r\n");
  move_to_next();
  for (std::string more = receive(0); !more.empty(); more = receive(0)) received += more;
  const std::string list = ask(0, "list-tubes-watched\r\n");
  EXPECT_EQ(received, list + "USING last\r\n");
}

TEST_F(ServiceSerializerTest, ATruncatedStateIsRejected) {
  world.send(connect(), put_line(5) + "ab");
  ASSERT_EQ(world.ask(connect(), whole_put("job") + "reserve\r\n"),
            "INSERTED 2\r\nRESERVED 2 3\r\njob\r\n");
  const std::string whole = test::service_state(service);
  ASSERT_TRUE(is_taken(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(is_taken(whole.substr(0, size))) << size;
  }
}

// An incomplete put has an id that no job and no other put has, and a large body has memory.
TEST_F(ServiceSerializerTest, AnImpossiblePutIsRejected) {
  world.send(connect(), "put 77 0 60 5\r\nab");
  world.send(connect(), "put 88 0 60 5\r\nab");
  ASSERT_EQ(world.ask(connect(), whole_put("job")), "INSERTED 3\r\n");
  const std::string whole = test::service_state(service);
  constexpr std::size_t kIdBytes = 8;
  constexpr std::size_t kBodyBytesAfterPriority = 12;
  const std::size_t priority = whole.find(std::string("\x4d\0\0\0\0\0\0\0\x3c\0\0\0", 12));
  ASSERT_NE(priority, std::string::npos);
  const auto with_id = [&](std::uint64_t id) {
    std::string changed = whole;
    store_little_endian(changed.data() + priority - kIdBytes, id);
    return changed;
  };
  const auto with_body_bytes = [&](std::uint32_t bytes) {
    std::string changed = whole;
    store_little_endian(changed.data() + priority + kBodyBytesAfterPriority, bytes);
    return changed;
  };
  EXPECT_TRUE(is_taken(with_id(1)));
  for (const std::uint64_t id : {0U, 2U, 3U, 4U}) EXPECT_FALSE(is_taken(with_id(id))) << id;
  EXPECT_TRUE(is_taken(with_body_bytes(1024)));
  EXPECT_FALSE(is_taken(with_body_bytes(1025)));
}

}  // namespace
}  // namespace haricot
