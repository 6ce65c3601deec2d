// Records of the engine, and commands for which the journal has no room.

#include <gtest/gtest.h>

#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "support/allocations.hpp"
#include "support/engine_world.hpp"

namespace haricot {
namespace {

using test::FakeJournal;
using test::got_kicked;
using test::Gots;
using Kind = test::FakeJournal::Kind;

class EngineJournal : public test::EngineTest {
 protected:
  // Returns the visible state of the engine as text, so that any change shows.
  std::string picture(const std::vector<Client*>& clients) const {
    std::ostringstream out;
    const EngineCounts& c = engine.counts();
    out << c.urgent << ' ' << c.ready << ' ' << c.reserved << ' ' << c.delayed << ' ' << c.buried
        << ' ' << c.timeouts << ' ' << c.total_jobs << ' ' << c.clients << ' ' << c.producers << ' '
        << c.workers << ' ' << c.waiting << ' ' << engine.jobs().size() << '\n';
    for (JobId id = 1; id < 50; ++id) picture_of_job(out, id);
    for (std::uint32_t i = 0; i < engine.tubes().size(); ++i) {
      picture_of_tube(out, engine.tubes().at(i));
    }
    for (const Client* client : clients) {
      out << client->used().name << ' ' << client->held_jobs() << ' ' << client->is_busy() << ' ';
      for (std::uint32_t i = 0; i < client->watched_tubes(); ++i) out << client->watched(i).name;
      out << '\n';
    }
    out << engine.deliveries().size() << ' ' << engine.next_event().count() << '\n';
    return out.str();
  }

  void picture_of_job(std::ostringstream& out, JobId id) const {
    const std::optional<JobReport> r = engine.queries().report(id, world.now);
    if (!r) return;
    out << id << ": " << r->tube->name << ' ' << static_cast<int>(r->state) << ' ' << r->priority
        << ' ' << r->delay_s << ' ' << r->ttr_s << ' ' << r->age_s << ' ' << r->time_left_s << ' '
        << r->reserves << ' ' << r->timeouts << ' ' << r->releases << ' ' << r->buries << ' '
        << r->kicks << ' ' << engine.jobs().body(engine.peek(id)) << '\n';
  }

