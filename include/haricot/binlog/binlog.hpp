// The binlog: the journal that keeps jobs over a restart, in a folder of files.
//
//   record   collected in memory during a turn, written with one call at its end
//   file     binlog.1, binlog.2, …: one is written to, the older ones are only read at a start
//   spare    a file made ahead, so that there is room when the disk is full
//
// Space is taken before a command changes anything. For every job there is room for the record of
// its deletion, so on a full disk jobs can always be deleted; a part more is kept for other changes
// and for compaction, which copies the jobs of the oldest file behind the newest and removes it.
//
// When a write or a sync fails, nothing that is in doubt is acknowledged. The file is left alone:
// everything recorded since the last good sync is written anew, from memory, to another file. Until
// that has succeeded, what would have to be recorded is refused.
//
// A large body is written before its record is made, slice by slice and beside all other records:
// see LargeBody. Its put is told `later` until then, and compaction goes on with it turn by turn.
//
// No turn waits for the disk. Where a command needs what a sync or a removal that is under way has
// to bring first, it is told `later`, and may_try_again() when something of that has ended.
//
// While it records, it looks once a second whether a server that starts would find its files. If
// somebody has taken them away, all that lives is written anew.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/base/time.hpp"
#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/folder_note.hpp"
#include "haricot/binlog/large_body.hpp"
#include "haricot/binlog/notice.hpp"
#include "haricot/binlog/record.hpp"
#include "haricot/binlog/replay.hpp"
#include "haricot/binlog/segment_writer.hpp"
#include "haricot/binlog/segments.hpp"
#include "haricot/binlog/spares.hpp"
#include "haricot/binlog/sync_line.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot::binlog {

class Keeper;

// When what was written is made to survive a loss of power.
enum class SyncPolicy : std::uint8_t {
  every_turn,  // Before it is acknowledged.
  interval,    // Soon after.
  never,       // Whenever the kernel likes.
};

struct BinlogOptions {
  std::uint64_t file_bytes = 10485760;  // Rounded up to a multiple of 4096.
  SyncPolicy sync = SyncPolicy::interval;
  Duration sync_interval = Duration::milliseconds(50);
  // Opens only a folder in which nothing is lost or in doubt.
  bool strict = false;
  // How many files may be open at once; fewer than 6 count as 6.
  std::size_t open_files_max = 32;
  // A body of that size is large: it is written in slices, and gets a file that begins with it.
  std::size_t large_body_bytes = 4 * 1024 * 1024;
  // So much of a large body is written in a turn. At least 1.
  std::uint64_t slice_bytes = 512 * 1024;
};

class Binlog final : public Journal {
 public:
  // The disk outlives the binlog.
  Binlog(Disk& disk, const BinlogOptions& options);
  ~Binlog() override;

  // What note() was when the folder was last opened. Before open().
  void set_note(const FolderNote& note) { note_ = note; }

  // Brings back the jobs of the folder and begins a new file. Until then it is a journal in which
  // nothing can be recorded. `random` becomes the id of the run, and that of a folder that is new.
  // The engine was made with this journal, is empty, and outlives it. On failure false, and `error`
  // says why: the folder was left as it is. Once only.
  [[nodiscard]] bool open(Engine& engine, Duration wall_offset, Instant now, std::uint64_t random,
                          ReplayWatcher watcher, std::string& error);
  // Valid after open().
  const ReplayReport& replayed() const { return report_; }
  // What the disk was last told to note of the folder, durably before anything is recorded. Valid
  // after open().
  const FolderNote& note() const { return note_; }

  // Makes everything recorded durable, and the files ready for whoever opens the folder next.
  // Blocks. False: not all could be written, and a notice says so.
  bool close(Instant now);

  // Sees to it that whoever reads the files counts ids on from the last that was given out, also
  // where no job of that id is left. False: it could not be recorded.
  [[nodiscard]] bool remember_last_id();

  // Waits until something that is under way on the disk has ended, if anything is. For those who
  // were told `later` and have no turns.
  void wait_for_disk();

  // What has to be added to the time to get that of the wall clock. A small change is passed over:
  // the times of a job must not wander each time it is copied.
  void set_wall_offset(Duration offset);

