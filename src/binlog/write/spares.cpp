#include "haricot/binlog/write/spares.hpp"

#include <algorithm>
#include <new>

#include "haricot/base/check.hpp"
#include "haricot/binlog/format/file_identity.hpp"

namespace haricot::binlog {

// Remembers the reason. Clean-up may fail as well, and must not replace the first reason.
DiskStatus Spares::fail(DiskStatus status) noexcept {
  try {
    why_ = disk_.last_error();
  } catch (const std::bad_alloc&) {
    why_.clear();
  }
  return status;
}

DiskStatus Spares::add(std::uint64_t bytes, std::uint64_t at_once_bytes) {
  CHECK(bytes > kFirstRecordOffset + SegmentWriter::kEndBytes && !is_growing());
  remove_left_over();
  // A number that no other spare has.
  std::uint64_t number = next_number_;
  for (const Spare& other : spares_) number = std::max(number, other.number + 1);
  if (leaves_names_out_) number = std::max(number, left_over_until_);
  try {
    // The memory comes first, so that only the file has to be undone.
    spares_.push_back({FileHandle::none, number, 0, bytes});
  } catch (const std::bad_alloc&) {
    return fail(DiskStatus::full);  // No memory counts as no space.
  }
  Spare& spare = spares_.back();
  DiskStatus status = DiskStatus::full;
  try {
    status = disk_.create(spare_name(number), spare.file);
    if (status != DiskStatus::ok) status = fail(status);
  } catch (const std::bad_alloc&) {
    status = fail(DiskStatus::full);
  }
  if (status != DiskStatus::ok) {
    spares_.pop_back();
    left_over_until_ = number + 1;  // The file may exist all the same.
    return status;
  }
  std::erase(left_over_, number);  // It is in use again.
  status = grow(spare, std::min(bytes, at_once_bytes));
  if (status == DiskStatus::ok) {
    if (!is_growing()) close(spare);
    return status;
  }
  close(spare);
  spares_.pop_back();
  // The next attempt takes the same name and truncates a file that could not be removed.
  if (!remove_file(number)) left_over_until_ = number + 1;
  return status;
}

DiskStatus Spares::grow_last(std::uint64_t bytes_max) {
  CHECK(is_growing());
  Spare& spare = spares_.back();
  const std::uint64_t bytes =
      spare.wanted - spare.allocated > bytes_max ? spare.allocated + bytes_max : spare.wanted;
  const DiskStatus status = grow(spare, bytes);
  if (status != DiskStatus::ok) spare.wanted = spare.allocated;
  if (!is_growing()) close(spare);
  return status;
}

DiskStatus Spares::grow(Spare& spare, std::uint64_t bytes) {
  CHECK(bytes <= spare.wanted);
  if (spare.allocated >= bytes) return DiskStatus::ok;
  const DiskStatus status = disk_.allocate(spare.file, bytes);
  if (status != DiskStatus::ok) return fail(status);
  room_ += room_of(bytes) - room_of(spare.allocated);
  allocated_ += bytes - spare.allocated;
  spare.allocated = bytes;
  return status;
}

// Creates a file again that was removed from outside. Tries it too if the file exists and cannot be
// opened: it has no content.
DiskStatus Spares::open_first() {
  Spare& spare = spares_.front();
  if (spare.file != FileHandle::none) return DiskStatus::ok;
  try {
    const std::string name = spare_name(spare.number);
    DiskStatus status = disk_.open_existing(name, spare.file);
    if (status == DiskStatus::ok) return status;
    status = disk_.create(name, spare.file);
    if (status != DiskStatus::ok) return fail(status);
    const std::uint64_t bytes = spare.allocated;
    take_off(spare);
    spare.allocated = 0;
    return grow(spare, bytes);
  } catch (const std::bad_alloc&) {
    return fail(DiskStatus::full);
  }
}

std::uint64_t Spares::least_with_room(std::uint64_t bytes) const {
  std::uint64_t least = 0;
  for (const Spare& spare : spares_) {
    if (spare.allocated < bytes) continue;
    least = least == 0 ? spare.allocated : std::min(least, spare.allocated);
  }
  return least;
}

DiskStatus Spares::prepare_first(std::uint64_t bytes) {
  CHECK(!spares_.empty());
  remove_left_over();
  // The smallest spare that is large enough, or the one that has to grow least.
  auto best = spares_.begin();
  for (auto other = best; other != spares_.end(); ++other) {
    const bool is_smaller = other->allocated < best->allocated;
    const bool is_larger = other->allocated > best->allocated;
    const bool is_enough = other->allocated >= bytes;
    if (best->allocated >= bytes ? is_smaller && is_enough : is_larger) best = other;
  }
  if (best != spares_.begin()) {
    if (is_growing()) stop_growing();
    std::swap(*best, spares_.front());
  }
  const DiskStatus status = open_first();
  if (status != DiskStatus::ok) return status;
  Spare& spare = spares_.front();
  spare.wanted = std::max(spare.wanted, bytes);
  const DiskStatus grown = grow(spare, bytes);
  spare.wanted = spare.allocated;
  return grown;
}

void Spares::take_off(const Spare& spare) {
  CHECK(room_ >= room_of(spare) && allocated_ >= spare.allocated);
  room_ -= room_of(spare);
  allocated_ -= spare.allocated;
}

Spare Spares::take_first() {
  CHECK(!spares_.empty());
  const Spare spare = spares_.front();
  CHECK(spare.file != FileHandle::none && spare.allocated == spare.wanted);
  spares_.pop_front();
  take_off(spare);
  return spare;
}

void Spares::remove_last() {
  CHECK(!spares_.empty());
  const Spare spare = spares_.back();
  spares_.pop_back();
  take_off(spare);
  remove(spare);
}

void Spares::discard(const Spare& spare) {
  remove(spare);
}

void Spares::stop_growing() {
  CHECK(is_growing());
  spares_.back().wanted = spares_.back().allocated;
  close(spares_.back());
}

void Spares::close(Spare& spare) {
  if (spare.file != FileHandle::none) disk_.close(spare.file);
  spare.file = FileHandle::none;
}

void Spares::remove(const Spare& spare) {
  if (spare.file != FileHandle::none) disk_.close(spare.file);
  if (remove_file(spare.number)) return;
  left_over_until_ = std::max(left_over_until_, spare.number + 1);
  if (left_over_.size() >= kLeftOverMax) return;
  try {
    left_over_.push_back(spare.number);
  } catch (const std::bad_alloc&) {
    // The file stays until the next start, which removes it.
  }
}

// Returns false if the file may still exist.
bool Spares::remove_file(std::uint64_t number) {
  try {
    return disk_.remove(spare_name(number)) == DiskStatus::ok;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void Spares::remove_left_over() {
  std::erase_if(left_over_, [this](std::uint64_t number) { return remove_file(number); });
}

void Spares::forget_missing_files(const std::vector<std::string>& names) {
  const auto is_gone = [&names](std::uint64_t number) {
    return !std::binary_search(names.begin(), names.end(), spare_name(number));
  };
  for (auto spare = spares_.begin(); spare != spares_.end();) {
    if (!is_gone(spare->number)) {
      ++spare;
      continue;
    }
    close(*spare);
    room_ -= room_of(*spare);
    allocated_ -= spare->allocated;
    spare = spares_.erase(spare);
  }
  std::erase_if(left_over_, is_gone);
}

void Spares::remove_all() {
  while (!spares_.empty()) remove_last();
}

void Spares::leave_all() {
  CHECK(room_ <= allocated_);
  for (Spare& spare : spares_) close(spare);
  spares_.clear();
  room_ = allocated_ = 0;
}

}  // namespace haricot::binlog
