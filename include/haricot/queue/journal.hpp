// The journal: what the engine tells about every change that a restart has to know of.
//
// This is one of the two interfaces with virtual functions. The binlog implements it; NoJournal
// does where jobs live in memory only. The engine asks for room before it changes anything, and
// records the change afterwards. Whatever can fail, fails in `take_…room…`: then nothing has
// happened yet, and the command is refused.
//
// Some records must not be refused when their time comes: the deletion of a job, the burial of one
// whose tries are used up, and the end of the hold of one that waits for a group. So the journal
// promises a job room for them in good time: with the room for the record that makes them possible.
// It keeps the sum of what it has promised itself.

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
  full,    // There is no room, and there may be later: a put is answered OUT_OF_MEMORY.
  failed,  // The journal cannot be written: the command is answered INTERNAL_ERROR.
  later,   // The journal waits for its disk: the command has to wait for may_try_again().
};

// A job as the journal sees it. `deadline` is when a delayed job gets ready; for other states it
// has no meaning. Valid until the engine is called again.
struct JournaledJob {
  JobRef ref;
  const Job& job;
  std::string_view tube_name;
  Instant deadline;
};

// A key that outlives its job. Valid until the engine is called again.
struct Tombstone {
  JobRef ref;  // The tombstone of the job: see JobStore::create_tombstone().
  JobId id;    // Of the job.
  std::string_view tube_name;
  std::string_view key;
  std::uint32_t seconds;  // For so long the key outlives the job,
  Instant end;            // which is until then.
};

// What the records of keys that outlive their jobs take: by how many they are, and by the bytes of
// the keys and of the names of their tubes.
struct TombstoneRoom {
  std::uint64_t keys = 0;
  std::uint64_t bytes = 0;

  void add(std::uint64_t bytes_of_key) { ++keys, bytes += bytes_of_key; }
  void remove(std::uint64_t bytes_of_key) { --keys, bytes -= bytes_of_key; }
  bool operator==(const TombstoneRoom&) const = default;
};

// What a new job is, as far as its records go: that of the put, and those that it is promised room
// for.
struct PutRoom {
  std::size_t tube_name_bytes = 0;
  std::size_t body_bytes = 0;
  std::size_t tag_bytes = 0;            // Of the text of its tags.
  bool may_be_buried = false;           // It has a limit of tries: a burial is promised as well.
  bool is_held = false;                 // The end of its hold is promised as well.
  std::size_t tombstone_key_bytes = 0;  // Of a key that outlives the job; 0: it has none.
};

// What a change promises to its job, beside what the job has been promised before.
enum class Promise : std::uint8_t {
  nothing,
  burial,  // The job comes out of burial, and may be buried again when its tries are used up.
};

// What is to be recorded now of what was promised: deletions, one after another, or one burial, or
// the end of one hold.
struct Promised {
  std::uint32_t deletions = 0;    // 0: it is something else.
  TombstoneRoom tombstones = {};  // The keys that the deletions leave behind.
  // The burial of that job. If there is no room for its record now, copies that the journal makes
  // of the job have its turn among the buried all the same.
  const JournaledJob* burial = nullptr;
};

// What has become of a job.
enum class JobChange : std::uint8_t {
  put,       // It is new.
  update,    // It has changed. One that is buried is the last of the buried ones now.
  in_place,  // It has changed, and stays where it is: one that is buried keeps its turn.
};

// Records are counted up. An answer that reports a change is held until `safe` has reached the
// count that was current after the change.
struct JournalProgress {
  std::uint64_t records = 0;  // So many there have been.
  std::uint64_t safe = 0;     // So many are kept as safely as the operator asked for.
  // So many are either that or in doubt: the journal could not write them and cannot tell when it
  // will. Nobody is made to wait for those; what they report is answered as a failure.
  std::uint64_t doubtful = 0;
};

// What `stats` tells of the journal; all zero without one.
struct JournalNumbers {
  bool is_kept = false;  // There is a journal at all.
  std::uint64_t oldest_index = 0;
  std::uint64_t current_index = 0;
  std::uint64_t records_migrated = 0;
  std::uint64_t records_written = 0;
  std::uint64_t errors = 0;  // Failed writes, syncs and the like since the start.
  bool refusing = false;     // What would have to be recorded is refused now.
  // A put was refused for want of space, and there is still no room for it.
  bool no_space = false;
  std::uint64_t refused_puts = 0;  // For want of space, or because the disk fails.
  // When the oldest change was written that is not synced yet; never() if all are, or need not be.
  Instant unsynced_since = Instant::never();

  // Milliseconds since then; 0 if all are synced.
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

  // Takes room for the record of a new job, and for those that are promised with it. Room that is
  // taken and then not used is given back by release_room(). `body`, if there is one, is the body
  // itself: of a large one the journal may want to write it beforehand, and answers `later` until
  // it has.
  [[nodiscard]] virtual JournalStatus take_room_for_put(const PutRoom& put,
                                                        const BlobRef& body) = 0;
  // Takes room for the record of a change to a job that is known already, and for what is promised
  // with it.
  [[nodiscard]] virtual JournalStatus take_room_for_update(Promise promise) = 0;
  // Takes up room that was promised: for all of it or for none. Never `full` but for several
  // deletions: as these have to stand together, there may be room for fewer only.
  [[nodiscard]] virtual JournalStatus take_promised_room(const Promised& promised) = 0;
  // Gives back what the last take_…room… took, if its command changed nothing after all.
  virtual void release_room() = 0;
  // Whether those who were told `later` may try again. Once it was true, it is false until somebody
  // is told `later` again. It becomes true in a turn that next_event() or the end of a sync begins.
  [[nodiscard]] virtual bool may_try_again() = 0;

  // Records, each for a room taken before. They cannot fail from the engine's point of view: what a
  // failing disk does to them is the journal's to mend, and decides when the answers may leave.
  // What was promised with the room holds from here on; a burial that is recorded is not promised
  // any more, and so is the end of a hold that has ended.
  virtual void record(JobChange change, const JournaledJob& job) = 0;
  // The same of a deletion, with which all ends that the job was promised. `left`: the key that
  // outlives the job; null: none does. The two are one record.
  virtual void record_deletion(const JournaledJob& job, const Tombstone* left) = 0;
  // The tombstone of a job is about to be destroyed, because the time of its key is over. Nothing
  // is recorded.
  virtual void forget_tombstone(JobRef tombstone_ref) = 0;

  virtual JournalProgress progress() const = 0;
  std::uint64_t records() const { return progress().records; }
  std::uint64_t safe_records() const { return progress().safe; }

  // The end of a turn: what was recorded in it is written, and what is due besides is done.
  virtual void end_turn(Instant now) = 0;
  // When the next turn has to come for the journal's sake even if nothing else happens.
  virtual Instant next_event() const = 0;

  virtual JournalNumbers numbers() const = 0;
  // The number of the file that holds the job's full record; 0 if none does.
  virtual std::uint64_t file_of(JobRef job) const = 0;

 private:
  const bool has_job_fields_;
};

// The journal of a server without a binlog: every change is as safe as it will ever be.
class NoJournal final : public Journal {
 public:
  NoJournal() : Journal(false) {}

  JournalStatus take_room_for_put(const PutRoom&, const BlobRef&) override {
    return JournalStatus::ok;
  }
  JournalStatus take_room_for_update(Promise) override { return JournalStatus::ok; }
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
