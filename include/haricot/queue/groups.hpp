// A group: the existing jobs, in all tubes, whose tag `grp:` has the same name. A job with a tag
// `aft:` is held until the group of that name has no jobs, or, with `:any`, only buried ones.
//
// A group counts its jobs by state, and ends when the last one is destroyed. Its name is free then.
// If jobs are held for it, the ended group enters a queue, and Backlog ends the holds one by one.
// Jobs with `:any` are held for the shadow of the group: a group without a name and jobs that ends
// when no job of the group is ready, reserved or delayed.
//
// A held job is in the delayed heap of its tube, with a deadline that no delay reaches. It is held
// as long as it stays there; any move ends its hold for good. A flushed job is held until the flush
// frees it.
//
// The data of a job for its group is in the job's own piece of memory (GroupNode, HeldNode). So
// only the first job of a group needs additional memory.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "haricot/base/hash_table.hpp"
#include "haricot/base/ref_table.hpp"
#include "haricot/base/sip_hash.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/job_store.hpp"

namespace haricot {

struct Group {
  GroupRef ref{};
  // Shadow of a group with a name, or none; group of a shadow, and none after the shadow has ended.
  GroupRef partner{};
  std::string name;  // Empty: a shadow.

  // Links of the table of groups by name. In an ended group, `next_in_bucket` is the next ended
  // one.
  std::uint64_t hash = 0;
  Group* next_in_bucket = nullptr;

  std::array<std::uint32_t, 4> jobs{};  // Indexed by JobState.
  std::uint32_t held = 0;               // Number of jobs held for the group and its shadow.
  JobRef first_held = JobRef::none;     // List of these, in the order of their puts.
  JobRef last_held = JobRef::none;
  bool is_ended = false;

  std::uint32_t jobs_in(JobState state) const { return jobs[static_cast<std::size_t>(state)]; }
  bool has_jobs() const { return is_active() || jobs_in(JobState::buried) != 0; }
  // Returns true if a job of the group is not buried.
  bool is_active() const {
    return (jobs_in(JobState::ready) | jobs_in(JobState::reserved) | jobs_in(JobState::delayed)) !=
           0;
  }
  bool is_shadow() const { return name.empty(); }
};

class Groups {
 public:
  Groups(JobStore& jobs, const HashKey& hash_key) : jobs_(jobs), hash_key_(hash_key) {}
  ~Groups();
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  // Returns null if the group has no job.
  Group* find(std::string_view name) const;

  // Adds a new job to its group. Returns false if memory is short; nothing has changed then.
  // Requires: the job has a tag `grp`. If the job is not placed afterwards, leave() has to follow.
  [[nodiscard]] bool join(JobRef ref, std::string_view name);
  void leave(JobRef ref);
  // Sets `awaited` to the group or shadow that a new job with a tag `aft` waits for, or to null if
  // it need not wait. Returns false if memory is short. A shadow without held jobs is freed with
  // the others when its group has no active job.
  [[nodiscard]] bool find_awaited(const JobTags& tags, Group*& awaited);
  // Appends a job to the jobs held for the group. Requires: it has a tag `aft`, and is delayed
  // without a deadline.
  void hold(JobRef ref, Group& group);
  // Ends the hold of a job. Requires: it is held.
  void end_hold(JobRef ref);
  // Notifies the group of a job with tags that the job has moved. A move to `nowhere` removes the
  // job from its group, which may end.
  void moved(JobRef ref, Place from, Place to) {
    if (size_ > 0) moved_in_group(ref, from, to);
  }

  // Appends a restored job to the jobs held for its group, whose own jobs may be restored before or
  // after it. Returns false if memory is short.
  [[nodiscard]] bool hold_restored(JobRef ref);
  // Ends the groups without jobs. Called after all jobs were restored.
  void end_restoring();

  // Returns true if there is an ended group; jobs may still be held for it.
  bool has_ended() const { return first_ended_ != nullptr; }
  // Returns the first held job of the first ended group, or JobRef::none. Requires: has_ended().
  JobRef first_of_ended() const { return first_ended_->first_held; }
  // Frees the first ended group. Requires: first_of_ended() is JobRef::none.
  void drop_ended();

  // Number of groups, including ended ones.
  std::uint32_t size() const { return size_; }
  // Bytes of all groups, and of a group with this name, without the pieces of their jobs.
  std::uint64_t memory_bytes() const { return memory_bytes_; }
  static std::uint64_t memory_bytes_for(std::string_view name);
  // Returns the bytes of the groups that a put with these tags adds.
  std::uint64_t memory_bytes_for(const JobTags& tags) const;

  // Ends the program if an invariant is broken. Walks over all jobs; for tests.
  void check_invariants() const;

 private:
  [[gnu::cold, gnu::noinline]] void moved_in_group(JobRef ref, Place from, Place to);
  Group* find(std::string_view name, std::uint64_t hash) const;
  Group* create(std::string_view name);
  Group* find_or_create(std::string_view name);
  Group* find_or_create_shadow(Group& group);
  void settle(Group& group);
  void end(Group& group);
  void drop(Group& group);
  std::uint64_t check_held(const Group& group) const;

  JobStore& jobs_;
  HashKey hash_key_;
  HashTable<Group> by_name_;  // Without ended groups.
  RefTable<Group, GroupRef> by_ref_;
  Group* first_ended_ = nullptr;
  Group* last_ended_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint64_t memory_bytes_ = 0;
};

}  // namespace haricot
