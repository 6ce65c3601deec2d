// Progress of the records: counted, written, synced, safe. Numbers and times only; other parts use
// the disk, and update these.
//
// A record is safe if an answer may report it. SyncPolicy says when: as soon as it is synced, or as
// soon as it is written. A record is doubtful if an attempt to write it again has failed: answers
// that wait for it report a failure.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "haricot/base/time.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot::binlog {

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

}  // namespace haricot::binlog
