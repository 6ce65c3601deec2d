#include "haricot/binlog/write/record_collector.hpp"

#include "haricot/base/check.hpp"

namespace haricot::binlog {

bool RecordCollector::prepare(std::size_t lead_bytes, std::size_t body_bytes) {
  return stream_.progress.prepare(1) && stream_.writer.prepare(lead_bytes, body_bytes);
}

bool RecordCollector::prepare_short(std::uint32_t records) {
  return stream_.progress.prepare(records) && stream_.writer.prepare_short(records);
}

void RecordCollector::append(const Record& record, std::string_view body, const BlobRef& blob) {
  CHECK(stream_.writer.is_open());
  const std::uint64_t before = stream_.writer.collected_bytes();
  stream_.writer.add(record, body, blob);
  count(record.id);
  bytes_this_turn_ += stream_.writer.collected_bytes() - before;
  flush_if_many();
}

void RecordCollector::append_to_room_kept(const Record& record) {
  CHECK(stream_.writer.is_open());
  stream_.writer.add_to_room_kept(record);
  count(record.id);
  bytes_this_turn_ += kShortRecordBytes;
  flush_if_many();
}

// No write may come, and fail, between these records and the one that they belong to.
void RecordCollector::append_text(TextKind kind, JobId id, std::string_view text) {
  for (std::size_t part = 0; part < text_parts(text.size()); ++part) {
    stream_.writer.add_text(text_record(kind, id, text, part));
    ++total_;
    bytes_this_turn_ += kShortRecordBytes;
  }
}

void RecordCollector::append_text_alone(TextKind kind, JobId id, std::string_view text) {
  CHECK(stream_.writer.is_open());
  for (std::size_t part = 0; part < text_parts(text.size()); ++part) {
    stream_.writer.add(text_record(kind, id, text, part), {}, {});
    ++total_;
    bytes_this_turn_ += kShortRecordBytes;
  }
  stream_.progress.count(id);
  flush_if_many();
}

void RecordCollector::count(JobId id) {
  stream_.progress.count(id);
  ++total_;
}

void RecordCollector::append_again(const Record& record, std::string_view body,
                                   const BlobRef& blob) {
  const std::uint64_t before = stream_.writer.collected_bytes();
  ++total_;
  stream_.writer.add(record, body, blob);
  bytes_this_turn_ += stream_.writer.collected_bytes() - before;
}

void RecordCollector::flush_if_many() {
  if (stream_.writer.collected_bytes() >= write_from_) flush();
}

void RecordCollector::flush() {
  write_from_ = kCollectedBytesMax;
  if (!stream_.writer.is_open() || stream_.writer.collected_bytes() == 0) return;
  // Records that were in doubt are synced once, when all are written again.
  const bool is_synced_each_time =
      state_.options.sync == SyncPolicy::every_turn && !refusal_.is_on();
  const DiskStatus status =
      stream_.writer.flush(state_.disk, is_synced_each_time ? SegmentWriter::Ahead::zeros
                                                            : SegmentWriter::Ahead::nothing);
  if (status == DiskStatus::ok) {
    syncs_.mark_written();
  } else {
    refusal_.begin(status, "write");
  }
}

}  // namespace haricot::binlog
