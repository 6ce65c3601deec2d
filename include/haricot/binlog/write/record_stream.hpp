// The stream of records: collected in memory during a turn, written with one call at its end,
// synced as the policy wants it, and safe then.
//
// The stream also begins and ends the files of the records. It is handed each file, so it does not
// know where space comes from. When a write or a sync fails, the stream lets go of the file and
// refuses everything, until begin_anew() says that everything in doubt has been written to another
// file.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/turn_limits.hpp"
#include "haricot/binlog/binlog_state.hpp"
#include "haricot/binlog/format/file_name.hpp"
#include "haricot/binlog/format/record.hpp"
#include "haricot/binlog/format/text_record.hpp"
#include "haricot/binlog/notice.hpp"
#include "haricot/binlog/write/note_writer.hpp"
#include "haricot/binlog/write/segment_writer.hpp"
#include "haricot/binlog/write/sync_line.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot::binlog {

// What others hear of the stream of records. Each is called where it happens, and must not fail.
struct StreamEvents {
  struct Failure {
    DiskStatus status;
    bool was_refusing;         // A try to recover has failed.
    std::uint64_t free_bytes;  // Of the disk at that moment, if it was; 0 if not known.
  };
  struct SyncsTaken {
    bool some_ended;
    bool line_is_shorter;  // Also by the end of one that was forgotten.
  };
  void* object = nullptr;
  void (*failed)(void* object, const Failure& failure) = nullptr;
  void (*removal_ended)(void* object, DiskStatus status) = nullptr;
  void (*syncs_taken)(void* object, const SyncsTaken& taken) = nullptr;
};

// A file that has its space and no record yet, under the name spare_name(number).
struct NewFile {
  FileHandle file = FileHandle::none;
  std::uint64_t number = 0;
  std::uint64_t allocated = 0;
  const RecordAroundBody* first = nullptr;  // Its first record, if the body is there.
};

class RecordStream {
 public:
  // So much is collected at most before it is written, whether the turn is over or not.
  static constexpr std::uint64_t kCollectedBytesMax = 1024 * 1024;

  // The state outlives this.
  RecordStream(BinlogState& state, const StreamEvents& events);
  RecordStream(const RecordStream&) = delete;
  RecordStream& operator=(const RecordStream&) = delete;

  // Where it goes on after what was read.
  struct Start {
    std::uint64_t number = 1;  // Of the next file.
    // A file of that number may be there, and is replaced.
    bool is_unsure = false;
    // What the next file is to say of the one before it; nothing if its end is in doubt.
    std::optional<WrittenPoint> previous;
    std::uint64_t previous_number = 0;
    std::int64_t last_stamp = 0;
    std::uint32_t records_lost = 0;
  };
  void start_from(const Start& start);
  NoteWriter& note() { return note_; }
  const NoteWriter& note() const { return note_; }
  // The note's view of the files.
  NoteWriter::Files noted_files() const;

  // The file -------------------------------------------------------------------------------------

  bool is_open() const { return writer_.is_open(); }
  const SegmentWriter& writer() const { return writer_; }
  SyncLine& syncs() { return syncs_; }
  const SyncLine& syncs() const { return syncs_; }
  // The number of the next file. No file has had it or a higher one.
  std::uint64_t next_file_number() const { return next_file_number_; }
  // A file of ours may have this number and not be known; 0: none.
  std::uint64_t unsure_number() const { return unsure_number_; }
  // The oldest file that the next start has to find; 0 if there is no file.
  std::uint64_t oldest_needed() const;

  // Ends the file: writes what is collected and lets go of it. Nothing: the stream has failed.
  // After that begin_file() and seal(), in this order: whoever finds a seal that tells of a next
  // file can rely on it that there was one.
  std::optional<SegmentWriter::Ending> end_file();
  enum class Begun : std::uint8_t {
    yes,        // The file is the stream's.
    not_tried,  // There is no memory. The file is as it was.
    failed,     // What the file has is void, but may stand under its name: see unsure_number().
    gone,       // The same, and it has no name any more.
  };
  // On anything but yes the stream has failed. Requires: none is open.
  Begun begin_file(const NewFile& file);
  // Continues the newest file, in the run in which it was begun. Requires: none was open yet.
  void resume_file(const ContinuedFile& file);
  // Where no file is replaced, a file that could not be begun may be there all the same, perhaps
  // with a record. Then it is one of ours, in which no job lives, and goes in its turn: else it
  // would outlast the deletion of its job. False: nobody can tell now. Requires: none is open.
  [[nodiscard]] bool take_up_unsure_file();
  // Asks for the sync of what is sealed. False: the stream has failed. Does not write the seal if
  // no file was begun.
  bool seal(const SegmentWriter::Ending& ending, bool is_begun);
  // Tries again to cut off what a write that failed has left at the end of files, if no sync is
  // under way. end_turn() calls it as long as there is something to cut. O(files).
  void cut_files_back();