  // Takes out what the log should tell.
  std::optional<Notice> next_notice();

  // Journal ------------------------------------------------------------------------------------

  JournalStatus reserve_put(std::size_t tube_name_bytes, std::size_t body_bytes,
                            const BlobRef& body) override;
  JournalStatus reserve_update() override;
  JournalStatus reserve_delete() override;
  JournalStatus reserve_deletes(std::uint32_t deletions) override;
  bool may_try_again() override;
  void release_room() override {}  // Room is counted anew each time.
  void record_put(const JournaledJob& job) override;
  void record_update(const JournaledJob& job) override;
  void record_delete(const JournaledJob& job) override;
  std::uint64_t records() const override { return records_; }
  std::uint64_t held_records() const override { return held_records_; }
  std::uint64_t doubtful_records() const override { return doubtful_records_; }
  void end_turn(Instant now) override;
  Instant next_event() const override;
  bool keeps_notes() const override { return true; }
  JournalNumbers numbers() const override;
  std::uint64_t file_of(JobRef job) const override;

  // Ends the program if anything does not fit together. For tests.
  void check_invariants() const;

 private:
  enum class CompactionStep : std::uint8_t { nothing_to_do, did_some, has_to_wait };

  // Records (binlog.cpp)
  JournalStatus refusal() const;
  JournalStatus tell_later();
  bool is_time_to_try_again() const {
    return (told_later_ && (disk_moved_ || syncs_.length() == 0)) || (told_busy_ && !is_busy());
  }
  JournalStatus room_for_put(std::size_t name_bytes, std::size_t body_bytes, const BlobRef& body);
  void look_for_space();
  bool prepare(std::size_t name_bytes, std::size_t body_bytes);
  void append(const Record& record, std::string_view body, const BlobRef& blob,
              bool to_room_kept = false);
  void append_full(const JournaledJob& job);
  Record move_to_newest(const JournaledJob& job, std::int64_t stamp, std::uint64_t number);
  std::int64_t stamp_of(const JournaledJob& job);
  void flush();
  void note_written();
  void request_sync();
  void sync_written();
  void take_sync_ends();
  void removal_ended(DiskStatus status);
  void hold(std::uint64_t records);

  // Large bodies (binlog_large.cpp)
  enum class LargeUser : std::uint8_t { put, compaction, recovery };
  bool is_large(const BlobRef& body) const {
    return body && body.size() >= options_.large_body_bytes;
  }
  BlobRef large_body_of(const JournaledJob& job) const;
  bool has_written_much() const;
  bool is_busy() const;
  JournalStatus tell_busy();
  JournalStatus room_for_large_put(const BlobRef& body, std::size_t name_bytes, std::uint64_t keep);
  JournalStatus write_ahead(LargeUser user, const BlobRef& body, std::size_t name_bytes,
                            std::uint64_t keep);
  JournalStatus begin_to_write_ahead(LargeUser user, const BlobRef& body, std::size_t name_bytes,
                                     std::uint64_t keep);
  bool has_to_leave_it_to_others(LargeUser user) const;
  JournalStatus room_beside_large(std::uint64_t keep);
  JournalStatus large_failed();
  void append_large(const JournaledJob& job, std::int64_t stamp);
  void go_on_with_large();
  void drop_unclaimed_large();

  // The note of the folder (binlog_note.cpp)
  void note_what_was_read();
  void note_what_is_safe(std::uint64_t records);
  void note_removal();
  void note_clean_stop(const WrittenPoint& end);
  void write_note();

  // Opening (binlog_opening.cpp)
  bool open_folder(Engine& engine, Duration wall_offset, Instant now, std::uint64_t random,
                   ReplayWatcher watcher, std::string& error);
  bool sync_what_was_read(std::string& error);
  bool begin_after_replay(std::string& error);
  void keep_what_was_not_understood();
  bool keep_rubbish(Keeper& keeper, const FileReport& file);
  void move_aside(Keeper& keeper, const std::string& name, std::uint64_t number);

