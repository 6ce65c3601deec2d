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
//   FolderOpening  reads the folder at a start and keeps copies of unreadable data
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

#include "haricot/base/budget.hpp"
#include "haricot/base/time.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/binlog/binlog_options.hpp"
#include "haricot/binlog/binlog_state.hpp"
#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/folder_opening.hpp"
#include "haricot/binlog/format/folder_note.hpp"
#include "haricot/binlog/notice.hpp"
#include "haricot/binlog/read/replay.hpp"
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

  // Sets the note() of the last time the folder was opened. Before open().
  void set_note(const FolderNote& note) { stream_.note().set(note); }

  // Shares the folder with servers that may write to it late: `epoch`, not 0, is this server's, and
  // the disk replaces no file. Before open().
  void set_epoch(std::uint32_t epoch) { state_.epoch = epoch; }

  // Restores the jobs of the folder and begins a new file. Until then nothing can be recorded.
  // `random` becomes the id of the run, and the id of a new folder. Requires: the engine was made
  // with this journal and is empty; it outlives this. Returns false on failure, with the reason in
  // `error`; the folder is unchanged. Once only.
  [[nodiscard]] bool open(Engine& engine, Duration wall_offset, Instant now, std::uint64_t random,
                          ReplayWatcher watcher, std::string& error);
  // open() in two steps. read() changes nothing in the folder and needs no lock. begin() requires
  // that nothing has changed the folder since. begin() also records jobs and keys that were added
  // to the engine in between, or fails.
  [[nodiscard]] bool read(Engine& engine, Duration wall_offset, Instant now, ReplayWatcher watcher,
                          std::string& error);
  // Returns whether a file can be made and written in the folder, and leaves none there. Between
  // the two steps. True on a full disk, with which begin() works.
  [[nodiscard]] bool can_begin(std::string& error);
  // `has_to`: no other server has the jobs. If the disk fails, this returns true, changes are
  // refused, and the file is begun later.
  [[nodiscard]] bool begin(std::uint64_t random, std::string& error, bool has_to = false);
  // Valid after read().
  const ReplayReport& replayed() const { return opening_.report(); }
  // Returns the last note, which is durable before anything is recorded. Valid after open().
  const FolderNote& note() const { return stream_.note().note(); }

  // Makes all records durable, and prepares the files for the next server or program. Blocks.
  // Returns false if some could not be written; a notice reports it.
  bool close(Instant now);

  // Records the highest id given out, if no job has it, so that a reader continues the ids after
  // it. Returns false if that failed.
  [[nodiscard]] bool remember_last_id();

  // Record a job, or a key that outlived its job, that was restored into the engine and is in no
  // file. Wait for the disk. Return false if the record failed.
  [[nodiscard]] bool record_restored(JobRef ref);
  [[nodiscard]] bool record_restored_tombstone(JobRef tombstone_ref);

  // Waits until a sync or removal that is under way has ended. For callers that were answered
  // `later` and run no turns.
  void wait_for_disk();

  // Sets the wall clock minus the time. Ignores small changes: the times of a job must not drift
  // with each copy.
  void set_wall_offset(Duration offset);

  // Takes out the next notice for the log.
  std::optional<Notice> next_notice();

  // Journal ------------------------------------------------------------------------------------

  JournalStatus take_room_for_put(const PutRoom& put, const BlobRef& body) override;
  JournalStatus take_room_for_update(Promise promise) override;
  JournalStatus take_promised_room(const Promised& promised) override;
  void release_room() override {}  // Room is counted each time.
  bool may_try_again() override;
  void record(JobChange change, const JournaledJob& job) override;
  void record_deletion(const JournaledJob& job, const Tombstone* left) override;
  void forget_tombstone(JobRef tombstone_ref) override;
  JournalProgress progress() const override { return stream_.progress().for_journal(); }
  void end_turn(Instant now) override;
  Instant next_event() const override;
  JournalNumbers numbers() const override;
  std::uint64_t file_of(JobRef job) const override;

  // Ends the program if any state is inconsistent. For tests.
  void check_invariants() const;

 private:
  StreamEvents events();
  bool is_in_use() const { return state_.engine != nullptr && !is_closed_; }

  // Opening and closing (binlog_opening.cpp)
  bool begin_run(std::uint64_t random, bool has_to, std::string& error);
  void begin_run_in_note(std::uint64_t store_id, std::uint32_t run);
  bool begin_after_replay(bool has_to, std::string& error);
  bool make_first_spare(bool& is_continued);
  void promise_to_restored();
  bool record_what_no_file_has(std::string& error);
  bool record_jobs();
  bool record_tombstones();
  bool is_in_file(JobRef ref) const { return state_.segments->of(ref) != nullptr; }
  void recover_at_once();
  void wait_for_syncs();

  // Commands
  JournalStatus answer_later();
  JournalStatus answer_busy();
  bool is_time_to_try_again() const {
    return (answered_later_ && (disk_moved_ || stream_.sync_line().length() == 0)) ||
           (answered_busy_ && !bodies_.is_busy());
  }
  Budget budget(std::uint64_t steps) const { return {state_.steps, steps}; }
  // Returns the rest of the turn's budget, which grows with the records of commands.
  Budget budget_of_compaction() const;
  bool can_record() const { return !stream_.is_refusing() && stream_.is_open(); }
  JournalStatus room_for_put(std::size_t lead_bytes, const PutRoom& put, const BlobRef& body);
  JournalStatus room_for_large_put(const BlobRef& body, std::size_t lead_bytes, std::uint64_t keep);
  JournalStatus room_for_promised(const Promised& promised);
  JournalStatus room_for_several(std::uint32_t records);
  JournalStatus make_room(std::uint64_t record_bytes, std::uint64_t keep);
  void record_put(const JournaledJob& job);
  bool is_waited_for() const {
    return answered_later_ || compaction_.wants_sync() || (compaction_.waits() && room_.is_short());
  }

  BinlogState state_;
  RecordStream stream_;
  LargeBody body_;
  RoomAhead room_;
  LargeBodies bodies_;
  Compaction compaction_;
  FolderWatch watch_;
  Recovery recovery_;
  FolderOpening opening_;

  Promise promise_ = Promise::nothing;  // Promise that the next record makes.
  bool is_closed_ = false;
  bool answered_later_ = false;  // A caller got `later` and was not notified yet.
  bool disk_moved_ = false;      // A sync or a removal has ended since then.
  bool answered_busy_ = false;   // A caller got `later` because of LargeBodies::is_busy().
  std::uint64_t refused_puts_ = 0;
};

}  // namespace haricot::binlog
