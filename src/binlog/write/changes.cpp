#include "haricot/binlog/write/changes.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "haricot/binlog/format/job_record.hpp"

namespace haricot::binlog {

bool Changes::may_try_again() {
  if (!is_time_to_try_again()) return false;
  answered_later_ = answered_busy_ = false;
  bodies_.set_wanted_by_put(false);
  return true;
}

JournalStatus Changes::answer_later() {
  if (!answered_later_) disk_moved_ = false;
  answered_later_ = true;
  return JournalStatus::later;
}

JournalStatus Changes::answer_busy() {
  answered_busy_ = true;
  return JournalStatus::later;
}

// Compaction does not use this: the size of the folder must not delay the work that reduces it.
JournalStatus Changes::make_room(std::uint64_t record_bytes, std::uint64_t keep) {
  if (stream_.writer().room() < record_bytes) {
    stream_.syncs().take_ends();
    if (stream_.is_refusing()) return stream_.refusal().status();
    if (compaction_.is_too_far_ahead(compaction_.budget_of_turn())) return answer_later();
  }
  const JournalStatus status = room_.make_room(record_bytes, keep);
  return status == JournalStatus::later ? answer_later() : status;
}

JournalStatus Changes::take_room_for_put(const PutRoom& put, const BlobRef& body) {
  promise_ = put.may_be_buried ? Promise::burial : Promise::nothing;
  const std::size_t lead = lead_bytes(put.tube_name_bytes, put.tag_bytes, put.has_facts);
  const JournalStatus status = room_for_put(lead, put, body);
  const bool is_refused = status != JournalStatus::ok && status != JournalStatus::later;
  if (is_refused) ++refused_puts_;
  return status;
}

JournalStatus Changes::room_for_put(std::size_t lead_bytes, const PutRoom& put,
                                    const BlobRef& body) {
  if (!can_record()) return stream_.refusal().status();
  if (body && bodies_.has_written_much()) return answer_busy();
  const std::uint64_t bytes = full_record_bytes(lead_bytes, put.body_bytes);
  const std::uint64_t share =
      Promises::bytes_for(put) + std::min(bytes, room_.needs().file_bytes());
  const std::uint64_t keep = room_.needs().for_puts() + share;
  const bool is_large = bodies_.is_large(body);
  const JournalStatus status =
      is_large ? room_for_large_put(body, lead_bytes, keep) : make_room(bytes, keep);
  if (status == JournalStatus::full) {
    // A job larger than a file counts as one of a file's size: keeping that much more room for it
    // would take space from others.
    room_.count_refused_put(share + std::min(bytes, room_.needs().file_bytes()), bytes);
  }
  if (status != JournalStatus::ok) return status;
  // A large body is written apart from the collected records.
  const bool good = is_large ? stream_.records().prepare(0, 0)
                             : stream_.records().prepare(lead_bytes, put.body_bytes);
  return good ? JournalStatus::ok : JournalStatus::full;
}

JournalStatus Changes::room_for_large_put(const BlobRef& body, std::size_t lead_bytes,
                                          std::uint64_t keep) {
  if (!bodies_.is_for(body, lead_bytes)) {
    stream_.syncs().take_ends();
    if (stream_.is_refusing()) return stream_.refusal().status();
    if (compaction_.is_too_far_ahead(compaction_.budget_of_turn())) return answer_later();
  }
  const JournalStatus status = bodies_.write_ahead(LargeBodies::User::put, body, lead_bytes, keep);
  if (status != JournalStatus::later) return status;
  if (!bodies_.is_for(body, lead_bytes) && !bodies_.is_none()) {
    bodies_.set_wanted_by_put(true);
    return answer_busy();
  }
  // Unless another body is in the way, the put waits for the disk.
  return bodies_.is_busy() ? answer_busy() : answer_later();
}

JournalStatus Changes::take_room_for_update(Promise promise) {
  promise_ = promise;
  if (!can_record()) return stream_.refusal().status();
  const std::uint64_t promised = promise == Promise::burial ? kShortRecordBytes : 0;
  const std::uint64_t keep =
      room_.needs().for_ends_of_jobs() + room_.needs().to_continue_compaction() + promised;
  JournalStatus status = make_room(kShortRecordBytes, keep);
  if (status == JournalStatus::full && compaction_.collect_for_space(compaction_.budget_of_turn()))
    status = answer_later();
  if (status != JournalStatus::ok) return status;
  return stream_.records().prepare(0, 0) ? JournalStatus::ok : JournalStatus::full;
}

// A note stays until its job ends. So it leaves as much room as a put does.
JournalStatus Changes::take_room_for_note(JobRef job, std::size_t note_bytes) {
  if (!can_record()) return stream_.refusal().status();
  const std::uint64_t bytes = note_record_bytes(note_bytes);
  const JournalStatus status = make_room(bytes, room_.needs().for_puts() + bytes);
  if (status != JournalStatus::ok) return status;
  note_bytes_before_ = note_record_bytes(state_.engine->jobs(), job);
  return stream_.records().prepare(bytes, 0) ? JournalStatus::ok : JournalStatus::full;
}

JournalStatus Changes::take_promised_room(const Promised& promised) {
  promise_ = Promise::nothing;
  const JournalStatus status = room_for_promised(promised);
  // Compaction or a recovery may write the job before its record comes.
  if (status != JournalStatus::ok && promised.burial != nullptr && state_.is_in_use()) {
    stream_.jobs().stamp_burial(*promised.burial);
  }
  return status;
}

JournalStatus Changes::room_for_promised(const Promised& promised) {
  if (!can_record()) return JournalStatus::failed;
  const auto records = std::max(promised.deletions, 1U) +
                       static_cast<std::uint32_t>(tombstone_records(promised.tombstones));
  if (promised.deletions > 1) return room_for_several(records);
  const JournalStatus status = make_room(std::uint64_t{records} * kShortRecordBytes, 0);
  if (status == JournalStatus::later) return status;
  return status == JournalStatus::ok && stream_.records().prepare_short(records)
             ? JournalStatus::ok
             : JournalStatus::failed;
}

// If the file that is being written lacks the room, its rest is given up and the records go to the
// next file; then the room for all other deletions is required too. A single deletion uses the room
// promised for it.
JournalStatus Changes::room_for_several(std::uint32_t records) {
  const std::uint64_t bytes = std::uint64_t{records} * kShortRecordBytes;
  // No write may come, and fail, between the first of these records and the last.
  if (stream_.writer().collected_bytes() + bytes >= RecordCollector::kCollectedBytesMax)
    stream_.records().flush();
  if (!can_record()) return JournalStatus::failed;
  const std::uint64_t keep = stream_.writer().room() < bytes ? room_.needs().for_ends_of_jobs() : 0;
  const JournalStatus status = make_room(bytes, keep);
  if (status != JournalStatus::ok) return status;
  if (!stream_.records().prepare_short(records)) return JournalStatus::full;
  stream_.records().write_together(bytes);
  return JournalStatus::ok;
}

void Changes::record(JobChange change, const JournaledJob& job) {
  const bool is_buried = job.job.state() == JobState::buried;
  const Promise promise = is_buried ? Promise::nothing : promise_;
  JobStore& jobs = state_.engine->jobs();
  switch (change) {
    case JobChange::put:
      state_.promises.make(job, jobs, promise);
      record_put(job);
      break;
    case JobChange::update:
      if (promise == Promise::burial) state_.promises.make_burial(jobs.journal_fields(job.ref));
      if (is_buried) state_.promises.end_burial(jobs.journal_fields(job.ref));
      if (!jobs.is_held(job.ref)) state_.promises.end_hold_end(jobs.journal_fields(job.ref));
      stream_.jobs().append_change(job);
      break;
    case JobChange::in_place:
      stream_.jobs().append_change_in_place(job);
      break;
    case JobChange::note:
      state_.segments->resize(job.ref, note_bytes_before_, note_record_bytes(jobs, job.ref));
      stream_.jobs().append_note(job);
      break;
  }
}

void Changes::record_put(const JournaledJob& job) {
  if (bodies_.is_for(bodies_.body_of(job), lead_bytes(job, state_.engine->jobs()))) {
    bodies_.append(job);
  } else {
    stream_.jobs().append_full(job);
  }
}

void Changes::record_deletion(const JournaledJob& job, const Tombstone* left) {
  JobStore& jobs = state_.engine->jobs();
  state_.segments->detach(job.ref, full_record_bytes(job, jobs));
  state_.promises.end(job, jobs);
  stream_.jobs().append_deletion(job.job.id, left);
}

void Changes::forget_tombstone(JobRef tombstone_ref) {
  if (!state_.is_in_use()) return;
  state_.segments->detach(tombstone_ref, live_bytes_of(*state_.engine, tombstone_ref));
}

// Restored jobs -----------------------------------------------------------------------------------

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
  const JobStore& jobs = state_.engine->jobs();
  const JournaledJob job = state_.engine->journaled(ref);
  const PutRoom put = state_.engine->room_of(ref);
  const auto take_room = [&] { return changes_.take_room_for_put(put, {}); };
  if (repeat_until_disk(stream_.syncs(), take_room) != JournalStatus::ok) return false;
  changes_.record(JobChange::put, job);
  if (stream_.is_refusing() || !jobs.has_had_note(ref)) return !stream_.is_refusing();
  const auto take_more = [&] { return changes_.take_room_for_note(ref, jobs.note(ref).size()); };
  if (repeat_until_disk(stream_.syncs(), take_more) != JournalStatus::ok) return false;
  changes_.record(JobChange::note, job);
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