  // Files (binlog_files.cpp)
  std::uint64_t ahead() const { return writer_.room() + spares_.room(); }
  void set_size_of_files(std::uint64_t free_bytes);
  std::uint64_t most_to_move() const;
  std::uint64_t room_for_ends(std::uint64_t live_bytes, std::uint64_t live_jobs) const;
  std::uint64_t room_for_deletes() const;
  std::uint64_t room_for_compaction() const;
  std::uint64_t room_to_go_on() const;
  std::uint64_t room_for_updates() const;
  std::uint64_t room_for_puts() const;
  bool is_short_of_space() const { return spare_status_ == DiskStatus::full; }
  bool add_spare(std::uint64_t bytes, std::uint64_t at_once);
  bool begin_spare();
  void note_failed_file();
  bool prepare_spare(std::uint64_t record_bytes);
  JournalStatus why_no_spare();
  JournalStatus make_room_for_command(std::uint64_t record_bytes, std::uint64_t keep);
  JournalStatus make_room(std::uint64_t record_bytes, std::uint64_t keep);
  bool disk_has_to_catch_up();
  bool rotate(const Record* around_large = nullptr);
  bool begin_file(const Record* around_large = nullptr);
  bool has_spare_to_give_back(std::uint64_t wanted) const;
  void tend_spares();
  bool make_first_spare();
  bool cut_off_zeros();
  void leave_room();

  // Compaction (binlog_compaction.cpp)
  std::uint64_t garbage_of_oldest() const;
  std::uint64_t garbage_of_newest() const;
  std::uint64_t garbage_worth_collecting() const;
  bool has_garbage_to_collect() const;
  CompactionStep compact_one();
  CompactionStep compact_large(const JournaledJob& job, const BlobRef& body);
  CompactionStep remove_oldest();
  [[nodiscard]] JournalStatus mark_id(JobId id);
  [[nodiscard]] JournalStatus note_oldest_needed(Segment& oldest);
  CompactionStep not_now(JournalStatus status);
  CompactionStep drop_oldest_at_once();
  std::uint64_t oldest_needed() const;
  void drop_oldest();
  void tell_removal_failed(const std::string& why);
  const Segment* teller_of(JobId id) const;
  void compact();
  bool is_too_far_ahead() const;
  bool collect_for_space();
  std::uint64_t folder_bytes() const;
  std::uint64_t folder_bytes_allowed() const;

  // Files that were taken away (binlog_gone.cpp)
  void look_for_files();
  void look_for_an_older_file();
  bool list_sorted(std::vector<std::string>& names);
  void mark_those_gone(const std::vector<std::string>& names);
  void mark_all_gone();
  void end_moving_those_gone();
  bool return_to_folder();
  bool has_file_of_another_server(const std::vector<std::string>& names, std::string& why);
  std::optional<std::size_t> with_jobs_to_rewrite(std::size_t place) const;
  JobId next_to_rewrite();
  bool remove_one_left_behind();
  DiskStatus remove_or_keep(const Segment& segment);
  void lose_newest();
  void forget_those_gone();

  // Failures (binlog_failures.cpp)
  void fail(DiskStatus status, std::string_view doing, std::string_view why = {},
            Notice::Kind kind = Notice::Kind::refusing) noexcept;
  Duration pause_before_next_try() const;
  void forget_failed_files();
  bool remove_failed(std::uint64_t number);
  void try_to_recover();
  bool begin_recovery();
  bool list_what_is_unsafe();
  bool has_to_rewrite() const;
  std::uint64_t number_needed_from() const;
  bool rewrite_some();
  bool rewrite(JobId id);
  bool rewrite_large(const JournaledJob& job, const BlobRef& body);
  void recovered();
  void notice(Notice notice, Instant& not_before);

  Disk& disk_;
  BinlogOptions options_;
  Engine* engine_ = nullptr;
  std::optional<Segments> segments_;
  SegmentWriter writer_;
  Spares spares_;
  SyncLine syncs_;
  LargeBody large_;
  LargeUser large_user_ = LargeUser::put;  // Who had it begun; of the last one, if there is none.
  bool large_was_claimed_ = false;         // In this turn.
  bool large_was_whole_ = false;           // Or failed, at the end of the last turn.
  bool put_wants_large_ = false;           // A body that another one was in the way of.
  bool compaction_wants_large_ = false;    // The same.

