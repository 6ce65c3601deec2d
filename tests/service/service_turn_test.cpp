// Bounds of a turn: for any load, no part of a turn exceeds its budget, and a small request waits
// no longer than that.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "haricot/base/turn_limits.hpp"
#include "service_world.hpp"
#include "support/random.hpp"

namespace haricot {
namespace {

using namespace turn_limits;
using test::repeated;
using test::whole_put;

// Maximum number of sessions that a turn of the daemon reads.
constexpr std::size_t kReadPerTurn = 128;
// Largest indivisible units, by which a budget may be exceeded: for commands, a page of a thousand
// jobs; for long tasks, a page of the list of all tubes, or the announcement of a tube to a dozen
// clients with many watches.
constexpr std::uint64_t kLargestCommand = 1'100 * kStepsPerShownJob;
constexpr std::uint64_t kLargestOfTask = 1'500;

class ServiceTurn : public ::testing::Test {
 protected:
  std::uint64_t& steps() { return world.service.engine().steps(); }

  void turns(int number) {
    for (int i = 0; i < number; ++i) {
      world.service.advance(world.now);
      world.service.run_backlog(world.now);
    }
  }
  Session& connect() { return *sessions.emplace_back(&world.connect()); }
  std::string tube() { return "t" + std::to_string(random.below(kTubes)); }
  // Ids of existing jobs, or none.
  std::string some_ids(std::uint64_t number) {
    std::string ids;
    for (; number > 0; --number) ids += " " + std::to_string(1 + random.below(kJobs));
    return ids;
  }

