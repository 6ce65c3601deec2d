#include "legacy_maker.hpp"

#include "haricot/base/little_endian.hpp"

namespace haricot::damage {

using binlog::Record;

Padding padding_of(std::string_view bytes) {
  const auto name_bytes = load_little_endian<std::uint32_t>(bytes.data());
  const char* block = bytes.data() + binlog::kNameLengthBytes + name_bytes;
  return {load_little_endian<std::uint32_t>(block + 12),
          load_little_endian<std::uint32_t>(block + 36),
          load_little_endian<std::uint32_t>(block + 76) >> 8};
}

LegacyMaker::LegacyMaker(std::uint32_t version)
    : is_v5_(version == binlog::kVersionOfBeanstalkd14) {
  append(version, 4);
}

void LegacyMaker::append(std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
}

void LegacyMaker::add(const Record& record, const Padding& padding) {
  const std::int64_t unit = is_v5_ ? 1000 : 1;
  const auto append_time = [&](std::int64_t time) {
    append(static_cast<std::uint64_t>(time / unit), 8);
  };
  append(record.tube_name.size(), is_v5_ ? 8 : 4);
  bytes_ += record.tube_name;
  append(record.id, 8);
  append(record.priority, 4);
  append(padding.at_12, 4);
  append_time(record.delay_ns);
  append_time(record.ttr_ns);
  append(record.body_bytes, 4);
  append(padding.at_36, 4);
  append_time(record.created_at);
  append_time(record.deadline_at);
  for (const std::uint32_t count : record.counts) append(count, 4);
  append(static_cast<std::uint64_t>(record.state), 1);
  if (!is_v5_) append(padding.at_77, 3);
  if (record.is_full()) bytes_ += record.body;
}

}  // namespace haricot::damage
