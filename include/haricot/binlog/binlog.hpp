// The binlog: the journal that keeps jobs over a restart, in a folder of files.
//
//   record   collected in memory during a turn, written with one call at its end
//   file     binlog.1, binlog.2, …: one is written to, the older ones are only read at a start
//   spare    a file made ahead, so that there is room when the disk is full
//
// It is a thin front. Parts do the work; each part knows only those above it here:
//
//   RecordStream   records: collected, written, synced; their files; the note. A table of parts
//   RoomAhead      the room for changes that must not fail, and the spares that hold it
//   LargeBodies    bodies that are written ahead of their records, slice by slice
//   Compaction     moves the jobs of the oldest file and removes it
//   FolderWatch    detects files that were removed from outside
//   Recovery       after a failure of the disk, writes all records in doubt again
//   Changes        takes room for the records of commands, and collects them
//   RestoredJobs   records restored jobs that are in no file
//   FolderOpening  reads the folder at a start and keeps copies of unreadable data
//   FolderRun      begins and ends the run of a server
//
// The front orders the work of a turn and answers commands. When a write or a sync fails, no change
// in doubt is acknowledged.
//
// No turn waits for the disk. If a command needs the end of a sync or of a removal that is under
// way, the binlog answers `later`. may_try_again() returns true when one has ended.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "haricot/base/time.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/binlog/binlog_state.hpp"
#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/folder_note.hpp"
#include "haricot/binlog/folder_run.hpp"
#include "haricot/binlog/notices.hpp"
#include "haricot/binlog/read/replay.hpp"
#include "haricot/binlog/write/changes.hpp"
#include "haricot/binlog/write/compaction.hpp"
#include "haricot/binlog/write/folder_watch.hpp"
#include "haricot/binlog/write/large_bodies.hpp"
#include "haricot/binlog/write/large_body.hpp"
#include "haricot/binlog/write/record_stream.hpp"
#include "haricot/binlog/write/recovery.hpp"
#include "haricot/binlog/write/room_ahead.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot::binlog {

class Binlog final : public Journal {
 public:
  // The disk outlives the binlog.
  Binlog(Disk& disk, const BinlogOptions& options);

  // Sets the note that the previous server left. Call before open().
  void set_note(const FolderNote& note) { stream_.note().set(note); }

  // Sets the epoch of this server, which is not 0. Other servers may then write to the folder late.
  // Call before open(). Requires: the disk replaces no file.
  void set_epoch(std::uint32_t epoch) { state_.epoch = epoch; }

  // Restores the jobs of the folder and begins a new file. Until then nothing can be recorded.
  // `random` becomes the id of the run, and the id of a new folder. Requires: the engine was made
  // with this journal and is empty; it outlives this. Returns false on failure, with the reason in
  // `error`; the folder is unchanged. Call once.
  [[nodiscard]] bool open(Engine& engine, Duration wall_offset, Instant now, std::uint64_t random,
                          ReplayWatcher watcher, std::string& error) {
    return read(engine, wall_offset, now, watcher, error) && begin(random, error);
  }
  // open() in two steps. read() changes nothing in the folder and needs no lock. begin() requires
  // that nothing has changed the folder since. begin() also records jobs and keys that were added
  // to the engine in between, or fails.
  [[nodiscard]] bool read(Engine& engine, Duration wall_offset, Instant now, ReplayWatcher watcher,
                          std::string& error) {
    return run_.read(engine, wall_offset, now, watcher, error);
  }
  // Returns true if a file can be created and written in the folder, or if the disk is full,
  // because begin() works on a full disk. Leaves no file. Call between read() and begin().
  [[nodiscard]] bool can_begin(std::string& error) { return run_.can_begin(error); }
  // `has_to`: no other server has the jobs, so a failing disk must not stop this one. Then this
  // returns true in any case: changes are refused, and the file is begun later.
  [[nodiscard]] bool begin(std::uint64_t random, std::string& error, bool has_to = false) {
    return run_.begin(random, has_to, error);
  }
  // Valid after read().
  const ReplayReport& replayed() const { return run_.replayed(); }
  // Returns the last note, which is durable before anything is recorded. Valid after open().
  const FolderNote& note() const { return stream_.note().note(); }

  // Makes all records durable, and prepares the files for the next server or program. Blocks.
  // Returns false if some could not be written; a notice reports it.
  bool close(Instant now) { return run_.end(now); }

  // Records the highest id given out, if no job has it, so that a reader continues the ids after
  // it. Returns false if that failed.
  [[nodiscard]] bool remember_last_id() { return restored_.remember_last_id(); }

  // Record a job, or a key that outlived its job, that was restored into the engine and is in no
  // file. Wait for the disk. Return false if the record failed.
  [[nodiscard]] bool record_restored(JobRef ref) { return restored_.record(ref); }
  [[nodiscard]] bool record_restored_tombstone(JobRef tombstone_ref) {
    return restored_.record_tombstone(tombstone_ref);
  }

  // Waits until a sync or removal that is under way has ended. For callers that were answered
  // `later` and run no turns.
  void wait_for_disk() { stream_.syncs().wait_for_one(); }

  // Sets the wall clock minus the time. Ignores small changes: the times of a job must not drift
  // with each copy.
  void set_wall_offset(Duration offset);

  // Takes out the next notice for the log.
  std::optional<Notice> next_notice();

  // Journal ------------------------------------------------------------------------------------

  JournalStatus take_room_for_put(const PutRoom& put, const BlobRef& body) override {
    return changes_.take_room_for_put(put, body);
  }
  JournalStatus take_room_for_update(Promise promise) override {
    return changes_.take_room_for_update(promise);
  }
  JournalStatus take_room_for_note(JobRef job, std::size_t note_bytes) override {
    return changes_.take_room_for_note(job, note_bytes);
  }
  JournalStatus take_promised_room(const Promised& promised) override {
    return changes_.take_promised_room(promised);
  }
  void release_room() override {}  // Room is counted each time.
  bool may_try_again() override { return changes_.may_try_again(); }
  void record(JobChange change, const JournaledJob& job) override { changes_.record(change, job); }
  void record_deletion(const JournaledJob& job, const Tombstone* left) override {
    changes_.record_deletion(job, left);
  }
  void forget_tombstone(JobRef tombstone_ref) override { changes_.forget_tombstone(tombstone_ref); }
  JournalProgress progress() const override { return stream_.progress().for_journal(); }
  void end_turn(Instant now) override;
  Instant next_event() const override;
  JournalNumbers numbers() const override;
  std::uint64_t file_of(JobRef job) const override;

  // Ends the program if any state is inconsistent. For tests.
  void check_invariants() const;

 private:
  StreamEvents events();
  bool is_waited_for() const {
    return changes_.is_waited_for() || compaction_.wants_sync() ||
           (compaction_.waits() && room_.is_short());
  }

  BinlogState state_;
  RecordStream stream_;
  LargeBody body_;
  RoomAhead room_;
  LargeBodies bodies_;
  Compaction compaction_;
  FolderWatch watch_;
  Recovery recovery_;
  Changes changes_;
  RestoredJobs restored_;
  FolderRun run_;
};

}  // namespace haricot::binlog
