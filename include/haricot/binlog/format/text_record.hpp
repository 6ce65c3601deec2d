// Records of text: data of a job that has no place in its record. They are pseudo-records, each
// with a part of a text, directly in front of the record that they belong to and in the same file.
// beanstalkd skips them.
//
//   tags              in front of the full record of a job: the text of its tags
//                     (base/job_tags.hpp)
//   tombstone         in front of the deletion of a job: the key that stays taken (TombstoneText)
//   tombstone_alone   such a key without a record behind it: the job's full record is gone

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "haricot/base/job_tags.hpp"
#include "haricot/base/name_bytes.hpp"
#include "haricot/binlog/format/record.hpp"
#include "haricot/protocol/command.hpp"

namespace haricot::binlog {

enum class TextKind : std::uint8_t { tags, tombstone, tombstone_alone };

inline constexpr std::size_t kTextBytesOfAPart = 45;
constexpr std::size_t text_parts(std::size_t text_bytes) {
  return (text_bytes + kTextBytesOfAPart - 1) / kTextBytesOfAPart;
}
// Returns the bytes of these records.
constexpr std::size_t text_record_bytes(std::size_t text_bytes) {
  return text_parts(text_bytes) * kShortRecordBytes;
}

struct TextPart {
  TextKind kind = TextKind::tags;
  std::uint64_t id = 0;      // Id of the job.
  std::uint32_t number = 0;  // Number of the part, from 0.
  std::uint32_t parts = 0;
  std::array<char, kTextBytesOfAPart> text{};
  std::size_t text_bytes = 0;

  std::string_view view() const { return {text.data(), text_bytes}; }
};
// Returns the record of a part. Requires: the text has that part.
Record text_record(TextKind kind, std::uint64_t id, std::string_view text, std::size_t part);
// Returns nothing for a record of another kind.
std::optional<TextPart> text_part(const Record& record);

// A key that outlives its job, as its records contain it.
struct TombstoneText {
  std::int64_t end_at = 0;    // End of its time: wall clock, nanoseconds since 1970.
  std::uint32_t seconds = 0;  // Its whole time when the job was deleted; not 0.
  std::string_view key = {};
  std::string_view tube_name = {};
};
constexpr std::size_t tombstone_text_bytes(std::size_t key_bytes, std::size_t name_bytes) {
  return sizeof(TombstoneText::end_at) + sizeof(TombstoneText::seconds) + 1 + key_bytes +
         name_bytes;
}
inline constexpr std::size_t kTombstoneTextBytesMax =
    tombstone_text_bytes(kKeyBytesMax, kTubeNameBytesMax);
using TombstoneTextBytes = std::array<char, kTombstoneTextBytesMax>;
// Returns the text, which is in `to`.
std::string_view write_tombstone(const TombstoneText& tombstone, TombstoneTextBytes& to);
// Returns nothing if no server writes such a text. The result refers to the text.
std::optional<TombstoneText> read_tombstone(std::string_view text);

// Joins the parts of a text, as they are read in sequence.
class TextParts {
 public:
  // Adds a part. A part out of sequence drops the parts before it.
  void add(const TextPart& part);
  void clear() { id_ = 0; }
  // Returns true if all parts of the text of that kind for that job are there.
  bool is_whole(TextKind kind, std::uint64_t id) const {
    return id == id_ && kind == kind_ && parts_read_ == parts_;
  }
  // Valid until the next part is added. Requires: it is whole.
  std::string_view text() const { return {text_.data(), text_bytes_}; }

 private:
  static constexpr std::size_t kTextBytesMax =
      kTagTextBytesMax > kTombstoneTextBytesMax ? kTagTextBytesMax : kTombstoneTextBytesMax;

  TextKind kind_ = TextKind::tags;
  std::uint64_t id_ = 0;  // Id of the job; 0: there is no text.
  std::uint32_t parts_ = 0;
  std::uint32_t parts_read_ = 0;
  std::size_t text_bytes_ = 0;
  std::array<char, kTextBytesMax> text_{};
};

}  // namespace haricot::binlog
