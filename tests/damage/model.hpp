// Computes the expected result of reading a damaged folder, from its undamaged records and the
// changes that were acknowledged.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hurt_folder.hpp"
#include "known_folder.hpp"

namespace haricot::damage {

// The state of a job after records: its last full record, and its last record. No job: both null.
struct RecordedState {
  const Piece* full = nullptr;
  const Piece* last = nullptr;

  bool operator==(const RecordedState&) const = default;
};
using States = std::vector<RecordedState>;

// Bytes of a file that are neither zero nor an undamaged record.
struct Strange {
  std::string file;
  std::size_t begin = 0;  // Offset of the first byte.
  std::size_t end = 0;    // Offset after the last byte.
};

struct Expectation {
  // States by the undamaged records: one, or several if the reader cannot distinguish them.
  std::map<JobId, States> states;
  std::map<JobId, RecordedState> acknowledged;
  // Acknowledged states without the records that a crash may have torn off: the reader need not
  // report the loss of these records.
  std::map<JobId, RecordedState> without_torn;
  // Jobs of damaged records of beanstalkd, which have no checksum: every state is accepted.
  std::set<JobId> unknowable;
  // Records of haricotd in files that may be read as beanstalkd's: without the cause of a burial.
  std::set<const Piece*> may_lack_cause;
  std::vector<Strange> strange;
  bool must_tell = false;
  bool may_be_refused = false;
  JobId highest_whole = 0;  // Highest id in the undamaged records.
  JobId highest_known = 0;  // Highest assigned id, without records that a crash may have torn off.
  // Numbers of missing files without evidence that they existed.
  std::set<std::uint64_t> forgotten;
};

// `has_note`: the reader has the note of the last server.
Expectation expect(const HurtFolder& folder, bool has_note);
// Returns the job in that state at that time, when its delay may have ended. Requires: the state
// has a job.
ModelJob job_in(const RecordedState& state, std::int64_t wall);
// Returns the jobs of a sound folder.
Jobs acknowledged_jobs(const KnownFolder& folder);

}  // namespace haricot::damage
