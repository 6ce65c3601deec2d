#include "haricot/binlog/write/large_body.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <string_view>

#include "haricot/base/check.hpp"
#include "haricot/base/crc32c.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/format/job_record.hpp"
#include "haricot/binlog/write/segment_writer.hpp"

namespace haricot::binlog {
namespace {

// Slices truncated at once: truncating takes the kernel less time than writing.
constexpr std::uint64_t kSlicesCutOff = 16;
// Slices of space after the body: allocating usually takes less time than writing, too.
constexpr std::uint64_t kSlicesBehind = 16;

std::uint64_t offset_of_body(std::size_t lead_bytes) {
  return kFirstRecordOffset + header_bytes(lead_bytes);
}

}  // namespace

bool LargeBody::is_for(const BlobRef& body, std::size_t lead_bytes) const {
  return body_ && body && body_.view().data() == body.view().data() && lead_bytes_ == lead_bytes;
}

DiskStatus LargeBody::remember_why(DiskStatus status) noexcept {
  try {
    why_ = disk_.last_error();
  } catch (const std::bad_alloc&) {
    why_.clear();
  }
  return status;
}

DiskStatus LargeBody::begin(const BlobRef& body, std::size_t lead_bytes, std::uint64_t file_bytes) {
  CHECK(state_ == State::none);
  FileHandle file = FileHandle::none;
  DiskStatus status = DiskStatus::full;
  try {
    status = disk_.create(spare_name(kNumber), file);
  } catch (const std::bad_alloc&) {
    // No memory counts as no space.
  }
  if (status != DiskStatus::ok) return remember_why(status);
  state_ = State::writing;
  body_ = body;
  lead_bytes_ = lead_bytes;
  file_ = file;
  needed_ = offset_of_body(lead_bytes) + body.size() + SegmentWriter::kTrailer.size() +
            note_record_bytes(JobStore::kNoteBytesMax) + SegmentWriter::kEndBytes;
  wanted_ = std::max(needed_, std::min(file_bytes, needed_ + kSlicesBehind * slice_bytes_));
  allocated_ = done_ = unsynced_ = sync_mark_ = 0;
  sum_ = 0;
  return DiskStatus::ok;
}

bool LargeBody::has_to_wait() const {
  if (!has_syncs_ || unsynced_ <= (kSlicesPerSync - 1) * slice_bytes_) return false;
  return !syncs_.has_passed(sync_mark_) || syncs_.length() > SyncLine::kLengthMax / 2;
}

bool LargeBody::has_work() const {
  return state_ == State::leaving || (state_ == State::writing && !has_to_wait());
}

std::uint64_t LargeBody::advance() {
  if (!has_work()) return 0;
  if (state_ == State::leaving) {
    cut_off();
    return 0;
  }
  const std::uint64_t before = done_;
  status_ = write_slice();
  if (status_ != DiskStatus::ok) {
    remember_why(status_);
    state_ = State::failed;
  }
  return done_ - before;
}

DiskStatus LargeBody::take_space(std::uint64_t bytes) {
  if (bytes <= allocated_) return DiskStatus::ok;
  const DiskStatus status = disk_.allocate(file_, bytes);
  if (status == DiskStatus::ok) allocated_ = bytes;
  return status;
}

// Writes a slice of the body, or allocates a slice of the optional space after it.
DiskStatus LargeBody::write_slice() {
  const std::uint64_t size = body_.size();
  if (done_ == size && allocated_ >= needed_) {
    if (take_space(wanted_) != DiskStatus::ok) wanted_ = allocated_;
    state_ = State::whole;
    return DiskStatus::ok;
  }
  // Slices end at sectors, so a loss of power loses whole sectors of a body.
  const std::uint64_t offset = offset_of_body(lead_bytes_) + done_;
  const std::uint64_t over = (offset + slice_bytes_) % kDiskSectorBytes;
  const std::uint64_t slice = over < slice_bytes_ ? slice_bytes_ - over : slice_bytes_;
  const std::uint64_t bytes = std::min(slice, size - done_);
  const bool is_last = done_ + bytes == size;
  DiskStatus status = take_space(is_last ? needed_ : offset + bytes);
  if (status != DiskStatus::ok) return status;
  if (has_syncs_ && unsynced_ > (kSlicesPerSync - 1) * slice_bytes_) {
    syncs_.sync_file(file_, 0, false);
    sync_mark_ = syncs_.mark();
    unsynced_ = 0;
  }
  const std::array<std::string_view, 2> pieces{
      body_.view().substr(static_cast<std::size_t>(done_), static_cast<std::size_t>(bytes)),
      is_last ? SegmentWriter::kTrailer : std::string_view{}};
  status = disk_.write(file_, offset, std::span(pieces).first(is_last ? 2 : 1));
  if (status != DiskStatus::ok) return status;
  sum_ = crc32c(sum_, pieces[0]);
  done_ += bytes;
  unsynced_ += bytes;
  if (done_ == size && allocated_ >= wanted_) state_ = State::whole;
  return DiskStatus::ok;
}

void LargeBody::release_file() {
  CHECK(state_ == State::whole);
  state_ = State::none;
  body_ = {};
  file_ = FileHandle::none;
  allocated_ = 0;
}

void LargeBody::drop() {
  if (state_ == State::none || state_ == State::leaving) return;
  state_ = State::leaving;
  body_ = {};
}

void LargeBody::leave_uncut() {
  CHECK(state_ == State::leaving);
  allocated_ = 0;
}

// Truncates from the end. The removal frees the rest.
void LargeBody::cut_off() {
  const std::uint64_t bytes = kSlicesCutOff * slice_bytes_;
  if (allocated_ > bytes && disk_.truncate(file_, allocated_ - bytes) == DiskStatus::ok) {
    allocated_ -= bytes;
    return;
  }
  syncs_.close(file_);
  try {
    // The next body truncates a leftover file, or the next start removes it.
    (void)disk_.remove(spare_name(kNumber));
  } catch (const std::bad_alloc&) {
    // The file is left over.
  }
  state_ = State::none;
  file_ = FileHandle::none;
  allocated_ = 0;
}

}  // namespace haricot::binlog