  // Ends the last file of a server, and asks for its sync. Returns how far it came. It may fail:
  // see is_refusing(). Requires: a file is open, nothing is collected.
  WrittenPoint end_cleanly();

  // Records --------------------------------------------------------------------------------------

  // All memory that a record needs. False: there is none.
  [[nodiscard]] bool prepare(std::size_t lead_bytes, std::size_t body_bytes);
  // The same for so many short records.
  [[nodiscard]] bool prepare_short(std::uint32_t records);
  // Collects a record. Requires: a file is open, has room for it, and memory was prepared.
  void append(const Record& record, std::string_view body, const BlobRef& blob,
              bool to_room_kept = false);
  // The full record of a job, which lives in the newest file from then on. The same requirements.
  void append_full(const JournaledJob& job);
  void append_change(const JournaledJob& job);
  // The same for a job that stays where it is.
  void append_change_in_place(const JournaledJob& job);
  // The full record of a job, and what the files have to know when it stands in the newest one.
  Record full_record_of(const JournaledJob& job, std::int64_t stamp) const;
  void attach(const JournaledJob& job, std::uint64_t number);
  // Counts a record that was written beside the others. Requires: memory was prepared.
  void count_record(JobId id);
  // Collects what is written anew because it was in doubt: no new record.
  [[nodiscard]] bool prepare_again(std::size_t lead_bytes, std::size_t body_bytes) {
    return writer_.prepare(lead_bytes, body_bytes);
  }
  void append_again(const Record& record, std::string_view body, const BlobRef& blob);
  // What stands in front of the deletion of a job whose key outlives it: see append_text(). The key
  // lives in the newest file from then on.
  void append_tombstone(const Tombstone& tombstone, TextKind kind = TextKind::tombstone);
  // The same without a deletion after it: a record of its own. Requires: as for append().
  void append_tombstone_alone(const Tombstone& tombstone);
  // Collects records of text, which belong to a record of that job and do not count as records of
  // their own. That one has to follow at once, and its memory was prepared with theirs.
  void append_text(TextKind kind, JobId id, std::string_view text);
  void count_again() { ++total_written_; }
  // So many bytes are collected with the next records before they are written.
  void write_together(std::uint64_t bytes) {
    write_from_ = std::max(kCollectedBytesMax, writer_.collected_bytes() + bytes);
  }
  // Where a job that is in no file, or not yet buried there, gets its turn among the buried.
  std::int64_t stamp_for_full(const JournaledJob& job);
  // The job was buried now and its record comes later: a copy of it has its turn all the same.
  void stamp_burial(const JournaledJob& job) { (void)stamp_of(job); }

  // What was appended in this turn, in steps, with the bytes of large bodies that count_appended()
  // adds.
  std::uint64_t steps_this_turn() const {
    return (total_written_ - written_before_turn_) * turn_limits::kStepsPerRecord +
           appended_this_turn_ / turn_limits::kRecordBytesPerStep;
  }
  void count_appended(std::uint64_t bytes) { appended_this_turn_ += bytes; }
  void end_turn() {
    written_before_turn_ = total_written_;
    appended_this_turn_ = 0;
    if (has_to_cut_ && !refusing_) [[unlikely]]
      cut_files_back();
  }

  // Writing and syncing --------------------------------------------------------------------------

  // Writes what is collected. It may fail: see is_refusing().
  void flush();
  // All records are written.
  void mark_written();
  // Begins a sync if one is due; at once if somebody waits for it.
  void request_sync(bool is_waited_for);
  // When a sync is due; never() if none is.
  Instant next_sync() const;
  // When the oldest record was written that is not synced yet, or is in doubt; never() if all are
  // synced, or if none is to be. O(syncs in line).
  Instant oldest_unsynced() const;
  // Takes out the syncs and removals that have ended.
  void take_sync_ends();
  // Asks for the sync of all that was written anew.
  void sync_what_was_rewritten();

