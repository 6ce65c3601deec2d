#include "haricot/binlog/segments.hpp"

#include "haricot/base/check.hpp"

namespace haricot::binlog {

Segment* Segments::of(JobRef ref) {
  const std::uint32_t serial = jobs_.journal_fields(ref).file;
  if (serial == 0) return nullptr;
  const std::uint32_t index = serial - segments_.front().serial;
  CHECK(index < segments_.size());
  return &segments_[index];
}

Segment& Segments::add(std::uint64_t number) {
  CHECK(segments_.empty() || segments_.back().number <= number);
  const std::uint64_t newest_bytes = segments_.empty() ? 0 : segments_.back().bytes;
  Segment& segment = segments_.emplace_back();
  segment.number = number;
  // Adjacent files have adjacent serials, which of() relies on.
  segment.serial =
      segments_.size() == 1 ? next_serial_ : segments_[segments_.size() - 2].serial + 1;
  CHECK(segment.serial <= JournalFields::kFileLast);
  next_serial_ = segment.serial + 1;
  older_bytes_ += newest_bytes;
  return segment;
}

void Segments::remove_oldest() {
  CHECK(!segments_.empty() && segments_.front().live_jobs == 0);
  CHECK(segments_.size() == 1 || older_bytes_ >= segments_.front().bytes);
  if (segments_.size() > 1) older_bytes_ -= segments_.front().bytes;
  segments_.pop_front();
}

void Segments::remove_newest() {
  CHECK(!segments_.empty() && segments_.back().live_jobs == 0);
  segments_.pop_back();
  if (segments_.empty()) return;
  CHECK(older_bytes_ >= segments_.back().bytes);
  older_bytes_ -= segments_.back().bytes;
}

void Segments::merge_newest() {
  CHECK(segments_.size() > 1);
  Segment& newest = segments_.back();
  Segment& before = segments_[segments_.size() - 2];
  for (JobRef ref = newest.first; ref != JobRef::none; ref = after(ref)) {
    jobs_.journal_fields(ref).set_file(before.serial);
  }
  if (newest.first != JobRef::none) {
    jobs_.journal_fields(newest.first).previous = before.last;
    if (before.last == JobRef::none) {
      before.first = newest.first;
    } else {
      jobs_.journal_fields(before.last).next = newest.first;
    }
    before.last = newest.last;
  }
  before.live_bytes += newest.live_bytes;
  before.live_jobs += newest.live_jobs;
  newest.live_bytes = 0;
  newest.live_jobs = 0;
  remove_newest();
}

void Segments::remember_id(JobId id, std::uint64_t record) {
  Segment& segment = segments_.back();
  if (id <= segment.highest_id) return;
  segment.highest_id = id;
  segment.highest_record = record;
}

void Segments::attach(JobRef ref, std::uint64_t bytes) {
  CHECK(!segments_.empty());
  JournalFields& fields = jobs_.journal_fields(ref);
  if (fields.file != 0) detach(ref, bytes);
  Segment& segment = segments_.back();
  fields.set_file(segment.serial);
  fields.previous = segment.last;
  fields.next = JobRef::none;
  if (segment.last == JobRef::none) {
    segment.first = ref;
  } else {
    jobs_.journal_fields(segment.last).next = ref;
  }
  segment.last = ref;
  segment.live_bytes += bytes;
  ++segment.live_jobs;
  live_bytes_ += bytes;
  ++live_jobs_;
}

void Segments::detach(JobRef ref, std::uint64_t bytes) {
  Segment* segment = of(ref);
  if (segment == nullptr) return;
  JournalFields& fields = jobs_.journal_fields(ref);
  if (fields.previous == JobRef::none) {
    segment->first = fields.next;
  } else {
    jobs_.journal_fields(fields.previous).next = fields.next;
  }
  if (fields.next == JobRef::none) {
    segment->last = fields.previous;
  } else {
    jobs_.journal_fields(fields.next).previous = fields.previous;
  }
  fields.file = 0;
  fields.previous = fields.next = JobRef::none;
  CHECK(segment->live_jobs > 0 && live_jobs_ > 0);
  CHECK(segment->live_bytes >= bytes && live_bytes_ >= bytes);
  segment->live_bytes -= bytes;
  --segment->live_jobs;
  live_bytes_ -= bytes;
  --live_jobs_;
}

void Segments::resize(JobRef ref, std::uint64_t bytes_before, std::uint64_t bytes) {
  Segment* const segment = of(ref);
  if (segment == nullptr) return;
  CHECK(segment->live_bytes >= bytes_before && live_bytes_ >= bytes_before);
  segment->live_bytes += bytes - bytes_before;
  live_bytes_ += bytes - bytes_before;
}

void Segments::check_invariants() const {
  std::uint64_t bytes = 0;
  std::uint64_t jobs = 0;
  std::uint64_t older_bytes = 0;
  for (const Segment& segment : segments_) {
    if (&segment != &segments_.back()) older_bytes += segment.bytes;
    std::uint32_t here = 0;
    JobRef before = JobRef::none;
    for (JobRef ref = segment.first; ref != JobRef::none;) {
      const JournalFields& fields = jobs_.journal_fields(ref);
      CHECK(fields.file == segment.serial);
      CHECK(fields.previous == before);
      before = ref;
      ref = fields.next;
      ++here;
    }
    CHECK(before == segment.last);
    CHECK(here == segment.live_jobs);
    bytes += segment.live_bytes;
    jobs += here;
  }
  CHECK(bytes == live_bytes_);
  CHECK(older_bytes == older_bytes_);
  CHECK(jobs == live_jobs_);
  CHECK(jobs == jobs_.size() + jobs_.tombstones());
}

}  // namespace haricot::binlog
