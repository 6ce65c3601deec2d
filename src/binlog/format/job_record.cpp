#include "haricot/binlog/format/job_record.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "haricot/base/little_endian.hpp"
#include "haricot/base/name_bytes.hpp"
#include "haricot/binlog/format/burial_stamp.hpp"
#include "haricot/queue/job.hpp"

namespace haricot::binlog {
namespace {

// Marks by TextKind: "TAGS", "KEPT", "KEPA", "NOTE" and "FACT".
constexpr std::array<std::uint32_t, 5> kMarks = {0x53474154, 0x5450454b, 0x4150454b, 0x45544f4e,
                                                 0x54434146};

// The text is in the fields of the TTR and the body size, after three bytes of numbers, and in the
// fields of times and counts. BC is between them, and zero in every record without a body.
constexpr std::size_t kFrontBytes = sizeof(Record::ttr_ns) + sizeof(Record::body_bytes);
constexpr std::size_t kNumbersBytes = 3;
constexpr std::size_t kFrontTextBytes = kFrontBytes - kNumbersBytes;
constexpr std::size_t kBackTextBytes =
    sizeof(Record::created_at) + sizeof(Record::deadline_at) + sizeof(Record::counts);
static_assert(kFrontTextBytes + kBackTextBytes == kTextBytesOfAPart);
static_assert(text_parts(kTombstoneTextBytesMax) <= 255 && kKeyBytesMax <= 255);
static_assert(text_parts(kNoteTextBytesMax) <= 255);

constexpr std::int64_t kPerSecond = 1'000'000'000;
// Difference between the deadline of a held job and its delay. Another server that reads the folder
// may write the job again, and shifts the deadline a little.
constexpr std::uint32_t kSecondsPerYear = 365 * 24 * 60 * 60;
constexpr Duration kHeldFor = Duration::seconds(100 * kSecondsPerYear);
constexpr Duration kHeldForMin = Duration::seconds(90 * kSecondsPerYear);
// The deadline of a ready job is 0.
constexpr std::int64_t kMarkerDeadline = std::numeric_limits<std::int64_t>::min();

std::int64_t to_wall(Instant instant, Duration wall_offset) {
  return (instant + wall_offset).count();
}

Instant from_wall(std::int64_t wall, Duration wall_offset) {
  return Instant::at((Instant::at(wall) - Instant::at(wall_offset.count())).count());
}

// Rounds up: no delay or TTR becomes shorter than it was.
std::uint32_t to_seconds(std::int64_t nanoseconds) {
  if (nanoseconds <= 0) return 0;
  const std::int64_t seconds = nanoseconds / kPerSecond + (nanoseconds % kPerSecond == 0 ? 0 : 1);
  return static_cast<std::uint32_t>(
      std::min<std::int64_t>(seconds, std::numeric_limits<std::uint32_t>::max()));
}

RecordState state_in_record(JobState state) {
  switch (state) {
    case JobState::delayed:
      return RecordState::delayed;
    case JobState::buried:
      return RecordState::buried;
    case JobState::ready:
    case JobState::reserved:
      break;
  }
  return RecordState::ready;
}

JobState state_of(RecordState state) {
  switch (state) {
    case RecordState::delayed:
      return JobState::delayed;
    case RecordState::buried:
      return JobState::buried;
    case RecordState::deleted:
    case RecordState::ready:
    case RecordState::reserved:
      break;
  }
  return JobState::ready;
}

}  // namespace

// Text --------------------------------------------------------------------------------------------

Record text_record(TextKind kind, std::uint64_t id, std::string_view text, std::size_t part) {
  const std::string_view rest = text.substr(part * kTextBytesOfAPart);
  const std::string_view here = rest.substr(0, kTextBytesOfAPart);
  std::array<char, kFrontBytes> front{};
  front[0] = static_cast<char>(part);
  front[1] = static_cast<char>(text_parts(text.size()));
  front[2] = static_cast<char>(here.size());
  const std::string_view in_front = here.substr(0, kFrontTextBytes);
  const std::string_view after = here.substr(in_front.size());
  std::memcpy(front.data() + kNumbersBytes, in_front.data(), in_front.size());
  std::array<char, kBackTextBytes> back{};
  if (!after.empty()) std::memcpy(back.data(), after.data(), after.size());

  Record record;
  record.id = kPseudoId;
  record.priority = kMarks[static_cast<std::size_t>(kind)];
  record.delay_ns = static_cast<std::int64_t>(id);
  record.ttr_ns = load_little_endian<std::int64_t>(front.data());
  record.body_bytes = load_little_endian<std::uint32_t>(front.data() + 8);
  record.created_at = load_little_endian<std::int64_t>(back.data());
  record.deadline_at = load_little_endian<std::int64_t>(back.data() + 8);
  for (std::size_t i = 0; i < record.counts.size(); ++i) {
    record.counts[i] = load_little_endian<std::uint32_t>(back.data() + 16 + 4 * i);
  }
  record.state = RecordState::deleted;
  return record;
}

std::optional<TextPart> text_part(const Record& record) {
  const auto* const mark = std::find(kMarks.begin(), kMarks.end(), record.priority);
  if (record.is_full() || record.id != kPseudoId || mark == kMarks.end()) return std::nullopt;
  std::array<char, kFrontBytes + kBackTextBytes> bytes{};
  store_little_endian(bytes.data(), record.ttr_ns);
  store_little_endian(bytes.data() + 8, record.body_bytes);
  store_little_endian(bytes.data() + 12, record.created_at);
  store_little_endian(bytes.data() + 20, record.deadline_at);
  for (std::size_t i = 0; i < record.counts.size(); ++i) {
    store_little_endian(bytes.data() + 28 + 4 * i, record.counts[i]);
  }
  TextPart part;
  part.kind = static_cast<TextKind>(mark - kMarks.begin());
  part.id = static_cast<std::uint64_t>(record.delay_ns);
  part.number = static_cast<unsigned char>(bytes[0]);
  part.parts = static_cast<unsigned char>(bytes[1]);
  part.text_bytes = static_cast<unsigned char>(bytes[2]);
  const bool is_of_a_job = part.id != 0 && part.id <= kJobIdLast;
  if (!is_of_a_job || part.number >= part.parts || part.text_bytes == 0 ||
      part.text_bytes > kTextBytesOfAPart) {
    return std::nullopt;
  }
  std::memcpy(part.text.data(), bytes.data() + kNumbersBytes, part.text_bytes);
  return part;
}

std::string_view write_tombstone(const TombstoneText& tombstone, TombstoneTextBytes& to) {
  char* at = to.data();
  store_little_endian(at, tombstone.end_at);
  store_little_endian(at + 8, tombstone.seconds);
  at[12] = static_cast<char>(tombstone.key.size());
  at += 13;
  std::memcpy(at, tombstone.key.data(), tombstone.key.size());
  std::memcpy(at + tombstone.key.size(), tombstone.tube_name.data(), tombstone.tube_name.size());
  return {to.data(), tombstone_text_bytes(tombstone.key.size(), tombstone.tube_name.size())};
}

std::optional<TombstoneText> read_tombstone(std::string_view text) {
  constexpr std::size_t kKeyAt = tombstone_text_bytes(0, 0);
  if (text.size() < kKeyAt) return std::nullopt;
  const std::size_t key_bytes = static_cast<unsigned char>(text[kKeyAt - 1]);
  if (key_bytes == 0 || key_bytes > kKeyBytesMax || key_bytes > text.size() - kKeyAt) {
    return std::nullopt;
  }
  const TombstoneText tombstone{.end_at = load_little_endian<std::int64_t>(text.data()),
                                .seconds = load_little_endian<std::uint32_t>(text.data() + 8),
                                .key = text.substr(kKeyAt, key_bytes),
                                .tube_name = text.substr(kKeyAt + key_bytes)};
  const bool is_good = tombstone.seconds > 0 && has_only_name_bytes(tombstone.key) &&
                       is_tube_name(tombstone.tube_name);
  return is_good ? std::optional(tombstone) : std::nullopt;
}

std::string_view write_facts(const TagFacts& facts, FactTextBytes& to) {
  char* at = to.data();
  TagFacts::Fields::each(facts, [&at](const auto& field) {
    store_little_endian(at, field);
    at += sizeof field;
  });
  return {to.data(), static_cast<std::size_t>(at - to.data())};
}

TagFacts read_facts(std::string_view text) {
  TagFacts facts;
  TagFacts::Fields::each(facts, [&text](auto& field) {
    if (text.size() < sizeof field) return;
    field = load_little_endian<std::remove_reference_t<decltype(field)>>(text.data());
    text.remove_prefix(sizeof field);
  });
  return facts;
}

void TextParts::add(const TextPart& part) {
  if (part.number == 0) {
    kind_ = part.kind;
    id_ = part.id;
    parts_ = part.parts;
    parts_read_ = 0;
    text_bytes_ = 0;
  }
  const bool is_next = part.id == id_ && part.kind == kind_ && part.parts == parts_ &&
                       part.number == parts_read_ && text_.size() - text_bytes_ >= part.text_bytes;
  if (!is_next) {
    clear();
    return;
  }
  std::memcpy(text_.data() + text_bytes_, part.text.data(), part.text_bytes);
  text_bytes_ += part.text_bytes;
  ++parts_read_;
}

// Jobs --------------------------------------------------------------------------------------------

std::uint64_t live_bytes_of(const Engine& engine, JobRef ref) {
  const JobStore& jobs = engine.jobs();
  return is_tombstone(jobs, ref) ? tombstone_record_bytes(engine.tombstone(ref))
                                 : full_record_bytes(engine.journaled(ref), jobs);
}

std::string_view text_of_tombstone(const Tombstone& tombstone, Duration wall_offset,
                                   TombstoneTextBytes& to) {
  return write_tombstone({.end_at = to_wall(tombstone.end, wall_offset),
                          .seconds = tombstone.seconds,
                          .key = tombstone.key,
                          .tube_name = tombstone.tube_name},
                         to);
}

std::optional<Tombstone> tombstone_from(std::string_view text, Duration wall_offset, Instant now) {
  const std::optional<TombstoneText> read = read_tombstone(text);
  if (!read) return std::nullopt;
  return Tombstone{.ref = JobRef::none,
                   .id = 0,
                   .tube_name = read->tube_name,
                   .key = read->key,
                   .seconds = read->seconds,
                   .end = restored_deadline(read->end_at, read->seconds, wall_offset, now)};
}

Record change_of(const JournaledJob& journaled, const JobStore& jobs, Duration wall_offset,
                 std::int64_t stamp) {
  const Job& job = journaled.job;
  Record record;
  record.id = job.id;
  record.priority = job.priority;
  record.delay_ns = job.delay_s * kPerSecond;
  record.ttr_ns = job.ttr_s * kPerSecond;
  record.body_bytes = job.body_bytes + 2;
  record.created_at = to_wall(job.created, wall_offset);
  record.state = state_in_record(job.state());
  if (record.state == RecordState::delayed) {
    const Instant deadline = jobs.is_held(journaled.ref)
                                 ? job.created + Duration::seconds(job.delay_s) + kHeldFor
                                 : journaled.deadline;
    record.deadline_at = to_wall(deadline, wall_offset);
  } else if (record.state == RecordState::buried) {
    record.deadline_at = stamp;
  }
  for (std::size_t i = 0; i < kJobEvents; ++i) {
    const std::uint64_t count = jobs.counted(journaled.ref, static_cast<JobEvent>(i));
    record.counts[i] = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(count, std::numeric_limits<std::uint32_t>::max()));
  }
  std::uint32_t& reserves = record.counts[static_cast<std::size_t>(JobEvent::reserve)];
  if (job.state() == JobState::reserved && reserves > 0 && jobs.has_facts(journaled.ref))
    --reserves;
  return record;
}

