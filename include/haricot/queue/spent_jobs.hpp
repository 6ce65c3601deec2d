// Jobs that were buried because their tries were used up: counted for each tube, and collected for
// the log, which names a tube at most once a minute.
//
// None of it can fail: what there is no memory for is not counted.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "haricot/base/time.hpp"
#include "haricot/queue/job.hpp"

namespace haricot {

// For one line of the log.
struct SpentJobs {
  std::string tube;
  JobId last_id = 0;
  std::uint64_t jobs = 0;  // Since the last line of the tube.
};

class SpentJobCounts {
 public:
  static constexpr Duration kPauseBetweenLogs = Duration::seconds(60);

  void add(TubeRef tube, std::string_view name, JobId id, Instant now);
  std::uint64_t total(TubeRef tube) const;
  // The tube goes.
  void forget(TubeRef tube) {
    if (!tubes_.empty()) tubes_.erase(tube);
  }

  bool has_something_to_log() const { return !to_log_.empty(); }
  std::vector<SpentJobs> take() { return std::exchange(to_log_, {}); }

 private:
  struct OfTube {
    std::uint64_t total = 0;
    std::uint64_t unlogged = 0;
    Instant log_again = {};
  };
  std::unordered_map<TubeRef, OfTube> tubes_;  // Those that had some.
  std::vector<SpentJobs> to_log_;
};

}  // namespace haricot
