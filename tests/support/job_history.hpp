// A simple model of the records of a binlog: every change of every job, with the number of its
// record. It determines which jobs may and must exist after a crash.

#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "haricot/binlog/binlog.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot::binlog {

// Returns the body that tests give to a job; it contains the job's id.
std::string body_for(JobId id, std::size_t bytes);

// A job as a restart must restore it. Times are those of the wall clock.
struct KnownJob {
  std::string tube;
  std::uint32_t body_bytes = 0;
  std::uint32_t priority = 0;
  std::uint32_t delay_s = 0;
  std::uint32_t ttr_s = 0;
  std::int64_t created_at = 0;
  std::int64_t deadline_at = 0;           // Delayed jobs only, else 0.
  JobState state = JobState::ready;       // A reserved job is restored as ready.
  std::array<std::uint64_t, 5> counts{};  // Indexed by JobEvent.
  std::string tags = {};
  std::string note = {};
  std::uint32_t tries_before = 0;                   // See TagFacts.
  std::uint64_t burial = 0;                         // Grows with each burial; 0: not buried.
  BurialCause burial_cause = BurialCause::unknown;  // Buried jobs only.

  bool operator==(const KnownJob&) const = default;
};

// A key that outlived its job, as a restart must restore it.
struct KnownKey {
  std::string tube;
  std::string key;
  std::uint32_t seconds = 0;
  std::int64_t end_at = 0;

  bool operator==(const KnownKey&) const = default;
};

KnownJob known_from(const Engine& engine, JobRef ref, Duration wall_offset);
std::string to_text(const std::optional<KnownJob>& job);
// Returns true if a job was restored as recorded. A reserve or its timeout has no record of its
// own, so a copy that compaction makes may have higher counts, and the delay of a backoff that the
// disk did not take. A delayed job whose delay is over is a ready one. Ignores the note, which has
// records of its own.
bool is_same(KnownJob known, const KnownJob& found, std::int64_t wall_now);
// Returns all jobs of an engine. Buried jobs are numbered in the order of their tubes.
std::map<JobId, KnownJob> all_jobs(const Engine& engine, Duration wall_offset);

// The notes of jobs. Their records have nothing else of the job, and other records lack the note.
class KnownNotes {
 public:
  // Forgets all notes, and takes those of the engine.
  void begin(const Engine& engine);
  void set(std::uint64_t record, JobId id, std::string note) {
    notes_[id].emplace_back(record, std::move(note));
  }
  // Returns true if a job may have that note: the one at `safe` or, unless `exactly`, a later one.
  bool may_be(JobId id, const std::string& note, std::uint64_t safe, bool exactly) const;

 private:
  std::map<JobId, std::vector<std::pair<std::uint64_t, std::string>>> notes_;
};

// Number of a change without a record: a burial that the journal takes later. Only a copy of the
// job that the binlog makes meanwhile has the change.
inline constexpr std::uint64_t kUnrecorded = std::numeric_limits<std::uint64_t>::max();

// Sits between an engine and its binlog, and stores all calls.
class JobHistory final : public Journal {
 public:
  struct Change {
    // Number of its record; 0: it existed when the binlog was opened.
    std::uint64_t record = 0;
    JobId id = 0;
    std::optional<KnownJob> job;       // None: deleted.
    std::optional<KnownKey> key = {};  // Key that outlives the job.
  };

  explicit JobHistory(Binlog& binlog) : Journal(true), binlog_(binlog) {}
  // Starts with this engine, whose jobs exist before any record, and this offset.
  void begin(const Engine& engine, Duration wall_offset);

  const std::vector<Change>& changes() const { return changes_; }

  // Compares with the jobs of another engine, which was restored from the folder. Returns the first
  // difference; empty if each job is as it was at `safe` or at a later record. `exactly`: as it was
  // at `safe`. Compares the keys that outlive their jobs, too.
  std::string compare(const Engine& restored, Duration wall_offset, std::int64_t wall_now,
                      std::uint64_t safe, bool exactly = false) const;

  JournalStatus take_room_for_put(const PutRoom& put, const BlobRef& body) override {
    return binlog_.take_room_for_put(put, body);
  }
  JournalStatus take_room_for_update(Promise promise) override {
    return binlog_.take_room_for_update(promise);
  }
  JournalStatus take_room_for_note(JobRef job, std::size_t note_bytes) override {
    return binlog_.take_room_for_note(job, note_bytes);
  }
  JournalStatus take_promised_room(const Promised& promised) override;
  bool may_try_again() override { return binlog_.may_try_again(); }
  void release_room() override { binlog_.release_room(); }
  void record(JobChange change, const JournaledJob& job) override;
  void record_deletion(const JournaledJob& job, const Tombstone* left) override;
  void forget_tombstone(JobRef tombstone_ref) override { binlog_.forget_tombstone(tombstone_ref); }
  JournalProgress progress() const override { return binlog_.progress(); }
  void end_turn(Instant now) override { binlog_.end_turn(now); }
  Instant next_event() const override { return binlog_.next_event(); }
  JournalNumbers numbers() const override { return binlog_.numbers(); }
  std::uint64_t file_of(JobRef job) const override { return binlog_.file_of(job); }

 private:
  std::string compare_keys(const Engine& restored, Duration wall_offset, std::int64_t wall_now,
                           std::uint64_t safe, bool exactly) const;

  Binlog& binlog_;
  const Engine* engine_ = nullptr;
  Duration wall_offset_;
  std::uint64_t burials_ = 0;
  std::vector<Change> changes_;
  KnownNotes notes_;
};

}  // namespace haricot::binlog
