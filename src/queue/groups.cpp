#include "haricot/queue/groups.hpp"

#include <memory>
#include <new>
#include <unordered_map>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/job_tags.hpp"

namespace haricot {

Groups::~Groups() {
  by_name_.clear([](Group*) {});
  by_ref_.for_each([](Group& group) { delete &group; });
}

Group* Groups::find(std::string_view name, std::uint64_t hash) const {
  return by_name_.find(hash, [&](const Group& group) { return group.name == name; });
}

Group* Groups::find(std::string_view name) const {
  return by_name_.size() == 0 ? nullptr : find(name, hash_of(hash_key_, name));
}

// Returns null if memory is short.
Group* Groups::create(std::string_view name) {
  std::unique_ptr<Group> group(new (std::nothrow) Group);
  if (group == nullptr) return nullptr;
  try {
    group->name = name;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  group->ref = by_ref_.add(group.get());
  if (group->ref == GroupRef::none) return nullptr;
  ++size_;
  memory_bytes_ += memory_bytes_for(name);
  return group.release();
}

// Returns null if memory is short. If no job joins the group, settle() has to follow.
Group* Groups::find_or_create(std::string_view name) {
  const std::uint64_t hash = hash_of(hash_key_, name);
  if (Group* const found = find(name, hash); found != nullptr) return found;
  Group* const group = create(name);
  if (group == nullptr) return nullptr;
  group->hash = hash;
  if (by_name_.insert(*group)) return group;
  drop(*group);
  return nullptr;
}

// Returns null if memory is short.
Group* Groups::find_or_create_shadow(Group& group) {
  if (group.partner != GroupRef::none) return by_ref_[group.partner];
  Group* const shadow = create("");
  if (shadow == nullptr) return nullptr;
  shadow->partner = group.ref;
  group.partner = shadow->ref;
  return shadow;
}

// Ends the group if it has no jobs, and its shadow if it has only buried ones.
void Groups::settle(Group& group) {
  if (group.is_shadow() || group.is_ended) return;
  if (group.partner != GroupRef::none && !group.is_active()) {
    Group& shadow = *by_ref_[group.partner];
    group.held -= shadow.held;
    group.partner = shadow.partner = GroupRef::none;
    end(shadow);
  }
  if (group.has_jobs()) return;
  by_name_.erase(group);
  end(group);
}

// Does not visit the jobs held for the group; Backlog does.
void Groups::end(Group& group) {
  if (group.held == 0) {
    drop(group);
    return;
  }
  group.is_ended = true;
  (first_ended_ == nullptr ? first_ended_ : last_ended_->next_in_bucket) = &group;
  last_ended_ = &group;
}

void Groups::drop_ended() {
  CHECK(first_ended_->held == 0);
  drop(*std::exchange(first_ended_, first_ended_->next_in_bucket));
}

void Groups::drop(Group& group) {
  --size_;
  memory_bytes_ -= memory_bytes_for(group.name);
  by_ref_.drop(group.ref);
  delete &group;
}

// Jobs --------------------------------------------------------------------------------------------

bool Groups::join(JobRef ref, std::string_view name) {
  const Group* const group = find_or_create(name);
  if (group == nullptr) return false;
  jobs_.node<Tag::group>(ref).group = group->ref;
  return true;
}

void Groups::leave(JobRef ref) {
  GroupNode& node = jobs_.node<Tag::group>(ref);
  Group& group = *by_ref_[node.group];
  node.group = GroupRef::none;
  settle(group);
}

void Groups::moved_in_group(JobRef ref, Place from, Place to) {
  // First, because the job's own group may end with it.
  const bool was_delayed = from == Place::delayed || from == Place::flushed;
  if (was_delayed && jobs_.is_held(ref)) end_hold(ref);
  if (!jobs_.has(ref, Tag::group)) return;
  const auto state = static_cast<std::size_t>(jobs_[ref].state());
  Group& group = *by_ref_[jobs_.node<Tag::group>(ref).group];
  if (from != Place::nowhere) {
    std::uint32_t& before =
        group.jobs[from == Place::flushed ? state : static_cast<std::size_t>(from)];
    CHECK(before > 0);
    --before;
  }
  if (to == Place::nowhere) {
    leave(ref);
    return;
  }
  ++group.jobs[state];
  // While jobs are restored, others of the group may follow.
  if (to == Place::buried && from != Place::nowhere) settle(group);
}

// Held jobs ---------------------------------------------------------------------------------------

bool Groups::find_awaited(const JobTags& tags, Group*& awaited) {
  awaited = find(tags.after);
  if (awaited == nullptr || !tags.is_after_any) return true;
  if (!awaited->is_active()) {
    awaited = nullptr;
    return true;
  }
  awaited = find_or_create_shadow(*awaited);
  return awaited != nullptr;
}

void Groups::hold(JobRef ref, Group& group) {
  jobs_.node<Tag::after>(ref) = {
      .group = group.ref, .previous = group.last_held, .next = JobRef::none};
  if (group.last_held == JobRef::none) {
    group.first_held = ref;
  } else {
    jobs_.node<Tag::after>(group.last_held).next = ref;
  }
  group.last_held = ref;
  ++group.held;
  if (group.is_shadow()) ++by_ref_[group.partner]->held;
}

void Groups::end_hold(JobRef ref) {
  const HeldNode node = std::exchange(jobs_.node<Tag::after>(ref), HeldNode{});
  Group& group = *by_ref_[node.group];
  (node.previous == JobRef::none ? group.first_held : jobs_.node<Tag::after>(node.previous).next) =
      node.next;
  (node.next == JobRef::none ? group.last_held : jobs_.node<Tag::after>(node.next).previous) =
      node.previous;
  --group.held;
  if (group.partner != GroupRef::none && group.is_shadow()) --by_ref_[group.partner]->held;
}

bool Groups::hold_restored(JobRef ref) {
  const JobTags tags = tags_in(jobs_.tags(ref));
  Group* group = find_or_create(tags.after);
  if (group != nullptr && tags.is_after_any) group = find_or_create_shadow(*group);
  if (group == nullptr) return false;
  hold(ref, *group);
  return true;
}

void Groups::end_restoring() {
  by_ref_.for_each([this](Group& group) { settle(group); });
}

// Includes the references in both tables, and the headers that malloc adds to two blocks.
std::uint64_t Groups::memory_bytes_for(std::string_view name) {
  return sizeof(Group) + name.size() + 2 * sizeof(Group*) + 16;
}

std::uint64_t Groups::memory_bytes_for(const JobTags& tags) const {
  std::uint64_t bytes = 0;
  if (!tags.group.empty() && find(tags.group) == nullptr) bytes += memory_bytes_for(tags.group);
  if (tags.is_after_any) {
    const Group* const after = find(tags.after);
    const bool has_to_wait = after != nullptr && after->is_active();
    if (has_to_wait && after->partner == GroupRef::none) bytes += memory_bytes_for("");
  }
  return bytes;
}

// Each group has exactly the jobs whose tags name it, each held job is in the list of its group,
// and ended groups have no jobs.
void Groups::check_invariants() const {
  std::unordered_map<const Group*, std::array<std::uint32_t, 4>> jobs_of;
  std::uint64_t held = 0;
  for (JobRef ref = jobs_.first_from(0); ref != JobRef::none;
       ref = jobs_.first_from(jobs_[ref].id + 1)) {
    const JobTags tags = tags_in(jobs_.tags(ref));
    CHECK(jobs_.has(ref, Tag::group) == !tags.group.empty());
    CHECK(jobs_.has(ref, Tag::after) == !tags.after.empty());
    if (jobs_.is_held(ref)) ++held;
    if (tags.group.empty()) continue;
    const Group* const group = find(tags.group);
    CHECK(group != nullptr && jobs_.node<Tag::group>(ref).group == group->ref);
    ++jobs_of[group][static_cast<std::size_t>(jobs_[ref].state())];
  }
  std::uint64_t groups = 0;
  std::uint64_t memory_bytes = 0;
  const auto check = [&](const Group& group) {
    ++groups;
    held -= check_held(group);
    memory_bytes += memory_bytes_for(group.name);
  };
  for (const auto& [group, jobs] : jobs_of) {
    CHECK(!group->is_ended && group->jobs == jobs);
    check(*group);
    if (group->partner == GroupRef::none) continue;
    const Group& shadow = *by_ref_[group->partner];
    CHECK(shadow.is_shadow() && shadow.partner == group->ref && group->is_active());
    check(shadow);
  }
  CHECK(by_name_.size() == jobs_of.size());
  for (const Group* group = first_ended_; group != nullptr; group = group->next_in_bucket) {
    CHECK(group->is_ended && !group->has_jobs() && group->partner == GroupRef::none);
    CHECK(group->next_in_bucket != nullptr || last_ended_ == group);
    check(*group);
  }
  CHECK(size_ == groups && memory_bytes_ == memory_bytes && held == 0);
}

// Returns the number of jobs in the list of the group.
std::uint64_t Groups::check_held(const Group& group) const {
  JobRef before = JobRef::none;
  std::uint32_t found = 0;
  for (JobRef ref = group.first_held; ref != JobRef::none; ++found) {
    const HeldNode& node = jobs_.node<Tag::after>(ref);
    CHECK(node.group == group.ref && node.previous == before);
    CHECK(jobs_[ref].state() == JobState::delayed);
    const JobTags tags = tags_in(jobs_.tags(ref));
    CHECK(tags.is_after_any == group.is_shadow());
    CHECK(group.is_shadow() || tags.after == group.name);
    before = std::exchange(ref, node.next);
  }
  const bool has_shadow = !group.is_shadow() && group.partner != GroupRef::none;
  const std::uint32_t of_shadow = has_shadow ? by_ref_[group.partner]->held : 0;
  CHECK(group.last_held == before && group.held == found + of_shadow);
  return found;
}

}  // namespace haricot
