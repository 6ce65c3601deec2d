// The journal: the interface through which the engine records every change that a restart has to
// restore.
//
// This is one of the two interfaces with virtual functions. The binlog implements it; NoJournal
// implements it for jobs that live in memory only. The engine takes room before it changes
// anything, and records the change afterwards. Only the functions `take_…room…` can fail: nothing
// has changed then, and the command is refused.
//
// Three kinds of records must not be refused when they are due: the deletion of a job, the burial
// of a job at the end of a try, and the end of the hold of a job that waits for a group. So the
// journal reserves room for such a record in advance, when it takes the room for the record that
// makes it possible, such as that of the put. These reservations are promises; the journal keeps
// their sum.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "haricot/base/blob.hpp"
#include "haricot/base/time.hpp"
#include "haricot/queue/job.hpp"

namespace haricot {

enum class JournalStatus : std::uint8_t {
  ok,
  full,    // No room, perhaps temporarily: a put is answered OUT_OF_MEMORY.
  failed,  // The journal cannot be written: the answer is INTERNAL_ERROR.
  later,   // The journal waits for its disk: retry after may_try_again().
};

// A job as the journal sees it, valid until the engine is called again. `deadline` is the end of
// the delay of a delayed job; other states do not use it.
struct JournaledJob {
  JobRef ref;
  const Job& job;
  std::string_view tube_name;
  Instant deadline;
};

// A key that outlives its job; valid until the engine is called again.
struct Tombstone {
  JobRef ref;  // See JobStore::create_tombstone().
  JobId id;    // Id of the deleted job.
  std::string_view tube_name;
  std::string_view key;
  std::uint32_t seconds;  // How long the key outlives the job.
  Instant end;            // Instant at which the key becomes free.
};

// Room for the records of keys that outlive their jobs: the number of keys, and the bytes of the
// keys and of their tubes' names.
struct TombstoneRoom {
  std::uint64_t keys = 0;
  std::uint64_t bytes = 0;

  void add(std::uint64_t bytes_of_key) { ++keys, bytes += bytes_of_key; }
  void remove(std::uint64_t bytes_of_key) { --keys, bytes -= bytes_of_key; }
  bool operator==(const TombstoneRoom&) const = default;
};

// Sizes of a new job. They determine the room for the record of its put and for the records that
// are promised with it.
struct PutRoom {
  std::size_t tube_name_bytes = 0;
  std::size_t body_bytes = 0;
  std::size_t tag_bytes = 0;            // Text of its tags.
  bool may_be_buried = false;           // Its tries count: promise room for a burial.
  bool is_held = false;                 // Promise room for the end of its hold.
  bool has_facts = false;               // A record of its TagFacts precedes its full record.
  std::size_t tombstone_key_bytes = 0;  // Key that outlives the job; 0: none.
};

// Room that a change promises its job, in addition to earlier promises.
enum class Promise : std::uint8_t {
  nothing,
  burial,  // A kicked or reserved job may be buried again.
};

// Promised records that are due: deletions, or one burial, or the end of one hold.
struct Promised {
  std::uint32_t deletions = 0;    // 0: another kind of record.
  TombstoneRoom tombstones = {};  // Keys that the deletions leave.
  // Job whose burial is due; null: another kind of record. Even if the journal refuses, it assigns
  // the job its turn among the buried jobs, because it may write a copy of the job before the
  // burial is recorded.
  const JournaledJob* burial = nullptr;
};

// Kind of a change of a job.
enum class JobChange : std::uint8_t {
  put,       // New job.
  update,    // Changed job. A buried one is now the last buried job.
  in_place,  // Changed job that did not move; a buried one keeps its turn.
  note,      // Changed note, nothing else.
};

// Counts of records. The answer that reports a change is held back until `safe` has reached the
// value that `records` had after the change.
struct JournalProgress {
  std::uint64_t records = 0;  // Records so far.
  std::uint64_t safe = 0;     // Records that are as safe as the operator has requested.
  // Records that are safe or in doubt. A record is in doubt if the journal could not write it and
  // does not know when it will. Clients do not wait for such a record; the answer is a failure.
  std::uint64_t doubtful = 0;
};

// Values for `stats`; all zero without a journal.
struct JournalNumbers {
  bool is_kept = false;  // True if there is a journal.
  std::uint64_t oldest_index = 0;
  std::uint64_t current_index = 0;
  std::uint64_t records_migrated = 0;
  std::uint64_t records_written = 0;
  std::uint64_t errors = 0;  // Failed writes, syncs and the like since the start.
  bool refusing = false;     // Commands that need a record are refused now.
  // A put was refused for lack of space, and there is still no room for it.
  bool no_space = false;
  std::uint64_t refused_puts = 0;  // For lack of space, or because the disk fails.
  // When the oldest unsynced change was written; never() if there is none, or syncs are off.
  Instant unsynced_since = Instant::never();

