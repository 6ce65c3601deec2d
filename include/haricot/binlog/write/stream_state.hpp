// State of the stream of records, which its parts share and no part owns: the file that is being
// written, the syncs in line, the note, the progress of the records, and the refusal of changes
// after a failure of the disk.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/time.hpp"
#include "haricot/binlog/binlog_state.hpp"
#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/folder_note.hpp"
#include "haricot/binlog/notices.hpp"
#include "haricot/binlog/write/segment_writer.hpp"
#include "haricot/binlog/write/sync_line.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot::binlog {

// Progress of the records: counted, written, synced, safe. Numbers and times only; other parts use
// the disk, and update these.
//
// A record is safe if an answer may report it. SyncPolicy says when: as soon as it is synced, or as
// soon as it is written. A record is doubtful if an attempt to write it again has failed: answers
// that wait for it report a failure.
class RecordProgress {
 public:
  RecordProgress() = default;
  RecordProgress(const RecordProgress&) = delete;
  RecordProgress& operator=(const RecordProgress&) = delete;

  // Numbers of records: safe <= synced or written, all <= records().
  std::uint64_t records() const { return records_; }
  std::uint64_t written() const { return written_; }
  std::uint64_t synced() const { return synced_; }
  std::uint64_t safe() const { return safe_; }
  std::uint64_t doubtful() const { return doubtful_; }
  // Returns the numbers that the engine needs.
  JournalProgress for_journal() const {
    return {.records = records_, .safe = safe_, .doubtful = doubtful_};
  }
  // Returns the ids of the records that a failure of the disk may lose, in order: those that were
  // not marked with mark_safe().
  std::span<const JobId> ids_at_risk() const { return ids_at_risk_; }
  // Returns true if the newest file has one of the first `records` records.
  bool is_in_newest_file(std::uint64_t records) const { return records > before_newest_; }

  // Allocates memory for that many more records. Returns false if there is none.
  [[nodiscard]] bool prepare(std::uint32_t records);
  // Counts a record with that id. Requires: memory was prepared.
  void count(JobId id);
  // Called when a file is begun: records from now on are in it.
  void begin_file() { before_newest_ = records_; }

  // Marks all records as written.
  void mark_written() { written_ = records_; }
  // Marks all records as safe, although a failure may still lose them.
  void mark_safe_at_risk() { safe_ = records_; }
  // Marks the first `records` records as safe. No failure can lose them any more.
  void mark_safe(std::uint64_t records);
  // Marks all records as doubtful.
  void mark_doubtful() { doubtful_ = records_; }

  // Time of the first write that no requested sync covers; never() if there is none.
  Instant unsynced_since() const { return unsynced_since_; }
  // Time of the first write that a failure has put in doubt; never() if there is none.
  Instant doubtful_since() const { return doubtful_since_; }
  // Returns true if a requested sync of written records has not ended.
  bool is_sync_under_way() const { return sync_requested_ > synced_; }
  // Called at a write that has to be synced.
  void begin_to_wait(Instant now);
  // Called when a sync of all written records was requested.
  void request_sync();
  // Called when a sync that covers that many records has succeeded.
  void end_sync(std::uint64_t covers);

  // Called when a sync has failed that covers writes since then.
  void doubt_since(Instant oldest);
  // Called at a failure. Requested syncs are void. `oldest`: time of the first write in doubt;
  // never() if nothing is in doubt.
  void fail(Instant oldest);
  // Called when all records were written again, and are durable as far as the policy requires.
  void recover();

  // Ends the program if any state is inconsistent. For tests.
  void check_invariants() const;

 private:
  std::uint64_t records_ = 0;
  std::uint64_t before_newest_ = 0;  // Records when the newest file was begun.
  std::uint64_t written_ = 0;
  std::uint64_t sync_requested_ = 0;
  std::uint64_t synced_ = 0;
  std::uint64_t safe_ = 0;
  std::uint64_t doubtful_ = 0;
  std::vector<JobId> ids_at_risk_;
  Instant unsynced_since_ = Instant::never();
  Instant doubtful_since_ = Instant::never();
};

// Events of the stream. Each handler is called at once, and must not fail.
struct StreamEvents {
  struct Failure {
    DiskStatus status;
    bool was_refusing;  // An attempt to recover has failed.
    // Free bytes of the disk at that moment, if an attempt to recover has failed; 0 if unknown.
    std::uint64_t free_bytes;
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

struct StreamState {
  // The state of the binlog outlives this.
  StreamState(BinlogState& binlog, const StreamEvents& on_events);
  StreamState(const StreamState&) = delete;
  StreamState& operator=(const StreamState&) = delete;

  // Returns the oldest file that the next start has to find; 0 if there is no file.
  std::uint64_t oldest_needed() const;
  // Returns the facts about the files that the note contains.
  NoteWriter::Files noted_files() const;
  // Returns the time of the oldest write that is in doubt or not synced; never() if all are synced
  // or none will be. O(syncs in line).
  Instant oldest_unsynced() const;

  BinlogState& binlog;
  const StreamEvents events;
  NoteWriter note;
  SegmentWriter writer;  // The file that is being written.
  SyncLine sync_line;
  RecordProgress progress;
};

// Refusal of changes. When a write or a sync fails, the file that is being written is released, and
// all changes are refused until recovery has written all records in doubt to another file.
class Refusal {
 public:
  // The state outlives this.
  explicit Refusal(StreamState& stream) : stream_(stream), state_(stream.binlog) {}
  Refusal(const Refusal&) = delete;
  Refusal& operator=(const Refusal&) = delete;

  // Refuses all changes from now on, or still: then an attempt to recover has failed. Nothing is
  // lost: recovery writes all records in doubt to another file. `doing`: what has failed, for the
  // log. `why`: the reason; empty: the disk's last error. Calls the handler of failures.
  void begin(DiskStatus status, std::string_view doing, std::string_view why = {},
             Notice::Kind kind = Notice::Kind::refusing) noexcept;
  // Accepts changes again. Requires: all records in doubt are safe elsewhere.
  void end();

  bool is_on() const { return is_on_; }
  // Returns true if space is missing, which the operator or a deletion may provide.
  bool is_for_space() const { return is_for_space_; }
  void set_for_space(bool is_full) { is_for_space_ = is_full; }
  // Returns the answer to a change that is refused.
  JournalStatus status() const {
    return is_for_space_ ? JournalStatus::full : JournalStatus::failed;
  }
  // Returns the reason of the last failure, for the log.
  const std::string& why() const { return why_; }

 private:
  void release_file() noexcept;
  void report(std::string_view doing, const std::string& why, Notice::Kind kind);

  StreamState& stream_;
  BinlogState& state_;
  bool is_on_ = false;
  bool is_for_space_ = false;
  std::string why_;
};

}  // namespace haricot::binlog
