// The stream of records: collected in memory during a turn, written with one call at its end,
// synced by the policy, and then safe.
//
// The stream also begins and ends the files of the records. It is given each file, so it does not
// depend on where space comes from. When a write or a sync fails, the stream releases the file and
// refuses all changes, until begin_anew() reports that all records in doubt were written to another
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

// Events of the stream. Each handler is called at once, and must not fail.
struct StreamEvents {
  struct Failure {
    DiskStatus status;
    bool was_refusing;  // An attempt to recover has failed.
    std::uint64_t
        free_bytes;  // Free bytes of the disk at that moment, if it was full; 0 if unknown.
  };
  struct SyncsTaken {
    bool some_ended;
    bool line_is_shorter;  // Also if the end of a dropped sync has shortened it.
  };
  void* object = nullptr;
  void (*failed)(void* object, const Failure& failure) = nullptr;
  void (*removal_ended)(void* object, DiskStatus status) = nullptr;
  void (*syncs_taken)(void* object, const SyncsTaken& taken) = nullptr;
};

// A file with its space and no record yet, under the name spare_name(number).
struct NewFile {
  FileHandle file = FileHandle::none;
  std::uint64_t number = 0;
  std::uint64_t allocated = 0;
  const RecordAroundBody* first = nullptr;  // Its first record, if the body is in the file.
};

class RecordStream {
 public:
  // Maximum of collected bytes; beyond it they are written before the turn ends.
  static constexpr std::uint64_t kCollectedBytesMax = 1024 * 1024;

  // The state outlives this.
  RecordStream(BinlogState& state, const StreamEvents& events);
  RecordStream(const RecordStream&) = delete;
  RecordStream& operator=(const RecordStream&) = delete;

  // Position from which the stream continues after a folder was read.
  struct Start {
    std::uint64_t number = 1;  // Number of the next file.
    // A file of that number may exist, and is replaced.
    bool is_unsure = false;
    // Facts about the previous file for the next file's signature; nothing if its end is in doubt.
    std::optional<WrittenPoint> previous;
    std::uint64_t previous_number = 0;
    std::int64_t last_stamp = 0;
    std::uint32_t records_lost = 0;
  };
  void start_from(const Start& start);
  NoteWriter& note() { return note_; }
  const NoteWriter& note() const { return note_; }
  // Returns the facts about the files that the note contains.
  NoteWriter::Files noted_files() const;

  // The file -------------------------------------------------------------------------------------

  bool is_open() const { return writer_.is_open(); }
  const SegmentWriter& writer() const { return writer_; }
  SyncLine& syncs() { return syncs_; }
  const SyncLine& syncs() const { return syncs_; }
  // Returns the number of the next file. No file has had it or a higher one.
  std::uint64_t next_file_number() const { return next_file_number_; }
  // Returns the number that a file of ours may have without being known; 0: none.
  std::uint64_t unsure_number() const { return unsure_number_; }
  // Returns the oldest file that the next start has to find; 0 if there is no file.
  std::uint64_t oldest_needed() const;

  // Ends the file: writes the collected records and releases it. Returns nothing if the stream has
  // failed. begin_file() and seal() have to follow, in this order: a seal that names a next file
  // proves that there was one.
  std::optional<SegmentWriter::Ending> end_file();
  enum class Begun : std::uint8_t {
    yes,        // The stream owns the file.
    not_tried,  // There is no memory. The file is unchanged.
    failed,     // Its content is void, but it may exist under its name: see unsure_number().
    gone,       // Its content is void, and it has no name any more.
  };
  // Begins a file. Unless yes, the stream has failed. Requires: none is open.
  Begun begin_file(const NewFile& file);
  // Continues the newest file, in the run in which it was begun. Requires: none was open yet.
  void resume_file(const ContinuedFile& file);
  // If no file is replaced, a file that could not be begun may exist all the same, perhaps with a
  // record. Then it becomes a file of ours without jobs, which is removed in its turn: otherwise it
  // would outlast the deletion of its job. Returns false if that cannot be decided now. Requires:
  // none is open.
  [[nodiscard]] bool take_up_unsure_file();
  // Requests the sync of the sealed file. Returns false if the stream has failed. Writes no seal if
  // no file was begun.
  bool seal(const SegmentWriter::Ending& ending, bool is_begun);
  // Retries to truncate files after failed writes, if no sync is under way. end_turn() calls it
  // while there is something to truncate. O(files).
  void cut_files_back();

  // Ends the last file of a server, and requests its sync. Returns its end. May fail: see
  // is_refusing(). Requires: a file is open, nothing is collected.
  WrittenPoint end_cleanly();

  // Records --------------------------------------------------------------------------------------