  // Returns the milliseconds since `unsynced_since`; 0 if all changes are synced.
  std::uint64_t sync_lag_ms(Instant now) const {
    if (unsynced_since >= now) return 0;
    return static_cast<std::uint64_t>((now - unsynced_since).count()) / 1'000'000;
  }
};

class Journal {
 public:
  // `has_job_fields`: jobs have JournalFields.
  explicit Journal(bool has_job_fields) : has_job_fields_(has_job_fields) {}
  virtual ~Journal() = default;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  bool has_job_fields() const { return has_job_fields_; }

  // Takes room for the record of a new job and for the records that are promised with it.
  // release_room() releases room that is not used. `body` is the body if it is large, otherwise
  // null; the journal may write it in advance, and returns `later` until that is done.
  [[nodiscard]] virtual JournalStatus take_room_for_put(const PutRoom& put,
                                                        const BlobRef& body) = 0;
  // Takes room for the record of a change of an existing job, and for the records that are promised
  // with it.
  [[nodiscard]] virtual JournalStatus take_room_for_update(Promise promise) = 0;
  // Takes room for the record of a note of that many bytes. Requires: the job still has its former
  // note.
  [[nodiscard]] virtual JournalStatus take_room_for_note(JobRef job, std::size_t note_bytes) = 0;
  // Takes promised room, either all of it or none. Returns `full` only for several deletions: their
  // records are written together, and there may be room for fewer.
  [[nodiscard]] virtual JournalStatus take_promised_room(const Promised& promised) = 0;
  // Releases the room of the last take_…room…, because its command has changed nothing.
  virtual void release_room() = 0;
  // Returns true if commands that got `later` may be retried; further calls return false until
  // another command gets `later`. It becomes true in a turn that next_event() or the end of a sync
  // starts.
  [[nodiscard]] virtual bool may_try_again() = 0;

  // Records a change in room taken before. The engine need not check for errors: the journal itself
  // recovers from a failing disk, and decides when answers may be sent. Promises made with the room
  // hold from now on. A recorded burial, or end of a hold, is no longer promised.
  virtual void record(JobChange change, const JournaledJob& job) = 0;
  // Records a deletion, which ends all promises of the job. `left` is the key that outlives the
  // job, or null; the two are one record.
  virtual void record_deletion(const JournaledJob& job, const Tombstone* left) = 0;
  // Forgets a tombstone that is about to be destroyed because its time is over. Records nothing.
  virtual void forget_tombstone(JobRef tombstone_ref) = 0;

  virtual JournalProgress progress() const = 0;
  std::uint64_t records() const { return progress().records; }
  std::uint64_t safe_records() const { return progress().safe; }

  // Ends a turn: writes its records and does other work that is due.
  virtual void end_turn(Instant now) = 0;
  // Returns the latest time at which the journal needs another turn.
  virtual Instant next_event() const = 0;

  virtual JournalNumbers numbers() const = 0;
  // Returns the number of the file with the job's full record, or 0.
  virtual std::uint64_t file_of(JobRef job) const = 0;

 private:
  const bool has_job_fields_;
};

// The journal of a server without a binlog. It stores nothing, so each change is safe at once.
class NoJournal final : public Journal {
 public:
  NoJournal() : Journal(false) {}

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

}  // namespace haricot
