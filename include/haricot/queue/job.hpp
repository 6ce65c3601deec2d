// A job: the unit of work that a producer puts and a worker reserves.
//
// A server may hold tens of millions of jobs, so a job takes 52 bytes. Its body follows in the same
// piece of memory; a large body is stored elsewhere, and a reference to it follows instead. Fields
// that exist only in some states share their bytes (see `Links`). A job does not repeat data of its
// container: the deadline of a delayed job is in its tube's heap, that of a reserved job in its
// holder's heap, and the job has only its index in that heap.

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "haricot/base/heap.hpp"
#include "haricot/base/job_tags.hpp"
#include "haricot/base/serialization.hpp"
#include "haricot/base/time.hpp"

namespace haricot {

using JobId = std::uint64_t;  // Starts at 1; 0 means no job.
// Greatest id that is accepted from a file or another process. No server takes the 2^40 ids above
// it, so ids never wrap around.
inline constexpr JobId kJobIdLast = ~JobId{0} - (JobId{1} << 40);

// Reference to a job in the job store, half the size of a pointer. Valid until the job is
// destroyed.
enum class JobRef : std::uint32_t { none = 0 };

// References to a tube and to a client. 0 means none.
enum class TubeRef : std::uint32_t {};
enum class ClientRef : std::uint32_t {};

// Reference to a lane (lanes.hpp).
enum class LaneRef : std::uint32_t { none = 0 };

// Reference to a group (groups.hpp).
enum class GroupRef : std::uint32_t { none = 0 };

enum class JobState : std::uint8_t { ready, reserved, delayed, buried };
constexpr JobState last_of(JobState) {
  return JobState::buried;
}

// Returns the name of the state in the protocol.
constexpr std::string_view name_of(JobState state) {
  switch (state) {
    case JobState::ready:
      return "ready";
    case JobState::reserved:
      return "reserved";
    case JobState::delayed:
      return "delayed";
    case JobState::buried:
      return "buried";
  }
  return {};
}

// The container that has a job. `nowhere`: the job is new, or about to be destroyed. `flushed`: a
// flush has taken it out of its tube.
enum class Place : std::uint8_t { ready, reserved, delayed, buried, nowhere, flushed };

constexpr Place place_of(JobState state) {
  return static_cast<Place>(state);
}

// A subset of the states.
struct JobStates {
  bool ready = false;
  bool delayed = false;
  bool buried = false;
};

// Events that a job counts, as reported by stats-job.
enum class JobEvent : std::uint8_t { reserve, timeout, release, bury, kick };
inline constexpr std::size_t kJobEvents = 5;
using JobCounts = std::array<std::uint32_t, kJobEvents>;  // Indexed by JobEvent.
// Returns the bitwise or of all counts.
constexpr std::uint32_t bits_of(const JobCounts& counts) {
  return counts[0] | counts[1] | counts[2] | counts[3] | counts[4];
}

// The five counters and the state of a job in eight bytes, twelve bits for each counter. A counter
// above 4095 carries into the job's JobExtra (job_store.cpp); `has_extra` is set if there is one.
struct JobHistory {
  std::uint64_t reserves : 12;
  std::uint64_t timeouts : 12;
  std::uint64_t releases : 12;
  std::uint64_t buries : 12;
  std::uint64_t kicks : 12;
  std::uint64_t state : 2;
  std::uint64_t burial_side : 1;  // Buried jobs only: see Tube::burial_side.
  std::uint64_t has_extra : 1;
};
static_assert(sizeof(JobHistory) == 8);

// Two fields whose meaning depends on the state of the job:
//
//   state      first                       second
//   ready      index in the ready heap     encodes Job::ready_since()
//   delayed    index in the delayed heap   unused
//   reserved   index in the holder's heap  ClientRef of the holder
//   buried     JobRef of the previous job  JobRef of the next job in the tube's list
struct Links {
  std::uint32_t first;
  std::uint32_t second;
};

// The journal's data in each job, present only if the journal stores jobs: the file with the job's
// full record, the job's neighbours in the list of jobs in that file, and whether room is promised
// for the record of its burial and for that of the end of its hold.
struct JournalFields {
  static constexpr std::uint32_t kFileLast = (std::uint32_t{1} << 30) - 1;
  std::uint32_t file : 30;  // Number of the file, 1 to kFileLast; 0 means none.
  std::uint32_t has_burial_promised : 1;
  std::uint32_t has_hold_end_promised : 1;
  JobRef previous;
  JobRef next;
  std::uint32_t stamp_halves[2];  // In halves, because an eight-byte field would need padding.

