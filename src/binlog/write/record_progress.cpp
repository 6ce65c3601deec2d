#include "haricot/binlog/write/record_progress.hpp"

#include <algorithm>
#include <cstddef>
#include <new>

#include "haricot/base/check.hpp"

namespace haricot::binlog {

bool RecordProgress::prepare(std::uint32_t records) {
  constexpr std::size_t kAtLeast = 64;
  try {
    if (ids_at_risk_.capacity() - ids_at_risk_.size() < records) {
      ids_at_risk_.reserve(2 * ids_at_risk_.size() + std::max<std::size_t>(records, kAtLeast));
    }
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

void RecordProgress::count(JobId id) {
  ids_at_risk_.push_back(id);
  ++records_;
}

void RecordProgress::mark_safe(std::uint64_t records) {
  CHECK(records <= records_ && ids_at_risk_.size() <= records_);
  safe_ = std::max(safe_, records);
  const std::uint64_t before = records_ - ids_at_risk_.size();
  if (records > before) {
    ids_at_risk_.erase(ids_at_risk_.begin(),
                       ids_at_risk_.begin() + static_cast<std::ptrdiff_t>(records - before));
  }
}

void RecordProgress::begin_to_wait(Instant now) {
  unsynced_since_ = std::min(unsynced_since_, now);
}

void RecordProgress::request_sync() {
  CHECK(sync_requested_ <= written_);
  sync_requested_ = written_;
  unsynced_since_ = Instant::never();
}

void RecordProgress::end_sync(std::uint64_t covers) {
  synced_ = std::max(synced_, covers);
}

void RecordProgress::doubt_since(Instant oldest) {
  doubtful_since_ = std::min(doubtful_since_, oldest);
}

void RecordProgress::fail(Instant oldest) {
  doubtful_since_ = oldest;
  sync_requested_ = synced_;
  unsynced_since_ = Instant::never();
}

void RecordProgress::recover() {
  doubtful_since_ = Instant::never();
  written_ = synced_ = sync_requested_ = records_;
}

void RecordProgress::check_invariants() const {
  CHECK(safe_ <= records_);
  CHECK(synced_ <= records_ && written_ <= records_);
  CHECK(ids_at_risk_.size() <= records_);
}

}  // namespace haricot::binlog
