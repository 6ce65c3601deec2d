// What has to come out when a hurt folder is read, from the records that are whole and from what
// was acknowledged when they were written.

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

// What records make of a job: the last full one, and the last of all. No job: both are null.
struct RecordedState {
  const Piece* full = nullptr;
  const Piece* last = nullptr;

  bool operator==(const RecordedState&) const = default;
};
using States = std::vector<RecordedState>;

// Bytes of a file that are no whole record and not zero.
struct Strange {
  std::string file;
  std::size_t begin = 0;  // The first of them.
  std::size_t end = 0;    // After the last one.
};

struct Expectation {
  // By the records that are whole: one state, or some where the reader cannot know.
  std::map<JobId, States> states;
  std::map<JobId, RecordedState> acknowledged;
  // The same without what a crash may have torn off as well: then nothing need be told of it.
  std::map<JobId, RecordedState> without_torn;
  // Of beanstalkd's records, which nothing proves: whatever becomes of these jobs.
  std::set<JobId> unknowable;
  std::vector<Strange> strange;
  bool must_tell = false;
  bool may_be_refused = false;
  JobId highest_whole = 0;  // Of the records that are whole.
  JobId highest_known = 0;  // That was given out, but for what a crash may have torn off.
  // Files that are gone, and nothing tells that they were ever there.
  std::set<std::uint64_t> forgotten;
};

// `has_note`: the reader knows what the last server has noted outside of the files.
Expectation expect(const HurtFolder& folder, bool has_note);
// A job in that state at that time: a delay may be over. Requires: there is one.
ModelJob job_in(const RecordedState& state, std::int64_t wall);
// The jobs of a sound folder.
Jobs acknowledged_jobs(const KnownFolder& folder);

}  // namespace haricot::damage
