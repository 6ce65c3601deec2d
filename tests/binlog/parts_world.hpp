// The parts of the binlog on a simulated disk, without the binlog: a test calls each part itself.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "haricot/base/turn_limits.hpp"
#include "haricot/binlog/binlog_state.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/format/job_record.hpp"
#include "haricot/binlog/read/replay.hpp"
#include "haricot/binlog/write/changes.hpp"
#include "haricot/binlog/write/compaction.hpp"
#include "haricot/binlog/write/folder_watch.hpp"
#include "haricot/binlog/write/large_bodies.hpp"
#include "haricot/binlog/write/record_stream.hpp"
#include "haricot/binlog/write/recovery.hpp"
#include "haricot/binlog/write/room_ahead.hpp"
#include "haricot/queue/engine.hpp"
#include "support/blob_of.hpp"
#include "support/sim_disk.hpp"

namespace haricot::binlog {

// Journal whose jobs have the journal's fields, and which records nothing: the tests do that.
class NotesOnly final : public Journal {
 public:
  NotesOnly() : Journal(true) {}

  JournalStatus take_room_for_put(const PutRoom&, const BlobRef&) override {
    return JournalStatus::ok;
  }
  JournalStatus take_room_for_update(Promise) override { return JournalStatus::ok; }
  JournalStatus take_room_for_note(JobRef, std::size_t) override { return JournalStatus::ok; }
  JournalStatus take_promised_room(const Promised&) override { return JournalStatus::ok; }
  void release_room() override {}
  bool may_try_again() override { return false; }
  void record(JobChange, const JournaledJob&) override {}
  void record_deletion(const JournaledJob&, const Tombstone*) override {}
  void forget_tombstone(JobRef) override {}
  JournalProgress progress() const override { return {}; }
  void end_turn(Instant) override {}
  Instant next_event() const override { return Instant::never(); }
  JournalNumbers numbers() const override { return {}; }
  std::uint64_t file_of(JobRef) const override { return 0; }
};

struct PartsWorld {
  static constexpr std::uint64_t kFileBytes = 4096;

  static BinlogOptions options_with(SyncPolicy policy) {
    return {.file_bytes = kFileBytes, .sync = policy};
  }

  explicit PartsWorld(BinlogOptions options = {.file_bytes = kFileBytes,
                                               .sync = SyncPolicy::every_turn,
                                               .large_body_bytes = 5000,
                                               .slice_bytes = 1000})
      : state(disk, options) {
    state.engine = &engine;
    state.now = Instant::at(1'000'000'000'000);
    state.segments.emplace(engine.jobs());
    stream.note().begin_run(77, 1, 2);
    EXPECT_TRUE(engine.open(client));
  }
  ~PartsWorld() { engine.close(client, state.now); }
  PartsWorld(const PartsWorld&) = delete;
  PartsWorld& operator=(const PartsWorld&) = delete;

