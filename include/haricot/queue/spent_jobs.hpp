// Jobs that were buried because their tries were used up: counted for each tube, and collected for
// the log. The log names at most kLinesAMinute tubes per minute, and each tube at most once per
// minute, unless the tube is removed and created again.
//
// No function fails: if memory is short, a job is not counted.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/base/hash_table.hpp"
#include "haricot/base/time.hpp"
#include "haricot/queue/job.hpp"

namespace haricot {

// One line of the log.
struct SpentJobs {
  std::string tube;
  JobId last_id = 0;
  std::uint64_t jobs = 0;    // Since the last line of the tube.
  std::uint64_t others = 0;  // Jobs of other tubes, which wait for a line or are gone.
};

class SpentJobCounts {
 public:
  static constexpr Duration kPauseBetweenLogs = Duration::seconds(60);
  // For all tubes together, because a client can create and recreate any number of tubes.
  static constexpr std::uint32_t kLinesAMinute = 10;

  SpentJobCounts() = default;
  ~SpentJobCounts();
  SpentJobCounts(const SpentJobCounts&) = delete;
  SpentJobCounts& operator=(const SpentJobCounts&) = delete;

  void add(TubeRef tube, std::string_view name, JobId id, Instant now);
  std::uint64_t total(TubeRef tube) const;
  // Sets the total of a tube. Does nothing if memory is short.
  void restore(TubeRef tube, std::uint64_t total);
  // Forgets a tube that is about to be freed.
  void forget(TubeRef tube) {
    if (tubes_.size() > 0) drop(tube);
  }

  bool has_something_to_log() const { return !to_log_.empty(); }
  std::vector<SpentJobs> take() { return std::exchange(to_log_, {}); }

 private:
  struct OfTube {
    std::uint64_t hash = 0;  // The tube's reference, because references are dense.
    OfTube* next_in_bucket = nullptr;
    std::uint64_t total = 0;
    std::uint64_t unlogged = 0;
    Instant log_again = {};
  };

  OfTube* find(TubeRef tube) const;
  OfTube* find_or_create(TubeRef tube);
  void drop(TubeRef tube);

  HashTable<OfTube> tubes_;  // Tubes with such jobs.
  std::uint64_t unlogged_ = 0;
  std::uint64_t unlogged_of_gone_ = 0;  // Jobs of freed tubes since the last line.
  RateLimit lines_{kPauseBetweenLogs, {}, kLinesAMinute};
  std::vector<SpentJobs> to_log_;
};

}  // namespace haricot
