// The records of a job: its own, and records of text with data that has no place there.
//
// The engine counts in seconds on the monotonic clock, a record in nanoseconds on the wall clock.
// `wall_offset` is the wall clock minus the monotonic clock.
//
// Records of text are pseudo-records, each with a part of a text, in the same file. beanstalkd
// skips them. Those that belong to another record directly precede it.
//
//   tags              in front of the full record of a job: the text of its tags
//                     (base/job_tags.hpp)
//   facts             behind its tags: its TagFacts (queue/job.hpp)
//   tombstone         in front of the deletion of a job: the key that stays taken (TombstoneText)
//   tombstone_alone   such a key without a record behind it: the job's full record is gone
//   note              the note of a job, after kNoteSign; somewhere behind the job's full record

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "haricot/base/job_tags.hpp"
#include "haricot/base/name_bytes.hpp"
#include "haricot/base/time.hpp"
#include "haricot/binlog/format/record.hpp"
#include "haricot/protocol/command.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot::binlog {

// Text --------------------------------------------------------------------------------------------

enum class TextKind : std::uint8_t { tags, tombstone, tombstone_alone, note, facts };

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

// The text of TagFacts: their fields in sequence, in a single part. Later versions append fields.
using FactTextBytes = std::array<char, sizeof(TagFacts)>;
static_assert(sizeof(TagFacts) <= kTextBytesOfAPart);
// Returns the text, which is in `to`.
std::string_view write_facts(const TagFacts& facts, FactTextBytes& to);
// Returns facts, zero where the text lacks a field.
TagFacts read_facts(std::string_view text);

// The text of a note begins with a sign, because no text is empty and a removed note is recorded.
inline constexpr char kNoteSign = '=';
inline constexpr std::size_t kNoteTextBytesMax = 1 + JobStore::kNoteBytesMax;
// Returns the bytes of the records of a note of that size.
constexpr std::size_t note_record_bytes(std::size_t note_bytes) {
  return text_record_bytes(1 + note_bytes);
}
// Returns the bytes that the records of a job's note take.
inline std::size_t note_record_bytes(const JobStore& jobs, JobRef ref) {
  return jobs.has_had_note(ref) ? note_record_bytes(jobs.note(ref).size()) : 0;
}

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
      std::max({kTagTextBytesMax, kTombstoneTextBytesMax, kNoteTextBytesMax});

  TextKind kind_ = TextKind::tags;
  std::uint64_t id_ = 0;  // Id of the job; 0: there is no text.
  std::uint32_t parts_ = 0;
  std::uint32_t parts_read_ = 0;
  std::size_t text_bytes_ = 0;
  std::array<char, kTextBytesMax> text_{};
};

// Jobs --------------------------------------------------------------------------------------------

// Returns the bytes in front of the block of a job's full record: records of its tags and facts,
// and the name of its tube.
constexpr std::size_t lead_bytes(std::size_t name_bytes, std::size_t tag_bytes, bool has_facts) {
  return name_bytes + text_record_bytes(tag_bytes) + (has_facts ? kShortRecordBytes : 0);
}
// `jobs` is the store of the job.
inline std::size_t lead_bytes(std::string_view tube_name, const JobStore& jobs, JobRef ref) {
  return lead_bytes(tube_name.size(), jobs.tags(ref).size(), jobs.has_facts(ref));
}
inline std::size_t lead_bytes(const JournaledJob& job, const JobStore& jobs) {
  return lead_bytes(job.tube_name, jobs, job.ref);
}

// Returns the bytes of the job's full record, including those in front of it. With a job: and of
// its note.
inline std::uint64_t full_record_bytes(std::size_t lead_bytes, std::size_t body_bytes) {
  constexpr std::size_t kTrailerBytes = 2;
  return header_bytes(lead_bytes) + body_bytes + kTrailerBytes;
}
inline std::uint64_t full_record_bytes(const JournaledJob& job, const JobStore& jobs) {
  return full_record_bytes(lead_bytes(job, jobs), job.job.body_bytes) +
         note_record_bytes(jobs, job.ref);
}

// Maximum number of tombstone records in front of deletions; exact for one key.
constexpr std::uint64_t tombstone_records(const TombstoneRoom& room) {
  constexpr std::uint64_t kBytesOfEach = tombstone_text_bytes(0, 0) + kTextBytesOfAPart - 1;
  return (room.keys * kBytesOfEach + room.bytes) / kTextBytesOfAPart;
}
inline std::uint64_t tombstone_record_bytes(const Tombstone& tombstone) {
  return text_record_bytes(tombstone_text_bytes(tombstone.key.size(), tombstone.tube_name.size()));
}
// Returns true for the tombstone of a job, whose key outlives it.
inline bool is_tombstone(const JobStore& jobs, JobRef ref) {
  return jobs.tombstones() > 0 && jobs.find_tombstone(jobs[ref].id) == ref;
}
// Returns the bytes that a job, or a tombstone, takes in its file.
std::uint64_t live_bytes_of(const Engine& engine, JobRef ref);
// text_of_tombstone() writes the text of a tombstone's records to `to`. tombstone_from() reads it,
// without the job, whose id is in the records. The end is no later than its seconds allow, even if
// the wall clock was changed.
std::string_view text_of_tombstone(const Tombstone& tombstone, Duration wall_offset,
                                   TombstoneTextBytes& to);
std::optional<Tombstone> tombstone_from(std::string_view text, Duration wall_offset, Instant now);

// Returns the fields that are equal in every record of a job: without name and body. A reserved job
// is written as ready, because a restart makes it ready; one with facts is written without this
// reserve, because its try has not ended. `stamp` is that of a buried job (burial_stamp.hpp).
Record change_of(const JournaledJob& job, const JobStore& jobs, Duration wall_offset,
                 std::int64_t stamp);
// Returns the record of a deletion.
Record deletion_of(JobId id);

// Returns a record with an id that was given out and whose job never existed: beanstalkd continues
// ids after the highest that it finds. A deletion follows. A crash may keep the first record only,
// so our reader recognizes it.
Record marker_of(JobId id);
bool is_marker(const Record& record);

// Returns the values of a record for Restoring::restore().
RestoredJob restored_from(const Record& record, Duration wall_offset);
// Returns true if the record of a delayed job with a tag `aft` was one of a held job: no delay
// begins so long after the put.
bool is_held_until(const Job& job, std::int64_t deadline_at, Duration wall_offset);
// Returns the burial of a job with that stamp. A burial without a time counts as one of now; a time
// may be in the future if the wall clock was changed.
Burial restored_burial(JobId id, std::int64_t stamp, Duration wall_offset, Instant now);
// Returns the time at which a delayed job gets ready, no later than its delay allows, even if the
// wall clock was changed.
Instant restored_deadline(std::int64_t deadline_at, std::uint32_t delay_s, Duration wall_offset,
                          Instant now);

}  // namespace haricot::binlog
