#include "haricot/binlog/binlog_state.hpp"

#include <algorithm>

#include "haricot/base/check.hpp"
#include "haricot/binlog/format/job_record.hpp"

namespace haricot::binlog {
namespace {

std::uint64_t tombstone_key_bytes(const JournaledJob& job, const JobStore& jobs) {
  return jobs.key<Tag::unique>(job.ref).size() + job.tube_name.size();
}

bool leaves_key(const JournaledJob& job, const JobStore& jobs) {
  return job.job.has_tags != 0 && jobs.leaves_tombstone(job.ref);
}

}  // namespace

// Counts a key even if another job holds it, because that may change.
void Promises::make(const JournaledJob& job, JobStore& jobs, Promise promise) {
  ++deletions_;
  if (leaves_key(job, jobs)) tombstones_.add(tombstone_key_bytes(job, jobs));
  if (promise == Promise::burial) make_burial(jobs.journal_fields(job.ref));
  if (jobs.is_held(job.ref)) make_hold_end(jobs.journal_fields(job.ref));
}

void Promises::end(const JournaledJob& job, JobStore& jobs) {
  --deletions_;
  if (leaves_key(job, jobs)) tombstones_.remove(tombstone_key_bytes(job, jobs));
  end_burial(jobs.journal_fields(job.ref));
  end_hold_end(jobs.journal_fields(job.ref));
}

// The records of a key and the deletion after them are in one file. If they do not fit, the rest of
// the file is lost: fewer bytes than they have, at most once in each file, and only in front of
// such a deletion. A quarter of all bytes covers these losses even with the smallest files; the
// records of one more key cover the file that is being written.
std::uint64_t Promises::bytes() const {
  const std::uint64_t tombstones = tombstone_records(tombstones_) * kShortRecordBytes;
  const std::uint64_t all = (deletions_ + burials_ + hold_ends_) * kShortRecordBytes + tombstones;
  return all + std::min(tombstones, all / 4 + text_record_bytes(kTombstoneTextBytesMax));
}

std::uint64_t Promises::bytes_for(const PutRoom& put) {
  constexpr std::uint64_t kWithLostEnd = 2;
  const std::uint64_t records = 1U + put.may_be_buried + put.is_held;
  if (put.tombstone_key_bytes == 0) return records * kShortRecordBytes;
  const TombstoneRoom tombstones{.keys = 1, .bytes = put.tombstone_key_bytes + put.tube_name_bytes};
  return (records + kWithLostEnd * tombstone_records(tombstones)) * kShortRecordBytes;
}

void Promises::check_invariants(Engine& engine) const {
  JobStore& jobs = engine.jobs();
  std::uint64_t burials = 0;
  std::uint64_t hold_ends = 0;
  TombstoneRoom tombstones;
  for (JobRef ref = jobs.first_from(0); ref != JobRef::none;
       ref = jobs.first_from(jobs[ref].id + 1)) {
    const JournaledJob job = engine.journaled(ref);
    if (leaves_key(job, jobs)) tombstones.add(tombstone_key_bytes(job, jobs));
    const bool is_promised = jobs.journal_fields(ref).has_burial_promised != 0;
    CHECK(is_promised || !engine.may_be_buried(ref));
    if (is_promised) ++burials;
    const bool is_hold_end_promised = jobs.journal_fields(ref).has_hold_end_promised != 0;
    CHECK(is_hold_end_promised || !jobs.is_held(ref));
    if (is_hold_end_promised) ++hold_ends;
  }
  CHECK(deletions_ == jobs.size());
  CHECK(burials_ == burials);
  CHECK(hold_ends_ == hold_ends);
  CHECK(tombstones_ == tombstones);
}

}  // namespace haricot::binlog
