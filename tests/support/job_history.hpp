// A plain model of what a binlog was told: every change of every job, with the number of the record
// that it made. From it follows what may and what must be there after a crash.

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

// The body that tests give to a job: it tells which job it belongs to.
std::string body_for(JobId id, std::size_t bytes);

// A job as a restart has to bring it back. Times are those of the wall clock.
struct KnownJob {
  std::string tube;
  std::uint32_t body_bytes = 0;
  std::uint32_t priority = 0;
  std::uint32_t delay_s = 0;
  std::uint32_t ttr_s = 0;
  std::int64_t created_at = 0;
  std::int64_t deadline_at = 0;           // Of a delayed job, else 0.
  JobState state = JobState::ready;       // A reserved one comes back as ready.
  std::array<std::uint64_t, 5> counts{};  // By JobEvent.
  std::string tags = {};
  std::uint64_t burial = 0;  // Grows with each burial; 0 for one that is not buried.

  bool operator==(const KnownJob&) const = default;
};

// A key that outlived its job, as a restart has to bring it back.
struct KnownKey {
  std::string tube;
  std::string key;
  std::uint32_t seconds = 0;
  std::int64_t end_at = 0;

  bool operator==(const KnownKey&) const = default;
};

KnownJob known_from(const Engine& engine, JobRef ref, Duration wall_offset);
std::string to_text(const std::optional<KnownJob>& job);
// Whether a job came back as it was recorded. A reserve or its timeout makes no record of its own,
// so the copy that compaction makes may know of more of them. A delayed job whose time has come is
// a ready one.
bool is_same(KnownJob known, const KnownJob& found, std::int64_t wall_now);
// All jobs of an engine. Those that are buried are numbered in the order of their tubes.
std::map<JobId, KnownJob> all_jobs(const Engine& engine, Duration wall_offset);

// The number of a change without a record: a burial that the journal takes later. A copy of the job
// that the binlog makes meanwhile has the change, and no other record has.
inline constexpr std::uint64_t kUnrecorded = std::numeric_limits<std::uint64_t>::max();

// Stands between an engine and its binlog and writes down what passes.
class JobHistory final : public Journal {
 public:
  struct Change {
    // Its number; 0 for what was there when the binlog was opened.
    std::uint64_t record = 0;
    JobId id = 0;
    std::optional<KnownJob> job;       // Nothing: deleted.
    std::optional<KnownKey> key = {};  // That outlives the job.
  };

  explicit JobHistory(Binlog& binlog) : Journal(true), binlog_(binlog) {}
  // The engine and the offset that are current from now on; what the engine has is the begin.
  void begin(const Engine& engine, Duration wall_offset);

  const std::vector<Change>& changes() const { return changes_; }

  // What is wrong with the jobs of another engine, which was restored from the folder: empty if
  // each job is as it was at `safe`, or as it came to be at a later record. `exactly`: as it was.
  // The same of the keys that outlive their jobs.
  std::string compare(const Engine& restored, Duration wall_offset, std::int64_t wall_now,
                      std::uint64_t safe, bool exactly = false) const;

  JournalStatus take_room_for_put(const PutRoom& put, const BlobRef& body) override {
    return binlog_.take_room_for_put(put, body);
  }
  JournalStatus take_room_for_update(Promise promise) override {
    return binlog_.take_room_for_update(promise);
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
};

}  // namespace haricot::binlog