  // Begins the first file.
  void begin() {
    bool is_enough = false;
    ASSERT_TRUE(room.make_first_spare(is_enough));
    ASSERT_TRUE(room.prepare_spare(0));
    ASSERT_TRUE(room.begin_file());
  }
  // Puts a job into the engine, without a record and without promises.
  JobRef put_in_engine(std::size_t body_bytes) {
    const JobId id = engine.take_id();
    const std::string text(body_bytes, 'b');
    NewBody content{.bytes = text, .blob = {}};
    if (body_bytes > JobStore::kInlineBodyBytesMax)
      content = {.bytes = {}, .blob = test::blob_of(text)};
    EXPECT_EQ(engine.put(client, {id, 100, 0, 60}, std::move(content), state.now), Outcome::done);
    return engine.peek(id);
  }
  // Puts a job into the engine, without a record.
  JobRef make_job(std::size_t body_bytes) {
    const JobRef ref = put_in_engine(body_bytes);
    state.promises.make(engine.journaled(ref), engine.jobs(), Promise::nothing);
    return ref;
  }
  // Puts a job into the engine and records it, with the room that it needs.
  JobRef put(std::size_t body_bytes = 100) {
    const JobRef ref = make_job(body_bytes);
    const JournaledJob job = engine.journaled(ref);
    EXPECT_EQ(
        room.make_room(full_record_bytes(job, engine.jobs()), room.needs().for_ends_of_jobs()),
        JournalStatus::ok);
    EXPECT_TRUE(stream.records().prepare(job.tube_name.size(), job.job.body_bytes));
    stream.jobs().append_full(job);
    return ref;
  }
  // Restores a key that has outlived its job, with the id 77, without a record.
  JobRef restore_key() {
    return engine.restoring().restore_tombstone({.ref = JobRef::none,
                                                 .id = 77,
                                                 .tube_name = "default",
                                                 .key = "key",
                                                 .seconds = 60,
                                                 .end = state.now + Duration::seconds(60)});
  }
  void delete_job(JobRef ref) {
    const JournaledJob job = engine.journaled(ref);
    const JobId id = job.job.id;
    state.segments->detach(ref, full_record_bytes(job, engine.jobs()));
    state.promises.end(job, engine.jobs());
    EXPECT_EQ(room.make_room(kShortRecordBytes, 0), JournalStatus::ok);
    EXPECT_TRUE(stream.records().prepare(0, 0));
    stream.records().append(deletion_of(id));
    EXPECT_EQ(engine.delete_job(client, id), Outcome::done);
  }
  // Writes and syncs the collected records.
  void settle() {
    stream.records().flush();
    stream.syncs().request(true);
    stream.syncs().take_ends();
  }
  // Returns true if the newest file has a record of needed files. Checks that all bytes in front of
  // it are durable then.
  bool has_record_of_needed_files() const {
    const std::string name = binlog_file_name(stream.writer().number());
    const std::string seen = disk.bytes_of(name);
    const std::size_t at = seen.find("NEED");
    if (at == std::string::npos) return false;
    const std::size_t front = at - 12;  // The length of a name and the id come before the mark.
    EXPECT_TRUE(disk.has_durable(name) &&
                disk.durable_bytes_of(name).compare(0, front, seen, 0, front) == 0);
    return true;
  }
  // Returns the number of jobs that are in the files if this server ends now, also if files are
  // missing, so that a server would not start.
  std::size_t jobs_on_disk() {
    NotesOnly no_journal;
    Engine next{state.now, no_journal};
    Segments segments{next.jobs()};
    Replay replay(disk, next, segments);
    replay.accept_gaps();
    EXPECT_TRUE(replay.run(state.wall_offset, state.now)) << replay.error();
    return next.jobs().size();
  }
  // Returns a budget of that many steps; by default, more than a test needs.
  Budget budget(std::uint64_t steps = Budget::kAll) const { return {state.steps, steps}; }
  void pass(Duration duration) { state.now = state.now + duration; }
  std::vector<std::string> take_notices() {
    std::vector<std::string> sentences;
    while (const auto notice = state.notices.take()) sentences.push_back(to_sentence(*notice));
    return sentences;
  }
  StreamEvents events() {
    return {.object = this,
            .failed =
                [](void* object, const StreamEvents::Failure& failure) {
                  auto& self = *static_cast<PartsWorld*>(object);
                  self.failures.push_back(failure);
                  self.bodies.drop();
                  self.compaction.failed();
                  self.recovery.failed(failure);
                },
            .removal_ended =
                [](void* object, DiskStatus status) {
                  auto& self = *static_cast<PartsWorld*>(object);
                  self.removals.push_back(status);
                  self.compaction.removal_ended(status);
                },
            .syncs_taken =
                [](void* object, const StreamEvents::SyncsTaken& taken) {
                  auto& self = *static_cast<PartsWorld*>(object);
                  if (taken.some_ended) self.compaction.sync_ended();
                  if (taken.line_is_shorter) self.changes.disk_moved();
                  self.recovery.syncs_taken();
                }};
  }

  SimDisk disk;
  NotesOnly journal;
  BinlogState state;
  Engine engine{Instant::at(1'000'000'000'000), journal};
  Client client{nullptr};
  std::vector<StreamEvents::Failure> failures;
  std::vector<DiskStatus> removals;
  RecordStream stream{state, events()};
  LargeBody body{disk, stream.sync_line(), state.options.slice_bytes, state.has_syncs()};
  RoomAhead room{state, stream, body};
  LargeBodies bodies{state, stream, room, body};
  Compaction compaction{state, stream, room, bodies};
  FolderWatch watch{state, stream};
  Recovery recovery{state, stream, room, bodies, watch};
  Changes changes{state, stream, room, bodies, compaction};
  RestoredJobs restored{state, stream, compaction, changes};
};

}  // namespace haricot::binlog