  Instant now_;
  Duration wall_offset_;
  FolderNote note_;
  std::int64_t last_stamp_ = 0;
  ReplayReport report_;
  // What the next file is to say of the one in front of it; nothing if its end is in doubt.
  std::optional<WrittenPoint> previous_;
  std::uint64_t previous_number_ = 0;
  std::uint64_t next_file_number_ = 1;
  bool is_closed_ = false;

  // Records count up: held <= synced or written, all <= records_.
  std::uint64_t records_ = 0;
  std::uint64_t records_before_newest_ = 0;  // When the newest file was begun.
  std::uint64_t written_records_ = 0;
  std::uint64_t synced_records_ = 0;
  std::uint64_t sync_requested_ = 0;
  std::uint64_t held_records_ = 0;
  std::uint64_t doubtful_records_ = 0;
  Instant unsynced_since_ = Instant::never();  // The first write that no sync was asked for.
  // The jobs of all records that are not as safe as the policy wants them, in order.
  std::vector<JobId> unsafe_;

  bool refusing_ = false;
  bool refusing_for_space_ = false;
  Instant retry_at_ = Instant::never();
  Instant retry_for_no_reason_at_;     // Also where the disk has no more space than before.
  std::uint64_t free_at_failure_ = 0;  // The disk's free space after the last try that failed.
  std::vector<JobId> rewrite_;         // Those that are still to be written anew, last first.
  std::uint32_t recovery_serial_ = 0;  // The first segment of the current try to recover.

  bool can_look_ = true;
  Instant look_again_at_files_;
  std::uint64_t looked_at_ = 0;      // The older file that was looked for last.
  std::uint64_t gone_until_ = 0;     // The jobs of all files up to this number are written anew.
  std::size_t rewritten_until_ = 0;  // While that is part of recovering: no job lives before it.
  bool is_unneeded_noted_ = false;   // And it is written down that those files are not needed.
  bool has_to_return_ = false;       // The folder may not be the one that the path leads to.
  std::string not_back_;             // Why it could not return, as the log was told.
  std::uint64_t unsure_number_ = 0;  // A file of ours may have this number and not be known.

  std::uint64_t file_bytes_ = 0;  // Of the next file: what was asked for, or less on a small disk.
  DiskStatus spare_status_ = DiskStatus::ok;  // Of the last try to make one.
  Instant spare_again_;
  // The room that a refused put lacks, beyond what other puts need; 0: none was refused since there
  // was room for all.
  std::uint64_t missing_room_ = 0;
  std::uint64_t missing_record_ = 0;  // The bytes of the record of that put.
  Instant look_again_;                // For the space that it lacks.
  Instant spare_ahead_again_;
  bool is_short_for_no_reason_ = false;  // The disk was full, and had said that there was space.
  bool spares_left_to_tend_ = false;
  bool compaction_waits_ = false;  // For a sync or a removal.
  bool is_removing_ = false;       // The oldest file is being removed.
  // In the line of syncs: the one that makes durable that a file has gone by another way.
  std::uint64_t removal_mark_ = 0;
  Instant compact_again_;
  std::uint64_t appended_this_turn_ = 0;
  bool collected_for_space_ = false;  // In this turn.
  bool recovery_waits_ = false;       // For a sync.
  bool told_later_ = false;           // Somebody, who has not been told to try again.
  bool disk_moved_ = false;           // A sync or a removal has ended since then.
  bool told_busy_ = false;            // Somebody was told `later` for another reason: is_busy().

  std::uint64_t errors_ = 0;
  std::uint64_t refused_puts_ = 0;
  std::uint64_t records_migrated_ = 0;
  std::uint64_t records_written_ = 0;
  std::vector<Notice> notices_;
  std::string last_failure_;
  Instant failure_notice_at_;
  Instant gone_notice_at_;
  Instant space_notice_at_;
  bool failure_was_told_ = false;
  bool gone_was_told_ = false;
  bool looks_for_older_ = false;
  bool missing_room_was_told_ = false;
};

}  // namespace haricot::binlog