Record deletion_of(JobId id) {
  Record record;
  record.id = id;
  record.state = RecordState::deleted;
  return record;
}

Record marker_of(JobId id) {
  Record record;
  record.tube_name = "default";
  record.id = id;
  record.ttr_ns = kPerSecond;
  record.body_bytes = 2;
  record.deadline_at = kMarkerDeadline;
  return record;
}

bool is_marker(const Record& record) {
  return record.is_full() && record.state == RecordState::ready &&
         record.deadline_at == kMarkerDeadline;
}

RestoredJob restored_from(const Record& record, Duration wall_offset) {
  return RestoredJob{.id = record.id,
                     .created = from_wall(record.created_at, wall_offset),
                     .priority = record.priority,
                     .delay_s = to_seconds(record.delay_ns),
                     .ttr_s = to_seconds(record.ttr_ns),
                     .state = state_of(record.state),
                     .counters = record.counts};
}

// A hold that begins after 2162 ends when wall clocks of 64 bits do.
bool is_held_until(const Job& job, std::int64_t deadline_at, Duration wall_offset) {
  if (deadline_at == std::numeric_limits<std::int64_t>::max()) return true;
  const Instant deadline = from_wall(deadline_at, wall_offset);
  return deadline - (job.created + Duration::seconds(job.delay_s)) >= kHeldForMin;
}

Burial restored_burial(JobId id, std::int64_t stamp, Duration wall_offset, Instant now) {
  const std::optional<StampedBurial> stamped = burial_of(id, stamp);
  if (!stamped) return Burial{.since = now};
  return Burial{.since = from_wall(stamped->at, wall_offset), .cause = stamped->cause};
}

Instant restored_deadline(std::int64_t deadline_at, std::uint32_t delay_s, Duration wall_offset,
                          Instant now) {
  return std::min(from_wall(deadline_at, wall_offset), now + Duration::seconds(delay_s));
}

}  // namespace haricot::binlog
