// Sits between the engine and its binlog, and records all calls: on a tape, from which the model
// takes the disk's decisions and the order of commands, and in a ledger of every change of every
// job, which determines what a crash may leave.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/binlog/binlog.hpp"
#include "haricot/queue/journal.hpp"
#include "support/job_history.hpp"

namespace haricot::simulation {

// A key that outlives its job.
struct KnownTombstone {
  std::string tube;
  std::string key;
  std::uint32_t seconds = 0;
  Instant end;

  bool operator==(const KnownTombstone&) const = default;
};

struct Event {
  enum class Kind : std::uint8_t {
    line,
    take_room_for_put,
    take_room_for_update,
    take_room_for_burial,
    take_room_for_hold_end,
    take_room_for_delete,
    take_room_for_note,
    record_put,
    record_update,
    record_in_place,
    record_note,
    record_tombstone,
    record_delete,
    numbers,
    file_of,
    try_again,
    answered,
    client_shown,
  };
  Kind kind;
  JournalStatus status = JournalStatus::ok;  // take_room_…
  int client = 0;                            // line: its sender; answered: its receiver.
  std::string line = {};                     // line: its text. client_shown: state of the client.
  CoarseInstant idle_since = {};             // client_shown: since when it is idle.
  JobId id = 0;                              // record_…, take_room_for_burial, take_room_for_note
  binlog::KnownJob job = {};                 // record_…, except record_delete: as recorded.
  std::uint64_t keys = 0;                    // take_room_for_delete: keys that the deletions leave.
  KnownTombstone tombstone = {};             // record_tombstone: its end by the engine's clock.
  std::size_t body_bytes = 0;                // take_room_for_put
  std::string body = {};                     // take_room_for_put, if the journal gets the body
  JournalNumbers journal = {};               // numbers
  std::uint64_t file = 0;                    // file_of
  std::uint64_t records = 0;                 // answered, record_delete: number at that time.
};

std::string to_text(const Event& event);

// Returns all keys of an engine that have outlived their jobs.
std::map<JobId, KnownTombstone> all_tombstones(const Engine& engine, Duration wall_offset);

// Events of one call of the service, in order.
class Tape {
 public:
  // Sets a function that is called before each event: it adds events that nothing else reports.
  void set_before(std::function<void()> before) { before_ = std::move(before); }
  void add(Event event) {
    before_();
    events_.push_back(std::move(event));
  }
  void add_answer(Event event) { events_.push_back(std::move(event)); }
  bool empty() const { return events_.empty(); }
  const Event& front() const { return events_.front(); }
  // Throws Mismatch if the next event is another one.
  Event take(Event::Kind kind);
  // Takes the first of the following answers for which `fits` is true; nothing: none is.
  std::optional<Event> take_answer(const std::function<bool(const Event&)>& fits);
  void clear() { events_.clear(); }

 private:
  std::function<void()> before_ = [] {};
  std::deque<Event> events_;
};

// Every state that a job may have on the disk, by the number of the record that made it.
class Ledger {
 public:
  // `record`: its number, or binlog::kUnrecorded.
  void note(std::uint64_t record, JobId id, std::optional<binlog::KnownJob> job);
  // Notes a deletion and the key that it leaves, whose end is by the wall clock.
  void note_deletion(std::uint64_t record, JobId id, std::optional<KnownTombstone> tombstone);
  // Notes a change of a job that does not move: a buried one keeps its turn.
  void note_in_place(std::uint64_t record, JobId id, binlog::KnownJob job);
  void note_body(JobId id, std::string_view body) { bodies_[id] = body; }
  const std::string& body(JobId id) const { return bodies_.at(id); }
  void note_note(std::uint64_t record, JobId id, const std::string& note) {
    notes_.set(record, id, note);
  }

  // Throws Mismatch unless each job, and each tombstone, is as it was at `safe` or became later.
  // `exactly`: as it was at `safe`.
  void check(const Engine& restored, Duration wall_offset, std::int64_t wall_now,
             std::uint64_t safe, bool exactly) const;
  // Throws Mismatch if there is a job that was never put, or one with another body.
  void check_bodies(const Engine& restored) const;
  // Starts again with the restored state.
  void begin_again(const Engine& restored, Duration wall_offset);

 private:
  struct Change {
    std::uint64_t record;
    std::optional<binlog::KnownJob> job;           // None: deleted, or never put.
    std::optional<KnownTombstone> tombstone = {};  // Left by the deletion.
  };
  using Jobs = std::map<JobId, binlog::KnownJob>;
  using Tombstones = std::map<JobId, KnownTombstone>;

  void add(std::uint64_t record, JobId id, std::optional<binlog::KnownJob> job);
  static std::size_t first_allowed(const std::vector<Change>& changes, std::uint64_t safe);
  void check_tombstones(const Engine& restored, Duration wall_offset, std::int64_t wall_now,
                        std::uint64_t safe, bool exactly) const;
  static bool has_other(const Jobs& jobs, const Tombstones& kept_keys, JobId id,
                        const KnownTombstone& tombstone);

  std::map<JobId, std::vector<Change>> changes_;
  std::map<JobId, std::string> bodies_;
  binlog::KnownNotes notes_;
  // Tombstones that were not restored because others had their keys. A later restart may find them.
  Tombstones passed_over_;
  std::uint64_t burials_ = 0;
};

class Recorder final : public Journal {
 public:
  Recorder(binlog::Binlog& binlog, Tape& tape, Ledger& ledger)
      : Journal(true), binlog_(binlog), tape_(tape), ledger_(ledger) {}
  // Records everything from now on.
  void begin(const Engine& engine, Duration wall_offset) {
    engine_ = &engine;
    wall_offset_ = wall_offset;
  }

  JournalStatus take_room_for_put(const PutRoom& put, const BlobRef& body) override;
  JournalStatus take_room_for_update(Promise promise) override;
  JournalStatus take_room_for_note(JobRef job, std::size_t note_bytes) override;
  JournalStatus take_promised_room(const Promised& promised) override;
  bool may_try_again() override;
  void release_room() override {
    changes_with_room_ = 0;
    binlog_.release_room();
  }
  void record(JobChange change, const JournaledJob& job) override;
  void record_deletion(const JournaledJob& job, const Tombstone* left) override;
  void forget_tombstone(JobRef tombstone_ref) override { binlog_.forget_tombstone(tombstone_ref); }
  JournalProgress progress() const override { return binlog_.progress(); }
  void end_turn(Instant now) override;
  Instant next_event() const override { return binlog_.next_event(); }
  JournalNumbers numbers() const override;
  std::uint64_t file_of(JobRef job) const override;
  // Number of commands that had to wait for the disk.
  std::uint64_t put_off() const { return put_off_; }

 private:
  // Notes an attempt to take room for that many changes. Throws Mismatch if earlier room is neither
  // used nor released.
  void note_room(Event event, std::uint32_t changes = 1);
  // Throws Mismatch if no room was taken for the change.
  void use_room();

  binlog::Binlog& binlog_;
  Tape& tape_;
  Ledger& ledger_;
  const Engine* engine_ = nullptr;
  Duration wall_offset_;
  std::uint64_t put_off_ = 0;
  std::uint32_t changes_with_room_ = 0;  // Changes to come for which room was taken.
};

}  // namespace haricot::simulation
