// A job: what a producer put and a worker will get.
//
// There may be tens of millions of jobs, so a job is 52 bytes. Its body follows in the same piece
// of memory; of a large body, a reference does. Fields that only some states need share their
// bytes: see `Links`. What can be found elsewhere is not here at all. So the deadline of a delayed
// job is in its tube's heap, and that of a reserved job in its holder's heap; the job has its index
// in the heap.

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "haricot/base/linked_heap.hpp"
#include "haricot/base/time.hpp"

namespace haricot {

using JobId = std::uint64_t;  // 1 and up. 0 is no job.

// Where the job store keeps a job: half the size of a pointer. Valid until the job is destroyed.
enum class JobRef : std::uint32_t { none = 0 };

// Numbers of a tube and of a client. 0 is none.
enum class TubeRef : std::uint32_t {};
enum class ClientRef : std::uint32_t {};

// Number of a lane (lanes.hpp).
enum class LaneRef : std::uint32_t { none = 0 };

// Number of a group (groups.hpp).
enum class GroupRef : std::uint32_t { none = 0 };

enum class JobState : std::uint8_t { ready, reserved, delayed, buried };
constexpr JobState last_of(JobState) {
  return JobState::buried;
}

// As the protocol calls it.
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

// Where a job is, or was. `nowhere`: it was just made, or is about to be destroyed; `flushed`: a
// flush has it.
enum class Place : std::uint8_t { ready, reserved, delayed, buried, nowhere, flushed };

constexpr Place place_of(JobState state) {
  return static_cast<Place>(state);
}

// Some of the states.
struct JobStates {
  bool ready = false;
  bool delayed = false;
  bool buried = false;
};

// What happened to a job so far, as stats-job tells it.
enum class JobEvent : std::uint8_t { reserve, timeout, release, bury, kick };
inline constexpr std::size_t kJobEvents = 5;
using JobCounts = std::array<std::uint32_t, kJobEvents>;  // By JobEvent.
// The bits that any of them has.
constexpr std::uint32_t bits_of(const JobCounts& counts) {
  return counts[0] | counts[1] | counts[2] | counts[3] | counts[4];
}

// The five counters of a job and its state in eight bytes: twelve bits a counter. A counter that
// passes 4095 carries into the job store's table of carries, and `carried` says that there is such
// an entry.
struct JobHistory {
  std::uint64_t reserves : 12;
  std::uint64_t timeouts : 12;
  std::uint64_t releases : 12;
  std::uint64_t buries : 12;
  std::uint64_t kicks : 12;
  std::uint64_t state : 2;
  std::uint64_t burial_side : 1;  // Of a buried job: see Tube::burial_side.
  std::uint64_t carried : 1;
};
static_assert(sizeof(JobHistory) == 8);

// A buried job's neighbours in its tube's list, or the index of any other job in the heap it is in:
// the tube's ready or delayed heap, or its holder's heap of reserved jobs.
struct Links {
  std::uint32_t first;   // heap index                     | buried: the JobRef of the one before
  std::uint32_t second;  // reserved: the holder's ClientRef | buried: the JobRef of the one after
                         // ready: since when, see Job::ready_since()
};

// What the journal keeps with each job, where there is a journal that keeps anything: the file that
// holds the job's full record, the job's neighbours in the list of those that live in it, and
// whether room is kept for the record of its burial, and for that of the end of its hold.
struct JournalFields {
  static constexpr std::uint32_t kFileLast = (std::uint32_t{1} << 30) - 1;
  std::uint32_t file : 30;  // The journal's own number of it, up to kFileLast; 0 is none.
  std::uint32_t has_burial_promised : 1;
  std::uint32_t has_hold_end_promised : 1;
  JobRef previous;
  JobRef next;
  std::uint32_t stamp_halves[2];  // In two halves, so that the fields need no gap in front.

  void set_file(std::uint32_t number) { file = number & kFileLast; }
  // Of a buried job: a number that grows with every burial, which keeps their order.
  std::int64_t stamp() const {
    return static_cast<std::int64_t>(std::uint64_t{stamp_halves[1]} << 32 | stamp_halves[0]);
  }
  void set_stamp(std::int64_t stamp) {
    stamp_halves[0] = static_cast<std::uint32_t>(stamp);
    stamp_halves[1] = static_cast<std::uint32_t>(static_cast<std::uint64_t>(stamp) >> 32);
  }
};
static_assert(sizeof(JournalFields) == 20);

// What a job of a lane keeps for it: the lane, and its links in the heap of ready jobs of the lane.
struct LaneNode {
  LaneRef lane;
  HeapLinks<JobRef> links;
};
static_assert(sizeof(LaneNode) == 20 && alignof(LaneNode) == 4);

// What a job with a tag `idp` keeps for its key: its place in the table of keys, and where the key
// stands in the text of its tags.
struct KeyNode {
  std::uint64_t hash;
  KeyNode* next_in_bucket;
  JobRef job;  // none: the job does not own its key.
  std::uint8_t key_offset;
  std::uint8_t key_bytes;
};
static_assert(sizeof(KeyNode) == 24 && alignof(KeyNode) == 8);

// What a job with a tag `grp` keeps for it: its group.
struct GroupNode {
  GroupRef group;
};

// What a job with a tag `aft` keeps for it while it is held: the group that it waits for, and its
// neighbours among those that do.
struct HeldNode {
  GroupRef group;  // none: it is not held.
  JobRef previous;
  JobRef next;
};
static_assert(sizeof(HeldNode) == 12 && alignof(HeldNode) == alignof(GroupNode));

struct Job {
  JobId id;
  Instant created;  // When it was put; `age` counts from here.
  JobHistory history;
  std::uint32_t body_bytes : 31;
  std::uint32_t has_tags : 1;  // See JobStore::tags().
  std::uint32_t priority;      // Smaller is more urgent.
  std::uint32_t delay_s;       // As last asked for by put or release.
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

  // Requires of both: ready, or about to be. What is kept is the time from `created` on, cut off to
  // 27 binary digits, and never below 4 us: exact for a job that was ready at once.
  Instant ready_since() const {
    const std::uint64_t units = std::uint64_t{links.second & kAgeMask}
                                << (links.second >> kAgeBits);
    return Instant::at(created.count() + static_cast<std::int64_t>(units << kAgeUnitBits));
  }
  void set_ready_since(Instant since) {
    links.second =
        since <= created ? 0 : age_code(static_cast<std::uint64_t>((since - created).count()));
  }

  // Jobs below this priority count as urgent in the statistics.
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