  void set_file(std::uint32_t number) { file = number & kFileLast; }
  // Buried jobs only: a number that grows with each burial and so preserves their order.
  std::int64_t stamp() const {
    return static_cast<std::int64_t>(std::uint64_t{stamp_halves[1]} << 32 | stamp_halves[0]);
  }
  void set_stamp(std::int64_t stamp) {
    stamp_halves[0] = static_cast<std::uint32_t>(stamp);
    stamp_halves[1] = static_cast<std::uint32_t>(static_cast<std::uint64_t>(stamp) >> 32);
  }
};
static_assert(sizeof(JournalFields) == 20);

// Placeholder for a tag that stores no data in its jobs.
struct NoNode {};

// Data of a job in a lane: the lane, and the job's links in the lane's heap of ready jobs.
struct LaneNode {
  LaneRef lane;
  HeapLinks<JobRef> links;
};
static_assert(sizeof(LaneNode) == 20 && alignof(LaneNode) == 4);

// Data of a job with a tag `idp`: its entry in the table of keys, and the position of the key in
// the text of its tags.
struct KeyNode {
  std::uint64_t hash;
  KeyNode* next_in_bucket;
  JobRef job;  // none: the job does not own its key.
  std::uint8_t key_offset;
  std::uint8_t key_bytes;
  bool outlives_job;
};
static_assert(sizeof(KeyNode) == 24 && alignof(KeyNode) == 8);

// Data of a job with a tag `grp`.
struct GroupNode {
  GroupRef group;
};

// Data of a job with a tag `aft`: the group that it waits for, and its neighbours in the list of
// jobs held for that group.
struct HeldNode {
  GroupRef group;  // none: the job is not held.
  JobRef previous;
  JobRef next;
};
static_assert(sizeof(HeldNode) == 12 && alignof(HeldNode) == alignof(GroupNode));

// Data of a job with a tag `back`.
struct BackoffNode {
  std::uint32_t tries_before;  // See TagFacts.
};

// Tags that make the ends of tries count, because they decide what becomes of the job.
inline constexpr TagSet kTryTags{Tag::tries, Tag::backoff};

// Facts of a job that its tags need, and that no other field of the job shows. A restart keeps
// them: they are in front of its full record, and in the state of a hand-over.
struct TagFacts {
  std::uint32_t tries_before = 0;  // back: reserves at the last kick; these tries do not count.

  using Fields = FieldList<&TagFacts::tries_before>;
};
// Tags whose jobs have such facts.
inline constexpr TagSet kTagsWithFacts{Tag::backoff};

struct Job {
  JobId id;
  Instant created;  // Time of the put; `age` counts from here.
  JobHistory history;
  std::uint32_t body_bytes : 31;
  std::uint32_t has_tags : 1;  // See JobStore::tags().
  std::uint32_t priority;      // Lower is more urgent.
  std::uint32_t delay_s;       // As given by the last put or release.
  std::uint32_t ttr_s;         // At least 1.
  TubeRef tube;
  Links links;

  JobState state() const { return static_cast<JobState>(history.state); }
  void set_state(JobState state) { history.state = static_cast<std::uint64_t>(state) & 3; }
  // Requires: not buried.
  std::uint32_t heap_index() const { return links.first; }
  // Requires: reserved.
  ClientRef holder() const { return static_cast<ClientRef>(links.second); }
  bool is_urgent() const { return priority < kUrgentPriorities; }

  // Instant at which the job became ready, stored as the time since `created` with 27 significant
  // bits and a resolution of at best 4 us. It is exact for a job that was ready at once. Requires:
  // the job is ready, or about to be.
  Instant ready_since() const {
    const std::uint64_t units = std::uint64_t{links.second & kAgeMask}
                                << (links.second >> kAgeBits);
    return Instant::at(created.count() + static_cast<std::int64_t>(units << kAgeUnitBits));
  }
  void set_ready_since(Instant since) {
    links.second =
        since <= created ? 0 : age_code(static_cast<std::uint64_t>((since - created).count()));
  }

  // Jobs with a priority below this count as urgent in the statistics.
  static constexpr std::uint32_t kUrgentPriorities = 1024;

 private:
  static constexpr std::uint32_t kAgeBits = 27;
  static constexpr std::uint32_t kAgeMask = (std::uint32_t{1} << kAgeBits) - 1;
  static constexpr std::uint32_t kAgeUnitBits = 12;

  static std::uint32_t age_code(std::uint64_t nanoseconds) {
    const std::uint64_t units = nanoseconds >> kAgeUnitBits;
    const auto width = static_cast<std::uint32_t>(std::bit_width(units));
    const std::uint32_t shift = width > kAgeBits ? width - kAgeBits : 0;
    return shift << kAgeBits | static_cast<std::uint32_t>(units >> shift);
  }
};

}  // namespace haricot
