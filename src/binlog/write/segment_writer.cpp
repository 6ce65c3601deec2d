#include "haricot/binlog/write/segment_writer.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/crc32c.hpp"
#include "haricot/base/job_tags.hpp"
#include "haricot/base/little_endian.hpp"
#include "haricot/base/name_bytes.hpp"
#include "haricot/binlog/format/job_record.hpp"
#include "haricot/protocol/command.hpp"

namespace haricot::binlog {
namespace {

// Collected memory above this size is freed after a write.
constexpr std::uint64_t kKeptBytesMax = 256 * 1024;

}  // namespace

DiskStatus SegmentWriter::begin(Disk& disk, FileHandle file, const Signature& signature,
                                std::uint64_t allocated, const RecordAroundBody* first) {
  CHECK(!is_open());
  constexpr std::size_t kLeadBytesMax = lead_bytes(kTubeNameBytesMax, kTagTextBytesMax, true);
  std::array<char, kFirstRecordOffset + header_bytes(kLeadBytesMax)> head{};
  store_little_endian(head.data(), kVersion);
  write_signature(signature, head.data() + kVersionBytes);
  seed_ = seed_of(signature.salt, signature.file_number);
  collected_ = WrittenPoint{kFirstRecordOffset, 0, 0};
  mark_ = {};
  std::size_t head_bytes = kFirstRecordOffset;
  if (first != nullptr) head_bytes += add_first(*first, head.data() + kFirstRecordOffset);
  const std::string_view bytes(head.data(), head_bytes);
  const DiskStatus status = disk.write(file, 0, {&bytes, 1});
  if (status != DiskStatus::ok) return status;
  file_ = file;
  number_ = signature.file_number;
  store_id_ = signature.store_id;
  kept_used_ = 0;
  allocated_ = allocated;
  written_ = collected_;
  zeroed_until_ = 0;
  return DiskStatus::ok;
}

void SegmentWriter::resume(const ContinuedFile& file) {
  CHECK(!is_open() && file.identity.signature);
  file_ = file.file;
  number_ = file.identity.number;
  store_id_ = file.identity.store_id;
  seed_ = file.identity.seed;
  kept_used_ = 0;
  allocated_ = file.allocated;
  zeroed_until_ = 0;
  mark_ = {};
  written_ = collected_ = file.end;
}

// Returns the number of bytes that it has written.
std::size_t SegmentWriter::add_first(const RecordAroundBody& first, char* to) {
  const Record& record = first.record;
  CHECK(record.is_full());
  char* const begin = to;
  Mark mark;
  const auto add_texts = [&](TextKind kind, std::string_view text) {
    for (std::size_t part = 0; part < text_parts(text.size()); ++part) {
      const Position position{seed_, collected_.bytes, collected_.records + 1};
      write_header(text_record(kind, record.id, text, part), position, 0, to);
      count(to, 0, 0);
      collected_.bytes += kShortRecordBytes;
      to += kShortRecordBytes;
      ++mark.text_records;
    }
  };
  add_texts(TextKind::tags, first.tags);
  add_texts(TextKind::facts, first.facts);
  const Position position{seed_, collected_.bytes, collected_.records + 1};
  const std::uint32_t sum =
      body_crc_by_sum(position, first.body_sum, record.body_bytes - kTrailer.size(), kTrailer);
  write_header(record, position, sum, to, &mark);
  count(to, record.tube_name.size(), sum);
  collected_.bytes += record.bytes();
  return static_cast<std::size_t>(to - begin) + header_bytes(record.tube_name.size());
}

FileHandle SegmentWriter::abandon() {
  forget_collected();
  collected_ = written_;
  return std::exchange(file_, FileHandle::none);
}

SegmentWriter::Ending SegmentWriter::take_ending(bool clean_exit, std::uint64_t oldest_needed) {
  CHECK(is_open() && pending_.empty());
  CHECK(oldest_needed <= number_);
  Ending ending;
  const Position position{seed_, written_.bytes, 0};
  mark_.text_records = 0;
  write_seal(Seal{written_.bytes, written_.records, clean_exit, store_id_, number_,
                  static_cast<std::uint32_t>(oldest_needed), mark_},
             position, ending.seal.data());
  written_.bytes += kShortRecordBytes;
  ending.end = written_;
  ending.file = abandon();
  return ending;
}

DiskStatus SegmentWriter::seal(Disk& disk, const Ending& ending) {
  const std::string_view bytes(ending.seal.data(), ending.seal.size());
  CHECK(ending.end.bytes >= kFirstRecordOffset + bytes.size());
  const std::uint64_t offset = ending.end.bytes - bytes.size();
  const DiskStatus status = disk.write(ending.file, offset, {&bytes, 1});
  if (status == DiskStatus::ok) return disk.truncate(ending.file, ending.end.bytes);
  // A partial seal would count as damage.
  const DiskStatus cut = disk.truncate(ending.file, offset);
  (void)cut;  // The first failure is reported.
  return status;
}

std::uint64_t SegmentWriter::room() const {
  if (!is_open()) return 0;
  const std::uint64_t used = collected_.bytes + kEndBytes - kept_used_;
  return allocated_ > used ? allocated_ - used : 0;
}

bool SegmentWriter::prepare(std::size_t lead_bytes, std::size_t body_bytes) {
  const bool by_reference = body_bytes >= kBlobBytesMin;
  const std::size_t copied =
      header_bytes(lead_bytes) + kTrailer.size() + (by_reference ? 0 : body_bytes);
  if (pending_.prepare(copied) == nullptr) return false;
  if (!by_reference) return true;
  try {
    // Each body has pending bytes in front of it and after it.
    const std::size_t count = blobs_.size() + 1;
    if (blobs_.capacity() < count) blobs_.reserve(2 * count);
    if (pieces_.capacity() < 2 * count + 1) pieces_.reserve(4 * count + 1);
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

bool SegmentWriter::prepare_short(std::uint32_t records) {
  return pending_.prepare(records * (header_bytes(0) + kTrailer.size())) != nullptr;
}

void SegmentWriter::add(const Record& record, std::string_view body, const BlobRef& blob) {
  const Position position{seed_, collected_.bytes, (collected_.records + 1) % kRecordNumbers};
  const std::string_view content = blob ? blob.view() : body;
  const std::uint32_t sum = record.is_full() ? body_crc(position, content, kTrailer) : 0;
  const bool by_reference = content.size() >= kBlobBytesMin;
  CHECK(!by_reference || blob);

  const std::size_t header = header_bytes(record.tube_name.size());
  const std::size_t copied = by_reference ? 0 : content.size();
  const std::size_t trailer = record.is_full() ? kTrailer.size() : 0;
  char* to = pending_.prepare(header + copied + trailer);
  CHECK(to != nullptr);
  write_header(record, position, sum, to, &mark_);
  mark_.text_records = 0;
  count(to, record.tube_name.size(), sum);
  if (copied > 0) std::memcpy(to + header, content.data(), copied);
  if (trailer > 0) std::memcpy(to + header + copied, kTrailer.data(), trailer);
  if (by_reference) {
    blobs_.push_back(PlacedBlob{pending_.size() + header, blob});
    pending_blob_bytes_ += content.size();
  }
  pending_.commit(header + copied + trailer);
  collected_.bytes += header + content.size() + trailer;
}

void SegmentWriter::add_text(const Record& record) {
  const std::uint32_t in_front = mark_.text_records;
  add(record, {}, {});
  mark_.text_records = in_front + 1;
}

void SegmentWriter::add_to_room_kept(const Record& record) {
  CHECK(has_room_kept());
  add(record, {}, {});
  kept_used_ += kShortRecordBytes;
}

// Adds a record to the digest, which the next file stores: it includes the sums of all records.
void SegmentWriter::count(const char* header, std::size_t name_bytes, std::uint32_t body_sum) {
  constexpr std::size_t kHeaderCrcAt = 12;
  std::array<char, 8> sums{};
  std::memcpy(sums.data(), header + kNameLengthBytes + name_bytes + kHeaderCrcAt, 4);
  store_little_endian(sums.data() + 4, body_sum);
  collected_.digest = crc32c(collected_.digest, std::string_view(sums.data(), sums.size()));
  ++collected_.records;
}

DiskStatus SegmentWriter::flush(Disk& disk, Ahead ahead) {
  if (pending_.empty()) return DiskStatus::ok;
  CHECK(is_open());
  CHECK(collected_.bytes - written_.bytes == pending_.size() + pending_blob_bytes_);
  const std::string_view bytes = pending_.view();
  DiskStatus status = DiskStatus::ok;
  if (blobs_.empty()) {
    status = ahead == Ahead::zeros ? write_with_zeros(disk, bytes)
                                   : disk.write(file_, written_.bytes, {&bytes, 1});
  } else {
    pieces_.clear();
    std::size_t at = 0;
    for (const PlacedBlob& placed : blobs_) {
      pieces_.push_back(bytes.substr(at, placed.at - at));
      pieces_.push_back(placed.blob.view());
      at = placed.at;
    }
    pieces_.push_back(bytes.substr(at));
    status = disk.write(file_, written_.bytes, pieces_);
  }
  if (status != DiskStatus::ok) return status;
  written_ = collected_;
  forget_collected();
  return DiskStatus::ok;
}

// Writes the bytes with one call, followed by zeros if the earlier zeros are overwritten.
DiskStatus SegmentWriter::write_with_zeros(Disk& disk, std::string_view bytes) {
  static constexpr std::array<char, 16 * 1024> kZeros{};
  static_assert(kZeroedBytes % kZeros.size() == 0);
  std::array<std::string_view, 1 + kZeroedBytes / kZeros.size()> pieces{bytes};
  std::size_t count = 1;
  if (collected_.bytes >= zeroed_until_ && collected_.bytes < allocated_) {
    zeroed_until_ = std::min(collected_.bytes + kZeroedBytes, allocated_);
    for (std::uint64_t left = zeroed_until_ - collected_.bytes; left > 0; ++count) {
      pieces[count] = std::string_view(kZeros.data(), std::min<std::uint64_t>(left, kZeros.size()));
      left -= pieces[count].size();
    }
  }
  return disk.write(file_, written_.bytes, std::span(pieces).first(count));
}

void SegmentWriter::forget_collected() {
  mark_.text_records = 0;
  const bool is_large = pending_.size() > kKeptBytesMax;
  pending_.shorten(0);
  if (is_large) pending_.release_if_empty();
  blobs_.clear();
  pending_blob_bytes_ = 0;
}

}  // namespace haricot::binlog