  // Makes jobs in all places, and clients with many watches, with many jobs, and waiting ones.
  void make_much() {
    Session& producer = connect();
    for (std::uint64_t i = 0; i < kJobs; i += 500) {
      const std::string delay = random.coin() ? "0" : std::to_string(1 + random.below(3));
      const std::string tags = random.one_in(3) ? " con:" + tube() + " try:2" : "";
      const std::string put = "put 0 " + delay + " 2 1" + tags + "\r\nx\r\n";
      world.ask(producer, "use " + tube() + "\r\n" + repeated(put, 500));
    }
    for (int i = 0; i < 12; ++i) {
      Session& session = connect();
      const std::uint64_t watches = random.coin() ? 200 : 1'500;
      for (std::uint64_t tube_of = 0; tube_of < watches; ++tube_of) {
        world.ask(session, "watch t" + std::to_string(tube_of) + "\r\n");
      }
      if (random.coin()) world.ask(session, repeated("reserve-with-timeout 0\r\n", 2'000));
    }
    for (int i = 0; i < 300; ++i) {
      Session& session = connect();
      world.ask(session, "watch " + tube() + "\r\nuse " + tube() + "\r\n");
      if (random.coin()) world.send(session, "reserve\r\n");
    }
    turns(3);
  }

  std::string something() {
    switch (random.below(16)) {
      case 0:
        return "kick " + std::to_string(random.below(100'000)) + "\r\n";
      case 1:
        return "flush-tube " + tube() + "\r\n";
      case 2:
        return "list-jobs " + tube() + " ready " + std::to_string(1 + random.below(1'000)) + "\r\n";
      case 3:
        return "scan-jobs 1 " + std::to_string(1 + random.below(1'000)) + " " + tube() + "\r\n";
      case 4:
        return "stats-tubes * " + std::to_string(1 + random.below(1'000)) + "\r\n";
      case 5:
        return "list-tubes\r\nlist-tubes-watched\r\n";
      case 6:
        return "delete-batch" + some_ids(1 + random.below(500)) + "\r\n";
      case 7:
        return "reserve-batch " + std::to_string(1 + random.below(1'000)) + "\r\n";
      case 8:
        return std::string("reserve-mode ") + (random.coin() ? "weighted" : "fifo") + "\r\n";
      case 9:
        return "watch " + tube() + " " + std::to_string(1 + random.below(9)) + "\r\n";
      case 10:
        return "pause-tube " + tube() + " " + std::to_string(random.below(2)) + "\r\n";
      case 11:
        return "reserve-with-timeout " + std::to_string(random.below(3)) + "\r\n";
      case 12:
        return repeated(whole_put("x"), 1 + random.below(300));
      case 13:
        return "put 0 0 2 1 con:" + tube() + ":1000\r\nx\r\n";
      case 14:
        return "use " + tube() + "\r\n" + repeated("use t\r\n", random.below(4'000));
      default:
        return "bury 1 0\r\nstats\r\n";
    }
  }

  // Checks the number of steps since the mark.
  void expect_at_most(std::uint64_t most, std::uint64_t mark, const char* part) {
    EXPECT_LE(steps() - mark, most) << part << ", HARICOT_SEED=" << random.seed();
  }

  void read_some() {
    const std::uint64_t begin = steps();
    const std::uint64_t asks_at = random.below(kReadPerTurn);
    for (std::size_t i = 0; i < kReadPerTurn; ++i) {
      if (i == asks_at) {
        world.service.receive(*bystander, "use t\r\n", world.now);
        EXPECT_EQ(world.receive(*bystander), "USING t\r\n");
        // The bystander has waited for this turn only.
        expect_at_most(kStepsOfReading + kStepsOfFirsts + i * (kStepsOfCheap + kStepsPerSend) +
                           2 * kLargestCommand,
                       begin, "wait of the bystander");
      }
      if (!busy_turn) continue;
      Session& session = *sessions[random.below(sessions.size())];
      if (!session.wants_input()) continue;
      const std::uint64_t before = steps();
      world.service.receive(session, something(), world.now);
      expect_at_most(kStepsPerShare + kLargestCommand + kStepsOfCalls, before, "one session");
    }
  }

  void close_some() {
    const std::uint64_t before = steps();
    for (int i = 0; i < 3 && sessions.size() > 100; ++i) {
      const std::size_t at = random.below(sessions.size());
      world.disconnect(*sessions[at]);
      sessions.erase(sessions.begin() + static_cast<std::ptrdiff_t>(at));
    }
    // Each command may give one more job to a client that waits on many tubes.
    expect_at_most(kStepsOfCalls + 3 * (2'000 + kStepsPerDelivery), before, "closes");
  }

  void turn() {
    world.journal.written.clear();
    const EngineCounts before = world.service.engine().counts();
    const std::uint64_t begin = steps();
    world.service.advance(world.now);
    expect_at_most(kStepsOfTime + kStepsOfTasks + kLargestOfTask, begin, "time");
    read_some();
    const std::uint64_t backlog = steps();
    world.service.run_backlog(world.now);
    expect_at_most(kStepsOfSessions + 2 * kStepsOfCalls + kLargestCommand, backlog, "backlog");
    if (busy_turn && random.one_in(10)) close_some();
    // Every move is counted.
    const EngineCounts after = world.service.engine().counts();
    const auto moved = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; };
    const std::uint64_t jobs =
        std::max({moved(before.ready, after.ready), moved(before.delayed, after.delayed),
                  moved(before.buried, after.buried), moved(before.reserved, after.reserved)});
    EXPECT_LE(jobs * kStepsPerJob, steps() - begin);
    for (Session* session : sessions) world.receive(*session);
  }

  static constexpr std::uint64_t kTubes = 1'500;
  static constexpr std::uint64_t kJobs = 60'000;
  test::Random random;
  test::ServiceWorld world;
  std::vector<Session*> sessions;
  Session* bystander = &world.connect();
  bool busy_turn = true;
};

TEST_F(ServiceTurn, IsBoundedForRandomRequests) {
  make_much();
  for (int i = 0; i < 250 && !HasFailure(); ++i) {
    if (random.one_in(4)) world.now = world.now + Duration::milliseconds(700);
    turn();
    if (i % 50 == 0) world.service.engine().check_invariants();
  }
  // Without new requests, all work ends.
  busy_turn = false;
  int left = 20'000;
  for (; left > 0 && world.service.next_event() <= world.now && !HasFailure(); --left) turn();
  EXPECT_GT(left, 0);
  world.service.engine().check_invariants();
}

// All sessions send the same commands at once. They share the two parts of the turn, for sessions
// that were read and for the backlog.
TEST_F(ServiceTurn, IsBoundedForManyEqualRequests) {
  Session& producer = connect();
  world.ask(producer, repeated(whole_put("x"), 3'000));
  std::string watches;
  for (int i = 0; i < 300; ++i) watches += "watch t" + std::to_string(i) + "\r\n";
  for (int i = 0; i < 500; ++i) world.ask(connect(), i < 250 ? watches : "watch t1\r\n");
  world.settle();
  const std::string lines[] = {
      repeated("list-jobs default ready 30\r\n", 50),
      repeated("scan-jobs 1 32\r\n", 50),
      repeated("scan-jobs 1 33 t1\r\n", 20),
      repeated("stats-tubes * 1000\r\n", 3),
      repeated("list-jobs default ready 1000\r\n", 3),
      repeated("list-tubes-watched\r\n", 40),
      repeated("stats\r\n", 40),
      repeated("use t\r\n", 3'000),
      repeated("reserve-batch 20\r\n", 10),
      repeated(whole_put("x"), 50),
  };
  for (const std::string& line : lines) {
    SCOPED_TRACE(line.substr(0, 30));
    busy_turn = false;
    for (std::size_t i = 0; i < sessions.size();) {
      world.service.advance(world.now);
      const std::uint64_t begin = steps();
      for (std::size_t read = 0; read < kReadPerTurn && i < sessions.size(); ++read, ++i) {
        world.service.receive(*sessions[i], line, world.now);
      }
      // In addition, each session runs cheap commands.
      expect_at_most(kStepsOfReading + kStepsOfFirsts + kLargestCommand +
                         kReadPerTurn * (kStepsOfCheap + kStepsPerSend + 1'000),
                     begin, "reading");
      const std::uint64_t backlog = steps();
      world.service.run_backlog(world.now);
      expect_at_most(kStepsOfSessions + kLargestCommand, backlog, "backlog");
    }
    do turn();
    while (world.service.next_event() <= world.now && !HasFailure());
  }
}

// All watchers are notified of a change of the tube, so commands that change it are expensive.
TEST_F(ServiceTurn, IsBoundedForATubeWithManyWatchers) {
  constexpr std::size_t kWatchers = 300;
  constexpr std::size_t kAsking = 64;
  std::string watches;
  for (int i = 0; i < 1'100; ++i) watches += "watch t" + std::to_string(i) + "\r\n";
  for (std::size_t i = 0; i < kWatchers; ++i) world.ask(world.connect(), watches);
  // One more client waits on tubes without jobs.
  watches.clear();
  for (int i = 200; i < 1'300; ++i) watches += "watch t" + std::to_string(i) + "\r\n";
  world.send(world.connect(), watches + "reserve\r\n");
  for (std::size_t i = 0; i < kAsking; ++i) world.ask(connect(), "use t1\r\nwatch t1\r\n");
  world.ask(*bystander, "use t1\r\n" + repeated(whole_put("x"), 2 * kAsking));
  const auto tube_of = [](std::size_t i) { return "t" + std::to_string(100 + i); };
  for (std::size_t i = 0; i < kAsking; ++i) {
    world.ask(*bystander, "use " + tube_of(i) + "\r\n" + whole_put("x"));
  }
  const auto line_of = [&](const std::string& kind, std::size_t i) {
    const std::string id = std::to_string(kind == "reserve-job" ? i + 1 + kAsking : i + 1);
    if (kind == "stats-tubes") return std::string("stats-tubes * 12\r\n");
    if (kind == "flush-tube") return "flush-tube " + tube_of(i) + "\r\n";
    if (kind == "pause-tube") return std::string("pause-tube t1 0\r\n");
    if (kind == "reserve") return std::string("reserve-with-timeout 0\r\n");
    if (kind == "put") return whole_put("x");
    if (kind == "release") return "release " + id + " 0 0\r\n";
    return kind + " " + id + "\r\n";
  };
  for (const std::string kind : {"reserve", "release", "reserve-job", "pause-tube", "flush-tube",
                                 "delete-batch", "stats-tubes", "put"}) {
    SCOPED_TRACE(kind);
    world.service.advance(world.now);
    const std::uint64_t begin = steps();
    for (std::size_t i = 0; i < kAsking; ++i) {
      world.service.receive(*sessions[i], line_of(kind, i), world.now);
    }
    expect_at_most(kStepsOfReading + kStepsOfFirsts + 2 * kWatchers * kStepsPerJob +
                       kAsking * (kStepsOfCheap + kStepsPerSend),
                   begin, "reading");
    world.settle();
    for (Session* session : sessions) EXPECT_NE(world.receive(*session).substr(0, 9), "NOT_FOUND");
  }
}

// A kind of long work.
struct Long {
  const char* name;
  bool many_watches = false;
  const char* jobs_delay_s = nullptr;  // Delay of very many jobs; null: there are none.
  bool are_held = false;
  bool many_wait = false;  // Workers, for a second at most.
  const char* before = "";
  const char* line = "";
  bool closes = false;
  std::uint32_t seconds = 0;  // Time until the turn.
};

constexpr Long kLong[] = {
    {.name = "kick", .jobs_delay_s = "1000", .line = "kick 100000\r\n"},
    {.name = "flush", .jobs_delay_s = "0", .line = "flush-tube many\r\n"},
    {.name = "mode", .many_watches = true, .line = "reserve-mode weighted\r\n"},
    {.name = "first weight", .many_watches = true, .line = "watch t7 5\r\n"},
    {.name = "list of tubes", .many_watches = true, .line = "list-tubes\r\n"},
    {.name = "list of watched tubes", .many_watches = true, .line = "list-tubes-watched\r\n"},
    {.name = "close with many watches", .many_watches = true, .closes = true},
    {.name = "close with many jobs", .jobs_delay_s = "0", .are_held = true, .closes = true},
    {.name = "delays", .jobs_delay_s = "1", .seconds = 1},
    {.name = "TTRs", .jobs_delay_s = "0", .are_held = true, .seconds = 1},
    {.name = "pause",
     .jobs_delay_s = "0",
     .many_wait = true,
     .before = "pause-tube many 1\r\n",
     .seconds = 1},
    {.name = "waits", .many_wait = true, .seconds = 1},
};

class ServiceLong : public ServiceTurn, public ::testing::WithParamInterface<Long> {
 protected:
  void prepare(Session& session, const Long& of) {
    world.ask(session, std::string("use many\r\nwatch many\r\n") + of.before);
    std::string watches;
    for (int i = 0; i < 40'000; ++i) watches += "watch t" + std::to_string(i) + "\r\n";
    if (of.many_watches) world.ask(session, watches);
    const char* const delay = of.jobs_delay_s;
    if (delay != nullptr) {
      world.ask(session, repeated(std::string("put 0 ") + delay + " 1 1\r\nx\r\n", kJobs));
    }
    for (int i = 0; i < 3'000 && of.many_wait; ++i) {
      world.send(world.connect(), "watch many\r\nreserve-with-timeout 1\r\n");
    }
    if (of.are_held) world.ask(session, repeated("reserve\r\n", kJobs));
  }
};

TEST_P(ServiceLong, IsDividedAmongTurns) {
  const Long& of = GetParam();
  busy_turn = false;
  Session& session = connect();
  prepare(session, of);
  turn();
  world.service.receive(session, of.line, world.now);
  if (of.closes) {
    sessions.clear();
    world.disconnect(session);
  }
  world.now = world.now + Duration::seconds(of.seconds);
  int turns = 0;
  do {
    turn();
    ++turns;
  } while (world.service.next_event() <= world.now && !HasFailure());
  EXPECT_GE(turns, 3);
}

INSTANTIATE_TEST_SUITE_P(Each, ServiceLong, ::testing::ValuesIn(kLong), [](const auto& info) {
  std::string name = info.param.name;
  std::erase(name, ' ');
  return name;
});

TEST_F(ServiceTurn, CountsDiscardedBytes) {
  const std::string bytes(16 * 1024, '\r');
  const std::uint64_t least = bytes.size() / kBodyBytesPerStep - 1;
  for (const char* begin : {"", "put 0 0 60 1000000000\r\n"}) {
    Session& session = connect();
    world.send(session, begin);
    const std::uint64_t before = steps();
    world.send(session, bytes);
    EXPECT_GE(steps() - before, least) << begin;
  }
  // Complete lines and bodies.
  for (const char* begin : {"", "put 0 0 60 16384\r\n"}) {
    test::ServiceWorld small(100);
    Session& session = small.connect();
    small.send(session, begin);
    const std::uint64_t before = small.service.engine().steps();
    small.send(session, std::string(bytes.size(), 'x') + "\r\n");
    EXPECT_GE(small.service.engine().steps() - before, least) << begin;
    EXPECT_NE(small.receive(session), "");
  }
}

// The end of a pause wakes more workers than a turn allows.
TEST_F(ServiceTurn, AReserveQueuesBehindWaitingClients) {
  world.ask(*bystander, "pause-tube default 1\r\n" + repeated(whole_put("x"), 1'000));
  for (int i = 0; i < 300; ++i) world.send(connect(), "reserve\r\n");
  Session& batch = connect();
  Session& half_closed = connect();
  world.now = world.now + Duration::seconds(1);
  world.service.advance(world.now);
  ASSERT_GT(world.service.engine().counts().waiting, 100U);
  world.send(*bystander, "reserve-with-timeout 0\r\n");
  world.send(batch, "reserve-batch 5\r\n");
  world.send(half_closed, "reserve\r\n");
  world.service.end_of_input(half_closed);
  world.settle();
  EXPECT_EQ(world.receive(*bystander), "RESERVED 301 1\r\nx\r\n");
  EXPECT_EQ(world.receive(batch), "RESERVED_BATCH 1\r\nRESERVED 302 1\r\nx\r\n");
  EXPECT_EQ(world.receive(half_closed), "RESERVED 303 1\r\nx\r\n");
  EXPECT_TRUE(half_closed.is_finished());
}

// A client that samples all tubes requests page after page, and other clients are served between
// pages.
TEST_F(ServiceTurn, APageOfTubesIsBoundedForAnyNumberOfTubes) {
  constexpr std::uint64_t kManyTubes = 50'000;
  constexpr std::uint64_t kTubesOfPage = 50;
  Session& producer = connect();
  for (std::uint64_t i = 0; i < kManyTubes; i += 500) {
    std::string commands;
    for (std::uint64_t tube_of = i; tube_of < i + 500; ++tube_of) {
      commands += "use customer-" + std::to_string(tube_of) + "-orders\r\n" + whole_put("x");
    }
    world.ask(producer, commands);
  }
  Session& sampler = connect();
  Session& small = connect();
  std::string next = "*";
  std::uint64_t pages = 0;
  do {
    world.service.advance(world.now);
    const std::uint64_t begin = steps();
    world.service.receive(sampler, "stats-tubes " + next + " 50\r\n", world.now);
    world.service.receive(small, "peek 1\r\n", world.now);
    // Answered in this turn, even if the page was not.
    EXPECT_EQ(world.receive(small), "FOUND 1 1\r\nx\r\n");
    world.service.run_backlog(world.now);
    expect_at_most(kTubesOfPage * kStepsPerShownTube + kStepsOfFirst, begin, "page");
    const std::string page = world.receive(sampler);
    const std::size_t at = page.find("next: \"");
    ASSERT_NE(at, std::string::npos) << page;
    next = page.substr(at + 7, page.find('"', at + 7) - at - 7);
    ++pages;
  } while (next != "*" && !HasFailure());
  EXPECT_EQ(pages, kManyTubes / kTubesOfPage + 1);  // One more for the tube default.
}

}  // namespace
}  // namespace haricot