  void picture_of_tube(std::ostringstream& out, const Tube& t) const {
    out << t.name << ' ' << t.paused << ' ' << t.pause_s << ' ' << t.buried << ' ' << t.reserved
        << ' ' << t.urgent << ' ' << t.total_jobs << ' ' << t.using_clients << ' '
        << t.watching_clients << ' ' << t.waiting_clients << ' ' << t.deletes << ' ' << t.pauses
        << " first buried " << static_cast<std::uint32_t>(t.first_buried) << " ready";
    for (std::uint32_t i = 0; i < t.ready.size(); ++i) out << ' ' << t.ready.at(i).id();
    out << " delayed";
    for (std::uint32_t i = 0; i < t.delayed.size(); ++i) {
      out << ' ' << world.id_of(t.delayed.at(i).job);
    }
    out << '\n';
  }
};

TEST_F(EngineJournal, APutAsksForRoomForItsNameAndBodyAndIsRecordedOnce) {
  Client& client = world.connect();
  ASSERT_EQ(engine.use(client, "tube"), Outcome::done);
  const std::string body(5000, 'x');
  const JobId id = world.put(client, {.priority = 7, .ttr_s = 9, .body = body});
  EXPECT_EQ(journal.asked, 1u);
  EXPECT_EQ(journal.put_room.tube_name_bytes, 4u);
  EXPECT_EQ(journal.put_room.body_bytes, 5000u);
  ASSERT_EQ(journal.written.size(), 1u);
  const FakeJournal::Record& record = journal.written[0];
  EXPECT_EQ(record.kind, Kind::put);
  EXPECT_EQ(record.id, id);
  EXPECT_EQ(record.tube, "tube");
  EXPECT_EQ(record.state, JobState::ready);
  EXPECT_EQ(record.priority, 7u);
  EXPECT_EQ(record.ttr_s, 9u);
}

TEST_F(EngineJournal, ADelayedJobIsRecordedWithItsDeadline) {
  Client& client = world.connect();
  const JobId id = world.put(client, {.delay_s = 50});
  EXPECT_EQ(journal.written.back().state, JobState::delayed);
  EXPECT_EQ(journal.written.back().delay_s, 50u);
  EXPECT_EQ(journal.written.back().deadline, world.now + Duration::seconds(50));
  ASSERT_EQ(engine.reserve_job(client, id, world.now).outcome, Outcome::done);
  world.pass_s(3);
  ASSERT_EQ(engine.release(client, id, 8, 70, world.now), Outcome::done);
  EXPECT_EQ(journal.written.back().kind, Kind::update);
  EXPECT_EQ(journal.written.back().state, JobState::delayed);
  EXPECT_EQ(journal.written.back().priority, 8u);
  EXPECT_EQ(journal.written.back().deadline, world.now + Duration::seconds(70));
}

// The record must have the place in which the job is kept, not the next one: a restart does not
// know the worker that got it.
TEST_F(EngineJournal, AJobThatGoesStraightToAWaitingWorkerIsRecordedAsReady) {
  Client& client = world.connect();
  Client& worker = world.connect();
  world.wait(worker);
  const JobId id = world.put(client);
  ASSERT_EQ(journal.written.size(), 1u);
  EXPECT_EQ(journal.written[0].state, JobState::ready);
  EXPECT_EQ(world.state(id), JobState::reserved);
  world.wait(client);
  ASSERT_EQ(engine.release(worker, id, 1, 0, world.now), Outcome::done);
  ASSERT_EQ(journal.written.size(), 2u);
  EXPECT_EQ(journal.written[1].state, JobState::ready);
}

TEST_F(EngineJournal, EveryLastingChangeIsRecordedInItsOrder) {
  Client& client = world.connect();
  const JobId id = world.put(client);
  ASSERT_EQ(world.reserve(client), id);
  ASSERT_EQ(engine.release(client, id, 5, 0, world.now), Outcome::done);
  ASSERT_EQ(world.reserve(client), id);
  ASSERT_EQ(engine.bury(client, id, 6), Outcome::done);
  EXPECT_EQ(world.kick(client, 1).jobs, 1u);
  ASSERT_EQ(world.reserve(client), id);
  ASSERT_EQ(engine.bury(client, id, 7), Outcome::done);
  ASSERT_EQ(engine.kick_job(id, world.now), Outcome::done);
  ASSERT_EQ(engine.delete_job(client, id), Outcome::done);

  struct Expected {
    Kind kind;
    JobState state;
    std::uint32_t priority;
  };
  const std::vector<Expected> expected = {
      {Kind::put, JobState::ready, 100},    {Kind::update, JobState::ready, 5},
      {Kind::update, JobState::buried, 6},  {Kind::update, JobState::ready, 6},
      {Kind::update, JobState::buried, 7},  {Kind::update, JobState::ready, 7},
      {Kind::deletion, JobState::ready, 7},
  };
  ASSERT_EQ(journal.written.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(journal.written[i].kind, expected[i].kind) << i;
    EXPECT_EQ(journal.written[i].state, expected[i].state) << i;
    EXPECT_EQ(journal.written[i].priority, expected[i].priority) << i;
    EXPECT_EQ(journal.written[i].id, id) << i;
  }
  EXPECT_EQ(journal.asked, 7u);
}

TEST_F(EngineJournal, ChangesThatARestartUndoesAreNotRecorded) {
  Client& client = world.connect();
  Client& other = world.connect();
  const JobId id = world.put(client, {.delay_s = 2, .ttr_s = 5});
  world.pass_s(2);  // The end of a delay.
  ASSERT_EQ(world.reserve(client), id);
  ASSERT_EQ(engine.touch(client, id, world.now), Outcome::done);
  world.pass_s(5);  // The end of a TTR.
  ASSERT_EQ(engine.reserve_job(other, id, world.now).outcome, Outcome::done);
  world.disconnect(other);
  ASSERT_EQ(engine.pause("default", 10, world.now), Outcome::done);
  ASSERT_EQ(engine.use(client, "other"), Outcome::done);
  ASSERT_EQ(engine.watch(client, "other"), Outcome::done);
  EXPECT_EQ(journal.asked, 1u);
  EXPECT_EQ(journal.written.size(), 1u);
}

TEST_F(EngineJournal, ACommandThatFindsNothingAsksForNothing) {
  Client& client = world.connect();
  Client& other = world.connect();
  const JobId id = world.put(client);
  ASSERT_EQ(world.reserve(client), id);
  const std::uint64_t asked = journal.asked;
  EXPECT_EQ(engine.release(other, id, 1, 0, world.now), Outcome::not_found);
  EXPECT_EQ(engine.bury(other, id, 1), Outcome::not_found);
  EXPECT_EQ(engine.delete_job(other, id), Outcome::not_found);
  EXPECT_EQ(engine.kick_job(id, world.now), Outcome::not_found);
  EXPECT_EQ(world.kick(other, 10).jobs, 0u);
  EXPECT_EQ(journal.asked, asked);
}

// Every command that needs room is refused, with either status, in an engine with jobs of all
// kinds.
TEST_F(EngineJournal, ARefusedCommandChangesNothing) {
  Client& client = world.connect();
  Client& waiting = world.connect();
  ASSERT_EQ(engine.use(waiting, "elsewhere"), Outcome::done);
  const JobId held = world.put(client, {.priority = 5, .ttr_s = 1000});
  ASSERT_EQ(world.reserve(client), held);
  const JobId delayed = world.put(client, {.delay_s = 100});
  world.put(client, {.delay_s = 200});
  const JobId buried = world.put(client);
  ASSERT_EQ(engine.reserve_job(client, buried, world.now).outcome, Outcome::done);
  ASSERT_EQ(engine.bury(client, buried, 9), Outcome::done);
  world.wait(waiting);
  world.pass_s(1);

  const std::string large(5000, 'x');
  const JobId fresh = engine.take_id();
  const Instant now = world.now;
  struct Refused {
    const char* what;
    std::function<Outcome()> command;
    bool is_put;
  };
  const std::vector<Refused> commands = {
      {"put", [&] { return world.try_put(client, fresh); }, true},
      {"large put", [&] { return world.try_put(client, fresh, {.body = large}); }, true},
      {"delayed put", [&] { return world.try_put(client, fresh, {.delay_s = 5}); }, true},
      {"release", [&] { return engine.release(client, held, 1, 0, now); }, false},
      {"delayed release", [&] { return engine.release(client, held, 1, 9, now); }, false},
      {"bury", [&] { return engine.bury(client, held, 1); }, false},
      {"kick-job of a buried one", [&] { return engine.kick_job(buried, now); }, false},
      {"kick-job of a delayed one", [&] { return engine.kick_job(delayed, now); }, false},
  };
  const std::string before = picture({&client, &waiting});
  const std::size_t written = journal.written.size();
  for (const Refused& refused : commands) {
    for (const JournalStatus status :
         {JournalStatus::full, JournalStatus::failed, JournalStatus::later}) {
      journal.refuse_from(1, status);
      const bool is_full_put = refused.is_put && status == JournalStatus::full;
      Outcome expected = is_full_put ? Outcome::out_of_memory : Outcome::journal_failed;
      if (status == JournalStatus::later) expected = Outcome::not_yet;
      EXPECT_EQ(refused.command(), expected) << refused.what;
      EXPECT_EQ(picture({&client, &waiting}), before) << refused.what;
      EXPECT_EQ(journal.written.size(), written) << refused.what;
      EXPECT_FALSE(client.is_busy());
      engine.check_invariants();
      journal.accept();
    }
  }
  // Only the journal has prevented them.
  EXPECT_EQ(engine.kick_job(delayed, now), Outcome::done);
  EXPECT_NE(picture({&client, &waiting}), before);
}

// A command that has to wait for the disk is a long task from the start.
TEST_F(EngineJournal, ARefusedKickMovesNothing) {
  Client& client = world.connect();
  const JobId id = world.put(client, {.delay_s = 100});
  for (const JournalStatus status : {JournalStatus::full, JournalStatus::failed}) {
    journal.refuse_from(1, status);
    EXPECT_EQ(world.kick(client, 10).outcome, Outcome::journal_failed);
    EXPECT_FALSE(client.is_busy());
  }
  journal.refuse_from(1, JournalStatus::later);
  EXPECT_EQ(world.kick(client, 10).outcome, Outcome::waiting);
  EXPECT_TRUE(client.is_busy());
  EXPECT_EQ(world.state(id), JobState::delayed);
  journal.accept();
  engine.resume_tasks(world.now);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_kicked(client, 1)}));
  EXPECT_EQ(world.state(id), JobState::ready);
}

