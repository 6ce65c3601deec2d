// Groups: the living jobs with one name in their tags `grp:`, in all tubes; and the jobs that are
// held, which wait with a tag `aft:` until a group has no job any more.
//
// A group counts its jobs by their states, and ends when the last of them is destroyed. From there
// on its name is free. If jobs wait for it, what is left of the group is behind the other ended
// ones, and Backlog ends their holds one by one.
//
// A held job is in the delayed heap of its tube, with a deadline that no delay reaches. It is held
// as long as it stays there: whatever moves it ends its hold for good. A job that a flush has is
// held until the flush frees it.
//
// What a job needs for its group is in its own piece of memory (GroupNode, HeldNode). So only the
// first job of a group needs memory beside it.

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
  std::string name;

  // Links of the table of groups by name; of an ended one, the next that ended.
  std::uint64_t hash = 0;
  Group* next_in_bucket = nullptr;

  std::array<std::uint32_t, 4> jobs{};  // By JobState.
  std::uint32_t held = 0;               // How many wait for it,
  JobRef first_held = JobRef::none;     // in the order in which they were put.
  JobRef last_held = JobRef::none;
  bool is_ended = false;

  std::uint32_t jobs_in(JobState state) const { return jobs[static_cast<std::size_t>(state)]; }
  bool has_jobs() const { return (jobs[0] | jobs[1] | jobs[2] | jobs[3]) != 0; }
};

class Groups {
 public:
  // Clients choose the names, so they must not know by what they are hashed. The jobs outlive this.
  Groups(JobStore& jobs, const HashKey& hash_key) : jobs_(jobs), hash_key_(hash_key) {}
  ~Groups();
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  // Null: no job lives in it.
  Group* find(std::string_view name) const;

  // A job that was just made joins its group. False: no memory, and nothing has changed. Requires:
  // it has a tag `grp`. If it then comes to no place, leave() has to follow.
  [[nodiscard]] bool join(JobRef ref, std::string_view name);
  void leave(JobRef ref);
  // The job waits for the group from here on, behind the others. Requires: it has a tag `aft`, and
  // is delayed without a deadline.
  void hold(JobRef ref, Group& group);
  // Its hold ends. Requires: it is held.
  void end_hold(JobRef ref);
  // A job with tags has moved. To `nowhere` it leaves its group, which may end with it.
  void moved(JobRef ref, Place from, Place to) {
    if (size_ > 0) moved_in_group(ref, from, to);
  }

  // The same as hold() for a job that comes back, before or after the jobs of the group. False: no
  // memory.
  [[nodiscard]] bool hold_restored(JobRef ref);
  // All have come back: groups without a job end.
  void end_restoring();

  // Whether there is an ended group, which may have held jobs yet.
  bool has_ended() const { return first_ended_ != nullptr; }
  // The first held job of the first ended group; JobRef::none: it has none. Requires: has_ended().
  JobRef first_of_ended() const { return first_ended_->first_held; }
  // Requires: first_of_ended() is JobRef::none.
  void drop_ended();

  // How many there are, with those that have ended.
  std::uint32_t size() const { return size_; }
  // What the groups take beside the pieces of their jobs, and what one of a name takes.
  std::uint64_t memory_bytes() const { return memory_bytes_; }
  static std::uint64_t memory_bytes_for(std::string_view name);

  // Ends the program if anything does not fit together. Costs a walk over all jobs; for tests.
  void check_invariants() const;

 private:
  [[gnu::cold, gnu::noinline]] void moved_in_group(JobRef ref, Place from, Place to);
  Group* find(std::string_view name, std::uint64_t hash) const;
  Group* find_or_create(std::string_view name);
  void end_if_empty(Group& group);
  void drop(Group& group);
  void check_held(const Group& group) const;

  JobStore& jobs_;
  HashKey hash_key_;
  HashTable<Group> by_name_;  // All but the ended ones.
  RefTable<Group, GroupRef> by_ref_;
  Group* first_ended_ = nullptr;
  Group* last_ended_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint64_t memory_bytes_ = 0;
};

}  // namespace haricot
