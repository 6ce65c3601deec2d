#include "haricot/binlog/write/restored_jobs.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "haricot/binlog/format/job_record.hpp"

namespace haricot::binlog {
namespace {

// Repeats an attempt while it has to wait for the disk. Returns its last status.
template <typename Attempt>
JournalStatus repeat_until_disk(RecordSyncs& syncs, Attempt attempt) {
  JournalStatus status = attempt();
  while (status == JournalStatus::later) {
    syncs.wait_for_one();
    status = attempt();
  }
  return status;
}

}  // namespace

void RestoredJobs::promise_room() {
  Engine& engine = *state_.engine;
  const Segments& segments = *state_.segments;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    for (JobRef ref = segments.at(i).first; ref != JobRef::none; ref = segments.after(ref)) {
      if (is_tombstone(engine.jobs(), ref)) continue;
      if (engine.is_plain(ref)) {
        state_.promises.make_deletion();
        continue;
      }
      const Promise promise = engine.may_be_buried(ref) ? Promise::burial : Promise::nothing;
      state_.promises.make(engine.journaled(ref), engine.jobs(), promise);
    }
  }
}

bool RestoredJobs::record_all() {
  const JobStore& jobs = state_.engine->jobs();
  if (jobs.size() + jobs.tombstones() == state_.segments->live_jobs()) return true;
  if (!record_jobs() || !record_tombstones() || !remember_last_id()) return false;
  stream_.records().flush();
  stream_.syncs().sync_all();
  return !stream_.is_refusing();
}

bool RestoredJobs::record_jobs() {
  const JobStore& jobs = state_.engine->jobs();
  std::vector<JobRef> first_buried;
  for (JobRef ref = jobs.first_from(0); ref != JobRef::none;
       ref = jobs.first_from(jobs[ref].id + 1)) {
    if (jobs[ref].state() != JobState::buried) {
      if (!is_in_file(ref) && !record(ref)) return false;
    } else if (jobs[ref].links.first == static_cast<std::uint32_t>(JobRef::none)) {
      first_buried.push_back(ref);
    }
  }
  // Their order is that of their records.
  for (JobRef ref : first_buried) {
    for (; ref != JobRef::none; ref = static_cast<JobRef>(jobs[ref].links.second)) {
      if (!is_in_file(ref) && !record(ref)) return false;
    }
  }
  return true;
}

bool RestoredJobs::record_tombstones() {
  for (const JobRef ref : state_.engine->jobs().tombstones_by_id()) {
    if (!is_in_file(ref) && !record_tombstone(ref)) return false;
  }
  return true;
}

bool RestoredJobs::record(JobRef ref) {
  const JournaledJob job = state_.engine->journaled(ref);
  const PutRoom put = state_.engine->room_of(ref);
  const auto take_room = [&] { return changes_.take_room_for_put(put, {}); };
  if (repeat_until_disk(stream_.syncs(), take_room) != JournalStatus::ok) return false;
  changes_.record(JobChange::put, job);
  return !stream_.is_refusing();
}

bool RestoredJobs::record_tombstone(JobRef tombstone_ref) {
  const Tombstone tombstone = state_.engine->tombstone(tombstone_ref);
  const auto write = [&] { return compaction_.write_tombstone(tombstone); };
  return repeat_until_disk(stream_.syncs(), write) == JournalStatus::ok;
}

bool RestoredJobs::remember_last_id() {
  const Segments& segments = *state_.segments;
  JobId highest = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    highest = std::max(highest, segments.at(i).highest_id);
  }
  const JobId last = state_.engine->next_id() - 1;
  if (last <= highest) return true;
  const auto mark = [&] { return compaction_.mark_id(last); };
  return repeat_until_disk(stream_.syncs(), mark) == JournalStatus::ok;
}

}  // namespace haricot::binlog