  // Allocates all memory that a record needs. Returns false if there is none.
  [[nodiscard]] bool prepare(std::size_t lead_bytes, std::size_t body_bytes);
  // Allocates memory for that many short records.
  [[nodiscard]] bool prepare_short(std::uint32_t records);
  // Collects a record. Requires: a file is open, has room for it, and memory was prepared.
  void append(const Record& record, std::string_view body, const BlobRef& blob,
              bool to_room_kept = false);
  // Collects the full record of a job, which lives in the newest file from then on. Requires: as
  // for append().
  void append_full(const JournaledJob& job);
  void append_change(const JournaledJob& job);
  // Collects a change of a job that keeps its place.
  void append_change_in_place(const JournaledJob& job);
  // Returns the full record of a job; attach() updates the files when it is in the newest one.
  Record full_record_of(const JournaledJob& job, std::int64_t stamp) const;
  void attach(const JournaledJob& job, std::uint64_t number);
  // Counts a record that was written apart from the others. Requires: memory was prepared.
  void count_record(JobId id);
  // prepare_again() allocates memory for a record that was in doubt and is written again;
  // append_again() collects it. It does not count as a new record.
  [[nodiscard]] bool prepare_again(std::size_t lead_bytes, std::size_t body_bytes) {
    return writer_.prepare(lead_bytes, body_bytes);
  }
  void append_again(const Record& record, std::string_view body, const BlobRef& blob);
  // Collects the records in front of the deletion of a job whose key outlives it: see
  // append_text(). The key lives in the newest file from then on.
  void append_tombstone(const Tombstone& tombstone, TextKind kind = TextKind::tombstone);
  // Collects these without a deletion, as a record of its own. Requires: as for append().
  void append_tombstone_alone(const Tombstone& tombstone);
  // Collects records of text. They belong to a record of that job, which has to follow at once, and
  // do not count as records. Requires: memory was prepared for all of them.
  void append_text(TextKind kind, JobId id, std::string_view text);
  void count_again() { ++total_written_; }
  // Lets that many bytes be collected with the next records before they are written.
  void write_together(std::uint64_t bytes) {
    write_from_ = std::max(kCollectedBytesMax, writer_.collected_bytes() + bytes);
  }
  // Returns the stamp that orders the buried jobs, for a job that is in no file or not buried
  // there.
  std::int64_t stamp_for_full(const JournaledJob& job);
  // Stamps a job that was buried now and is recorded later, so that a copy keeps its order.
  void stamp_burial(const JournaledJob& job) { (void)stamp_of(job); }

  // Returns the steps of records appended in this turn, including bytes of large bodies that
  // count_appended() adds.
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

  // Writes the collected records. May fail: see is_refusing().
  void flush();
  // Marks all records as written.
  void mark_written();
  // Starts a sync if one is due, or at once if an answer waits for it.
  void request_sync(bool is_waited_for);
  // Returns the time of the next sync; never() if none is due.
  Instant next_sync() const;
  // Returns the time of the oldest write that is in doubt or not synced; never() if all are synced
  // or none will be. O(syncs in line).
  Instant oldest_unsynced() const;
  // Takes out the syncs and removals that have ended.
  void take_sync_ends();
  // Requests the sync of all records that were written again.
  void sync_what_was_rewritten();

  // Numbers of records: safe <= synced or written, all <= records().
  std::uint64_t records() const { return records_; }
  std::uint64_t written() const { return written_records_; }
  std::uint64_t synced() const { return synced_records_; }
  std::uint64_t safe() const { return safe_records_; }
  std::uint64_t doubtful() const { return doubtful_records_; }
  std::uint64_t total_written() const { return total_written_; }
  // Returns the ids of records that are not safe, in order.
  std::span<const JobId> unsafe() const { return unsafe_; }
  // Marks all records as doubtful, which fails the answers that wait for them.
  void doubt_all() { doubtful_records_ = records_; }

  // Failure --------------------------------------------------------------------------------------

  // Refuses all changes from now on. Nothing is lost: recovery writes all records in doubt to
  // another file. `why` is logged, if there is memory for it.
  void fail(DiskStatus status, std::string_view doing, std::string_view why = {},
            Notice::Kind kind = Notice::Kind::refusing) noexcept;
  bool is_refusing() const { return refusing_; }
  bool is_refusing_for_space() const { return refusing_for_space_; }
  JournalStatus refusal() const {
    return refusing_for_space_ ? JournalStatus::full : JournalStatus::failed;
  }
  void set_refusing_for_space(bool is_full) { refusing_for_space_ = is_full; }
  const std::string& last_failure() const { return last_failure_; }
  // begin_anew() ends the refusal when all records in doubt are safe; mark_all_safe() then releases
  // the answers that wait.
  void begin_anew();
  void mark_all_safe() { mark_safe(records_); }

  // Ends the program if any state is inconsistent. For tests.
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
  std::uint64_t unsure_bytes_ = 0;  // Upper bound of that file's bytes.
  std::uint32_t records_lost_ = 0;
  std::int64_t last_stamp_ = 0;

  std::uint64_t records_ = 0;
  std::uint64_t records_before_newest_ = 0;  // When the newest file was begun.
  std::uint64_t written_records_ = 0;
  std::uint64_t synced_records_ = 0;
  std::uint64_t sync_requested_ = 0;
  // Durable bytes of the newest file once the requested sync succeeds. Nothing: files before it are
  // not durable.
  std::optional<std::uint64_t> durable_when_synced_;
  std::uint64_t safe_records_ = 0;
  std::uint64_t doubtful_records_ = 0;
  std::uint64_t total_written_ = 0;
  std::uint64_t written_before_turn_ = 0;          // Value of total_written_ then.
  std::uint64_t appended_this_turn_ = 0;           // Bytes.
  std::uint64_t write_from_ = kCollectedBytesMax;  // Collected bytes from which a write begins.
  Instant unsynced_since_ = Instant::never();  // Time of the first write without a requested sync.
  Instant doubtful_since_ = Instant::never();  // Time of the first write in doubt.
  std::vector<JobId> unsafe_;

  bool has_begun_ = false;  // A file was begun.
  bool refusing_ = false;
  bool refusing_for_space_ = false;
  bool has_to_seal_ = false;  // A file was ended, and its seal is missing.
  bool has_to_cut_ = false;   // A segment has to be truncated.
  std::string last_failure_;
};

}  // namespace haricot::binlog
