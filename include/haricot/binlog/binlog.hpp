// The binlog: the journal that keeps jobs over a restart, in a folder of files.
//
//   record   collected in memory during a turn, written with one call at its end
//   file     binlog.1, binlog.2, …: one is written to, the older ones are only read at a start
//   spare    a file made ahead, so that there is room when the disk is full
//
// It is a thin front. What it does is in parts, each of which knows only those above it here:
//
//   RecordStream      records: collected, written, synced; the files that they stand in; the note
//   RoomAhead      the room that is kept free for what must not fail, and the spares it is in
//   LargeBodies    bodies that are written ahead of their records, slice by slice
//   Compaction     moves the jobs of the oldest file and removes it
//   FolderWatch    notices that somebody has taken files away
//   Recovery       writes anew what is in doubt when the disk has failed
//   FolderOpening  reads the folder at a start and keeps aside what nobody understood
//
// The front decides who goes on in a turn, and what a command is told. When a write or a sync
// fails, nothing that is in doubt is acknowledged.
//
// No turn waits for the disk. If a command needs the end of a sync or of a removal that is under
// way, the binlog answers `later`. may_try_again() says when such a sync or removal has ended.

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

  // What note() was when the folder was last opened. Before open().
  void set_note(const FolderNote& note) { stream_.note().set(note); }

  // Has the server share the folder with others that may write to it late: the epoch is this
  // server's, and the disk replaces no file. Not 0. Before open().
  void set_epoch(std::uint32_t epoch) { state_.epoch = epoch; }

  // Brings back the jobs of the folder and begins a new file. Until then it is a journal in which
  // nothing can be recorded. `random` becomes the id of the run, and that of a folder that is new.
  // The engine was made with this journal, is empty, and outlives it. On failure false, and `error`
  // says why: the folder was left as it is. Once only.
  [[nodiscard]] bool open(Engine& engine, Duration wall_offset, Instant now, std::uint64_t random,
                          ReplayWatcher watcher, std::string& error);
  // The same in two steps. The first one changes nothing in the folder, and needs no lock; the
  // second one needs that nobody has changed anything since. Jobs and keys that were added to the
  // engine in between are recorded by the second one, or it fails.
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
  // What the disk was last told to note of the folder, durably before anything is recorded. Valid
  // after open().
  const FolderNote& note() const { return stream_.note().note(); }

  // Makes everything recorded durable, and the files ready for whoever opens the folder next.
  // Blocks. False: not all could be written, and a notice says so.
  bool close(Instant now);

  // Records the last id that was given out, if no job of this id is left, so that whoever reads the
  // files counts ids on from it. False: it could not be recorded.
  [[nodiscard]] bool remember_last_id();

  // Records a key that outlived its job, for who has brought it into the engine: no record is there
  // of the job and of its deletion.
  [[nodiscard]] JournalStatus add_tombstone(const Tombstone& tombstone) {
    return compaction_.write_tombstone(tombstone);
  }

  // Waits until something that is under way on the disk has ended, if anything is. For those who
  // were told `later` and have no turns.
  void wait_for_disk();

  // What has to be added to the time to get that of the wall clock. A small change is passed over:
  // the times of a job must not wander each time it is copied.
  void set_wall_offset(Duration offset);

  // Takes out what the log should tell.
  std::optional<Notice> next_notice();

  // Journal ------------------------------------------------------------------------------------

  JournalStatus take_room_for_put(const PutRoom& put, const BlobRef& body) override;
  JournalStatus take_room_for_update(Promise promise) override;
  JournalStatus take_promised_room(const Promised& promised) override;
  void release_room() override {}  // Room is counted anew each time.
  bool may_try_again() override;
  void record(JobChange change, const JournaledJob& job) override;
  void record_deletion(const JournaledJob& job, const Tombstone* left) override;
  void forget_tombstone(JobRef tombstone_ref) override;
  JournalProgress progress() const override {
    return {.records = stream_.records(), .safe = stream_.safe(), .doubtful = stream_.doubtful()};
  }
  void end_turn(Instant now) override;
  Instant next_event() const override;
  JournalNumbers numbers() const override;
  std::uint64_t file_of(JobRef job) const override;

  // Ends the program if anything does not fit together. For tests.
  void check_invariants() const;

 private:
  StreamEvents events();
  bool is_in_use() const { return state_.engine != nullptr && !is_closed_; }

  // Opening and closing (binlog_opening.cpp)
  bool begin_run(std::uint64_t random, bool has_to, std::string& error);
  void note_run(std::uint64_t store_id, std::uint32_t run);
  bool begin_after_replay(bool has_to, std::string& error);
  bool make_first_spare(bool& is_continued);
  void promise_to_restored();
  bool record_what_no_file_has(std::string& error);
  bool record_jobs();
  bool record_if_new(JobRef ref);
  bool record_tombstones();
  void recover_at_once();
  void wait_for_syncs();

  // Commands
  JournalStatus answer_later();
  JournalStatus answer_busy();
  bool is_time_to_try_again() const {
    return (answered_later_ && (disk_moved_ || stream_.syncs().length() == 0)) ||
           (answered_busy_ && !bodies_.is_busy());
  }
  Budget budget(std::uint64_t steps) const { return {state_.steps, steps}; }
  // What is left of that of the turn, which keeps pace with what commands record.
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

  Promise promise_ = Promise::nothing;  // That the next record makes.
  bool is_closed_ = false;
  bool answered_later_ = false;  // Somebody, who has not been told to try again.
  bool disk_moved_ = false;      // A sync or a removal has ended since then.
  bool answered_busy_ = false;   // For another reason: LargeBodies::is_busy().
  std::uint64_t refused_puts_ = 0;
};

}  // namespace haricot::binlog