// A refused put frees its body.
TEST_F(EngineJournal, ARefusedPutLetsItsBodyGo) {
  Client& client = world.connect();
  NewBody body = test::body_of_bytes(std::string(5000, 'x'));
  const BlobRef blob = body.blob;
  journal.refuse_from(1, JournalStatus::full);
  const NewJob job{.id = engine.take_id(), .priority = 0, .delay_s = 0, .ttr_s = 1};
  EXPECT_EQ(engine.put(client, job, std::move(body), world.now), Outcome::out_of_memory);
  body.blob = BlobRef();
  EXPECT_EQ(blob.owners(), 1u);
}

TEST_F(EngineJournal, APutThatHasToWaitLeavesItsBodyToTheCaller) {
  Client& client = world.connect();
  NewBody body = test::body_of_bytes(std::string(5000, 'x'));
  journal.refuse_from(1, JournalStatus::later);
  const NewJob job{.id = engine.take_id(), .priority = 0, .delay_s = 0, .ttr_s = 1};
  EXPECT_EQ(engine.put(client, job, std::move(body), world.now), Outcome::not_yet);
  EXPECT_EQ(body.size(), 5000U);
  journal.accept();
  EXPECT_EQ(engine.put(client, job, std::move(body), world.now), Outcome::done);
}