  // Records count up: safe <= synced or written, all <= records().
  std::uint64_t records() const { return records_; }
  std::uint64_t written() const { return written_records_; }
  std::uint64_t synced() const { return synced_records_; }
  std::uint64_t safe() const { return safe_records_; }
  std::uint64_t doubtful() const { return doubtful_records_; }
  std::uint64_t total_written() const { return total_written_; }
  // Ids of the records that are not as safe as the policy wants them, in order.
  std::span<const JobId> unsafe() const { return unsafe_; }
  // Whoever waits for a record that is not safe is told that it is in doubt.
  void doubt_all() { doubtful_records_ = records_; }

  // Failure --------------------------------------------------------------------------------------

  // Nothing is in doubt for good: all of it is written anew, but not into this file. Memory may be
  // missing too, or be what failed (`why` says so). Then the log is not told why.
  void fail(DiskStatus status, std::string_view doing, std::string_view why = {},
            Notice::Kind kind = Notice::Kind::refusing) noexcept;
  bool is_refusing() const { return refusing_; }
  bool is_refusing_for_space() const { return refusing_for_space_; }
  JournalStatus refusal() const {
    return refusing_for_space_ ? JournalStatus::full : JournalStatus::failed;
  }
  void set_refusing_for_space(bool is_full) { refusing_for_space_ = is_full; }
  const std::string& last_failure() const { return last_failure_; }
  // All that was in doubt is safe: begin_anew() ends the refusal, mark_all_safe() tells whoever
  // waits.
  void begin_anew();
  void mark_all_safe() { mark_safe(records_); }

  // Ends the program if anything does not fit together. For tests.
  void check_invariants() const;

 private:
  std::int64_t stamp_of(const JournaledJob& job);
  std::int64_t stamp_kept_of(const JournaledJob& job) const;
  void mark_safe(std::uint64_t records);
  void let_go_of_file() noexcept;
  void sync_ended_file(FileHandle file);
  void cut_later(Segment& segment, std::uint64_t bytes);
  [[nodiscard]] bool cut_back(const Segment& segment);
  DiskStatus write_head(const NewFile& file, const std::string& from, const std::string& to);
  Signature signature_of(std::uint64_t number) const;

  BinlogState& state_;
  const StreamEvents events_;
  NoteWriter note_;
  SegmentWriter writer_;
  SyncLine syncs_;

  std::optional<WrittenPoint> previous_;
  std::uint64_t previous_number_ = 0;
  std::uint64_t next_file_number_ = 1;
  std::uint64_t unsure_number_ = 0;
  std::uint64_t unsure_bytes_ = 0;  // That such a file has at most.
  std::uint32_t records_lost_ = 0;
  std::int64_t last_stamp_ = 0;

  std::uint64_t records_ = 0;
  std::uint64_t records_before_newest_ = 0;  // When the newest file was begun.
  std::uint64_t written_records_ = 0;
  std::uint64_t synced_records_ = 0;
  std::uint64_t sync_requested_ = 0;
  // How much of the newest file is durable with what was requested. Nothing: not the files before.
  std::optional<std::uint64_t> durable_when_synced_;
  std::uint64_t safe_records_ = 0;
  std::uint64_t doubtful_records_ = 0;
  std::uint64_t total_written_ = 0;
  std::uint64_t written_before_turn_ = 0;          // total_written_ then.
  std::uint64_t appended_this_turn_ = 0;           // Bytes.
  std::uint64_t write_from_ = kCollectedBytesMax;  // So much has to be collected for a write.
  Instant unsynced_since_ = Instant::never();      // The first write that no sync was asked for.
  Instant doubtful_since_ = Instant::never();      // That of the first record in doubt.
  std::vector<JobId> unsafe_;

  bool has_begun_ = false;  // A file.
  bool refusing_ = false;
  bool refusing_for_space_ = false;
  bool has_to_seal_ = false;  // A file was ended whose seal is still to come.
  bool has_to_cut_ = false;   // A segment has a length to which it has yet to be cut.
  std::string last_failure_;
};

}  // namespace haricot::binlog