TEST_F(EngineJournal, ALongKickThatHasToWaitIsNoReasonForATurn) {
  Client& client = world.connect();
  for (std::uint32_t i = 0; i < 2 * Engine::kJobsPerCall; ++i) world.put(client, {.delay_s = 100});
  journal.refuse_from(Engine::kJobsPerCall + 6, JournalStatus::later);
  EXPECT_EQ(world.kick(client, 4294967295).outcome, Outcome::waiting);
  EXPECT_LE(engine.next_event(), world.now);
  engine.advance(world.now);
  EXPECT_TRUE(client.is_busy());
  EXPECT_GT(engine.next_event(), world.now);
  engine.advance(world.now);
  EXPECT_TRUE(world.take_deliveries().empty());
  journal.accept();
  engine.resume_tasks(world.now);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_kicked(client, 2 * Engine::kJobsPerCall)}));
  EXPECT_FALSE(client.is_busy());
}

TEST_F(EngineJournal, APutWithoutMemoryGivesItsRoomBack) {
  Client& client = world.connect();
  const JobId id = engine.take_id();
  Outcome outcome = Outcome::done;
  {
    const test::AllocationFailure failure;
    outcome = world.try_put(client, id);
  }
  EXPECT_EQ(outcome, Outcome::out_of_memory);
  EXPECT_LE(journal.asked, 1u);  // Not at all if the heap comes first.
  EXPECT_FALSE(journal.has_open_room());
  EXPECT_TRUE(journal.written.empty());
  EXPECT_EQ(engine.counts().total_jobs, 0u);
  EXPECT_EQ(world.tube().total_jobs, 0u);
}

TEST_F(EngineJournal, ADeletionThatIsRefusedLeavesTheJob) {
  Client& client = world.connect();
  const JobId id = world.put(client);
  journal.refuse_from(1, JournalStatus::failed);
  EXPECT_EQ(engine.delete_job(client, id), Outcome::journal_failed);
  EXPECT_EQ(engine.queries().peek_ready(client), engine.peek(id));
  journal.accept();
  EXPECT_EQ(engine.delete_job(client, id), Outcome::done);
  EXPECT_EQ(journal.written.back().kind, Kind::deletion);
}

TEST_F(EngineJournal, TakingAJobOutOfItsPlaceByIdIsRecorded) {
  Client& client = world.connect();
  const JobId id = world.put(client, {.delay_s = 100});
  journal.refuse_from(1, JournalStatus::failed);
  EXPECT_EQ(engine.reserve_job(client, id, world.now).outcome, Outcome::journal_failed);
  EXPECT_NE(engine.queries().peek_delayed(client), JobRef::none);
  journal.accept();
  EXPECT_EQ(engine.reserve_job(client, id, world.now).outcome, Outcome::done);
  EXPECT_EQ(journal.written.back().kind, Kind::update);
  EXPECT_EQ(journal.written.back().state, JobState::reserved);
}

TEST_F(EngineJournal, AKickThatIsRefusedMidwayReturnsTheKickedJobs) {
  Client& client = world.connect();
  for (std::uint32_t i = 0; i < 10; ++i) world.put(client, {.delay_s = 10 + i});
  journal.refuse_from(4, JournalStatus::full);
  const test::Ended result = world.kick(client, 10);
  EXPECT_EQ(result.outcome, Outcome::done);
  EXPECT_EQ(result.jobs, 3u);
  EXPECT_EQ(engine.counts().ready, 3u);
  EXPECT_EQ(engine.counts().delayed, 7u);
  EXPECT_EQ(journal.written.size(), 13u);
  EXPECT_FALSE(client.is_busy());
}

TEST_F(EngineJournal, ALongKickThatIsRefusedLaterReturnsTheKickedJobs) {
  Client& client = world.connect();
  for (std::uint32_t i = 0; i < 3 * Engine::kJobsPerCall; ++i) world.put(client, {.delay_s = 100});
  journal.refuse_from(Engine::kJobsPerCall + 6, JournalStatus::failed);
  EXPECT_EQ(world.kick(client, 4294967295).outcome, Outcome::waiting);
  engine.advance(world.now);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_kicked(client, Engine::kJobsPerCall + 5)}));
  EXPECT_FALSE(client.is_busy());
  EXPECT_GT(engine.next_event(), world.now);
}

TEST_F(EngineJournal, DeadlinesFireWithoutTheJournal) {
  Client& client = world.connect();
  const JobId delayed = world.put(client, {.delay_s = 5});
  const JobId held = world.put(client, {.ttr_s = 5});
  ASSERT_EQ(world.reserve(client), held);
  journal.refuse_from(1, JournalStatus::failed);
  world.pass_s(5);
  EXPECT_EQ(world.state(delayed), JobState::ready);
  EXPECT_EQ(world.state(held), JobState::ready);
}

}  // namespace
}  // namespace haricot
