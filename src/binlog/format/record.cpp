#include "haricot/binlog/format/record.hpp"

#include <cstring>
#include <utility>

#include "haricot/base/crc32c.hpp"
#include "haricot/base/little_endian.hpp"
#include "haricot/base/name_bytes.hpp"
#include "haricot/queue/job.hpp"

namespace haricot::binlog {
namespace {

// Sizes that beanstalkd 1.10 and later read and write.
static_assert(kShortRecordBytes == 84 && kFirstRecordOffset == 88);

constexpr std::uint32_t kSignatureMark = 0x31474953;  // "SIG1"
constexpr std::uint32_t kSealMark = 0x4c414553;       // "SEAL"
constexpr std::uint32_t kNeedMark = 0x4445454e;       // "NEED"
constexpr std::size_t kNameBytesMax = 200;

// Offsets in the block.
constexpr std::size_t kPriorityAt = 8;
constexpr std::size_t kHeaderCrcAt = kPriorityAt + 4;
constexpr std::size_t kMarkAt = 48;
constexpr std::size_t kStateAt = 76;
constexpr std::size_t kNumberAt = 77;

template <typename Integer>
void store(char* to, Integer value) {
  store_little_endian(to, value);
}

template <typename Integer>
Integer load(const char* from) {
  return load_little_endian<Integer>(from);
}

void store_u24(char* to, std::uint32_t value) {
  for (int i = 0; i < 3; ++i) to[i] = static_cast<char>(value >> (8 * i));
}

std::uint32_t load_u24(const char* from) {
  return load<std::uint32_t>(from - 1) >> 8;
}

std::uint32_t crc_of_position(const Position& position) {
  return crc32c(position.seed, position.offset, {});
}

// Inverse of crc_of_position().
std::uint32_t seed_before(std::uint32_t crc, std::uint64_t offset) {
  char bytes[8];
  store(bytes, offset);
  return crc32c_before(crc, std::string_view(bytes, sizeof bytes));
}

constexpr char kZeros[4] = {};

// Returns HC of the header at `header`, whatever its field contains now. Its zeros and the priority
// in front of them are one number.
std::uint32_t header_crc(const char* header, std::size_t name_bytes, const Position& position) {
  const std::size_t priority_at = kNameLengthBytes + name_bytes + kPriorityAt;
  const std::uint32_t crc =
      crc32c(position.seed, position.offset, std::string_view(header, priority_at));
  const std::string_view after(header + priority_at + 8, kBlockBytes - kPriorityAt - 8);
  return crc32c(crc, load<std::uint32_t>(header + priority_at), after);
}

std::uint32_t seed_by_sum(std::uint32_t sum, const char* header, std::size_t name_bytes,
                          std::uint64_t offset) {
  const std::size_t before = kNameLengthBytes + name_bytes + kHeaderCrcAt;
  const std::string_view after(header + before + 4, kBlockBytes - kHeaderCrcAt - 4);
  std::uint32_t crc = crc32c_before(sum, after);
  crc = crc32c_before(crc, std::string_view(kZeros, sizeof kZeros));
  return seed_before(crc32c_before(crc, std::string_view(header, before)), offset);
}

// Stores the sum and the record number in a header that is otherwise complete.
void seal_header(char* header, std::size_t name_bytes, const Position& position) {
  char* block = header + kNameLengthBytes + name_bytes;
  store_u24(block + kNumberAt, position.number);
  store(block + kHeaderCrcAt, header_crc(header, name_bytes, position));
}

// Six bytes of length, whose highest bit says that files before are durable; and the number of text
// records plus one: 0 is no mark.
constexpr std::uint32_t kMarkTextBits = 48;
constexpr std::uint64_t kDurablePast = kDurableBytesEnd;
static_assert(2 * kDurableBytesEnd == std::uint64_t{1} << kMarkTextBits);

std::uint64_t field_of(const Mark& mark) {
  return mark.durable_bytes | (mark.has_durable_past ? kDurablePast : 0) |
         (std::uint64_t{mark.text_records} + 1) << kMarkTextBits;
}

std::optional<Mark> mark_in(std::uint64_t field) {
  const std::uint64_t text_field = field >> kMarkTextBits;
  if (text_field == 0 || text_field > 0xff) return std::nullopt;
  return Mark{.has_durable_past = (field & kDurablePast) != 0,
              .durable_bytes = field % kDurableBytesEnd,
              .text_records = static_cast<std::uint32_t>(text_field - 1)};
}

// Begins a pseudo-record: zeros, except for the id and the mark.
char* begin_pseudo(char* to, std::uint32_t mark) {
  std::memset(to, 0, kShortRecordBytes);
  char* block = to + kNameLengthBytes;
  store(block, kPseudoId);
  store(block + 8, mark);
  return block;
}

// Returns the block of a pseudo-record of that mark with a correct sum; null if there is none.
const char* find_pseudo(std::string_view bytes, std::uint32_t mark, const Position& position) {
  if (bytes.size() < kShortRecordBytes || load<std::uint32_t>(bytes.data()) != 0) return nullptr;
  const char* block = bytes.data() + kNameLengthBytes;
  if (load<std::uint64_t>(block) != kPseudoId) return nullptr;
  if (load<std::uint32_t>(block + 8) != mark) return nullptr;
  const bool good =
      load<std::uint32_t>(block + kHeaderCrcAt) == header_crc(bytes.data(), 0, position);
  return good ? block : nullptr;
}

// Checks conditions of records of any version, sealed or damaged: rejects values that no server
// writes. The name is checked elsewhere.
bool is_plausible(const Record& record, bool is_full, std::uint8_t state) {
  if (record.id == 0 || state > static_cast<std::uint8_t>(RecordState::delayed)) return false;
  if (!is_full) return true;
  return record.body_bytes >= 2 && record.body_bytes <= kBodyBytesMax && record.id != kPseudoId;
}

void take_body(std::string_view bytes, std::size_t header_length, Parsed& parsed) {
  Record& record = parsed.record;
  const std::size_t body_bytes = record.is_full() ? record.body_bytes : 0;
  parsed.body_is_there = bytes.size() - header_length >= body_bytes;
  record.body = {bytes.data() + header_length, parsed.body_is_there ? body_bytes : 0};
}

}  // namespace

// Records ---------------------------------------------------------------------------------------

bool may_have_mark(const Record& record) {
  return record.state <= RecordState::ready && record.id != kPseudoId;
}

std::optional<Mark> mark_of(const Record& record) {
  if (!may_have_mark(record)) return std::nullopt;
  return mark_in(static_cast<std::uint64_t>(record.deadline_at));
}

void write_header(const Record& record, const Position& position, std::uint32_t body_sum, char* to,
                  const Mark* mark) {
  const std::size_t name_bytes = record.tube_name.size();
  store(to, static_cast<std::uint32_t>(name_bytes));
  if (name_bytes > 0) std::memcpy(to + kNameLengthBytes, record.tube_name.data(), name_bytes);
  char* block = to + kNameLengthBytes + name_bytes;
  store(block, record.id);
  store(block + 8, record.priority);
  store(block + 16, record.delay_ns);
  store(block + 24, record.ttr_ns);
  store(block + 32, record.body_bytes);
  store(block + 36, body_sum);
  store(block + 40, record.created_at);
  store(block + kMarkAt, record.deadline_at);
  if (mark != nullptr && record.deadline_at == 0 && may_have_mark(record)) {
    store(block + kMarkAt, field_of(*mark));
  }
  for (std::size_t i = 0; i < record.counts.size(); ++i) {
    store(block + 56 + 4 * i, record.counts[i]);
  }
  block[kStateAt] = static_cast<char>(record.state);
  seal_header(to, name_bytes, position);
}

std::uint32_t body_crc(const Position& position, std::string_view body, std::string_view after) {
  const std::uint32_t crc = crc32c(position.seed, position.offset, body);
  return after.empty() ? crc : crc32c(crc, after);
}

std::uint32_t body_crc_by_sum(const Position& position, std::uint32_t sum, std::uint64_t body_bytes,
                              std::string_view after) {
  return crc32c(crc32c_joined(crc_of_position(position), sum, body_bytes), after);
}

std::optional<Parsed> parse_record(std::string_view bytes) {
  std::optional<Parsed> parsed(std::in_place);
  if (!parse_record(bytes, *parsed)) parsed.reset();
  return parsed;
}

bool parse_record(std::string_view bytes, Parsed& parsed) {
  Record& record = parsed.record;
  const std::string_view known_name = std::exchange(record.tube_name, {});
  if (bytes.size() < kShortRecordBytes) return false;
  const auto name_bytes = load<std::uint32_t>(bytes.data());
  if (name_bytes > kNameBytesMax || bytes.size() < header_bytes(name_bytes)) return false;
  const std::string_view name(bytes.data() + kNameLengthBytes, name_bytes);
  const bool is_name = name_bytes == 0 || name == known_name || is_tube_name(name);
  const char* block = name.data() + name_bytes;
  record.id = load<std::uint64_t>(block);
  record.priority = load<std::uint32_t>(block + kPriorityAt);
  parsed.header_crc = load<std::uint32_t>(block + kHeaderCrcAt);
  record.delay_ns = load<std::int64_t>(block + 16);
  record.ttr_ns = load<std::int64_t>(block + 24);
  record.body_bytes = load<std::uint32_t>(block + 32);
  parsed.body_crc = load<std::uint32_t>(block + 36);
  record.created_at = load<std::int64_t>(block + 40);
  record.deadline_at = load<std::int64_t>(block + kMarkAt);
#pragma GCC unroll 5
  for (std::size_t i = 0; i < record.counts.size(); ++i) {
    record.counts[i] = load<std::uint32_t>(block + 56 + 4 * i);
  }
  const auto state = static_cast<std::uint8_t>(block[kStateAt]);
  parsed.number = load_u24(block + kNumberAt);
  if (!is_name || !is_plausible(record, name_bytes > 0, state)) return false;
  record.tube_name = name;
  record.state = static_cast<RecordState>(state);
  take_body(bytes, header_bytes(name_bytes), parsed);
  return true;
}

std::optional<Parsed> parse_record_v5(std::string_view bytes, std::size_t& header_length) {
  constexpr std::size_t kLengthBytes = 8;
  constexpr std::size_t kOldBlockBytes = 77;
  constexpr std::int64_t kPerMicrosecond = 1000;
  if (bytes.size() < kLengthBytes + kOldBlockBytes) return std::nullopt;
  const auto name_bytes = load<std::uint64_t>(bytes.data());
  if (name_bytes > kNameBytesMax) return std::nullopt;
  header_length = kLengthBytes + static_cast<std::size_t>(name_bytes) + kOldBlockBytes;
  if (bytes.size() < header_length) return std::nullopt;
  const char* block = bytes.data() + kLengthBytes + name_bytes;
  Parsed parsed;
  Record& record = parsed.record;
  record.tube_name = bytes.substr(kLengthBytes, static_cast<std::size_t>(name_bytes));
  record.id = load<std::uint64_t>(block);
  record.priority = load<std::uint32_t>(block + 8);
  record.body_bytes = load<std::uint32_t>(block + 32);
  const std::int64_t times[4] = {load<std::int64_t>(block + 16), load<std::int64_t>(block + 24),
                                 load<std::int64_t>(block + 40), load<std::int64_t>(block + 48)};
  std::int64_t* const to[4] = {&record.delay_ns, &record.ttr_ns, &record.created_at,
                               &record.deadline_at};
  for (std::size_t i = 0; i < 4; ++i) {
    if (__builtin_mul_overflow(times[i], kPerMicrosecond, to[i])) return std::nullopt;
  }
  for (std::size_t i = 0; i < record.counts.size(); ++i) {
    record.counts[i] = load<std::uint32_t>(block + 56 + 4 * i);
  }
  const auto state = static_cast<std::uint8_t>(block[kStateAt]);
  if (!is_plausible(record, record.is_full(), state)) return std::nullopt;
  if (record.is_full() && !is_tube_name(record.tube_name)) return std::nullopt;
  record.state = static_cast<RecordState>(state);
  take_body(bytes, header_length, parsed);
  return parsed;
}

bool header_fits(std::string_view bytes, const Parsed& parsed, const Position& position) {
  return parsed.header_crc == header_crc(bytes.data(), parsed.record.tube_name.size(), position);
}

std::uint32_t seed_by_header(std::string_view bytes, const Parsed& parsed, std::uint64_t offset) {
  return seed_by_sum(parsed.header_crc, bytes.data(), parsed.record.tube_name.size(), offset);
}

std::uint32_t seed_by_body(const Parsed& parsed, std::uint64_t offset) {
  return seed_before(crc32c_before(parsed.body_crc, parsed.record.body), offset);
}

bool has_values_of_beanstalkd(const Parsed& parsed) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kLongest = 0xffffffff * kSecond;
  const Record& record = parsed.record;
  const auto is_whole = [](std::int64_t time) {
    return time >= 0 && time <= kLongest && time % kSecond == 0;
  };
  if (record.id > kJobIdLast || !is_whole(record.delay_ns) || !is_whole(record.ttr_ns))
    return false;
  if (record.created_at < 0 || record.deadline_at < 0) return false;
  if (record.ttr_ns == 0) return false;  // A TTR has at least one second, also in a deletion.
  if (!record.is_full()) return record.body_bytes <= kBodyBytesMax;
  return !parsed.body_is_there || record.body.ends_with("\r\n");
}

bool is_clearly_of_beanstalkd(const Parsed& parsed) {
  constexpr std::int64_t kYear2001 = 1'000'000'000'000'000'000;
  constexpr std::int64_t kYear2099 = 4'100'000'000'000'000'000;
  const Record& record = parsed.record;
  return parsed.body_is_there && record.created_at >= kYear2001 && record.created_at <= kYear2099 &&
         record.ttr_ns > 0 && has_values_of_beanstalkd(parsed);
}

bool body_fits(const Parsed& parsed, const Position& position) {
  if (!parsed.body_is_there) return false;
  if (!parsed.record.is_full()) return parsed.body_crc == 0;
  return parsed.body_crc == body_crc(position, parsed.record.body);
}

// Pseudo-records --------------------------------------------------------------------------------

std::uint32_t seed_of(std::uint64_t salt, std::uint64_t file_number) {
  char bytes[16];
  store(bytes, salt);
  store(bytes + 8, file_number);
  return crc32c(0, std::string_view(bytes, sizeof bytes));
}

// Mixes in two rounds, so that every bit of both numbers affects every bit of the salt.
std::uint64_t salt_of(std::uint64_t store_id, std::uint64_t file_number) {
  std::uint64_t mixed = store_id + file_number * 0x9e3779b97f4a7c15;
  for (int round = 0; round < 2; ++round) {
    mixed = (mixed ^ (mixed >> 32)) * 0xd6e8feb86659fd93;
    mixed ^= mixed >> 29;
  }
  return mixed;
}

void write_signature(const Signature& signature, char* to) {
  char* block = begin_pseudo(to, kSignatureMark);
  store(block + 16, signature.salt);
  store(block + 24, signature.next_id);
  store(block + 32, signature.oldest_needed);
  store(block + 36, signature.previous_digest);
  store(block + 40, signature.file_number);
  store(block + 48, signature.previous_bytes);
  store(block + 56, signature.store_id);
  store(block + 64, signature.previous_records);
  store(block + 68, signature.records_lost);
  store(block + 72, signature.previous_number);
  // The epoch's high byte is in the field of the state, which earlier versions and beanstalkd
  // ignore here.
  if (signature.epoch != 0) block[kStateAt] = static_cast<char>(1 + signature.epoch / kRunsEnd);
  // The run is in the field of the record number.
  seal_header(
      to, 0,
      Position{seed_of(signature.salt, signature.file_number), kVersionBytes, signature.run});
}

std::optional<Signature> read_signature(std::string_view bytes) {
  if (bytes.size() < kShortRecordBytes) return std::nullopt;
  Signature signature;
  const char* block = bytes.data() + kNameLengthBytes;
  signature.salt = load<std::uint64_t>(block + 16);
  signature.file_number = load<std::uint64_t>(block + 40);
  const Position position{seed_of(signature.salt, signature.file_number), kVersionBytes, 0};
  if (find_pseudo(bytes, kSignatureMark, position) == nullptr) return std::nullopt;
  signature.next_id = load<std::uint64_t>(block + 24);
  signature.oldest_needed = load<std::uint32_t>(block + 32);
  signature.previous_digest = load<std::uint32_t>(block + 36);
  signature.previous_bytes = load<std::uint64_t>(block + 48);
  signature.store_id = load<std::uint64_t>(block + 56);
  signature.previous_records = load<std::uint32_t>(block + 64);
  signature.records_lost = load<std::uint32_t>(block + 68);
  // The number is in the bytes of a job's last count, which earlier versions left zero.
  signature.previous_number = load<std::uint32_t>(block + 72);
  signature.run = load_u24(block + kNumberAt);
  const auto high = static_cast<std::uint8_t>(block[kStateAt]);
  if (high != 0) signature.epoch = (high - 1U) * kRunsEnd + signature.run;
  return signature;
}

bool looks_like_signature(std::string_view bytes) {
  if (bytes.size() < kShortRecordBytes) return false;
  const char* block = bytes.data() + kNameLengthBytes;
  return load<std::uint64_t>(block) == kPseudoId ||
         load<std::uint32_t>(block + 8) == kSignatureMark;
}

void write_seal(const Seal& seal, const Position& position, char* to) {
  char* block = begin_pseudo(to, kSealMark);
  store(block + 16, seal.bytes);
  store(block + 24, seal.records);
  store(block + 28, std::uint32_t{seal.clean_exit ? 1U : 0U});
  store(block + 32, seal.oldest_needed);
  store(block + 40, seal.file_number);
  if (seal.mark) store(block + kMarkAt, field_of(*seal.mark));
  store(block + 56, seal.store_id);
  seal_header(to, 0, position);
}

std::optional<Seal> read_seal(std::string_view bytes, const Position& position) {
  const char* block = find_pseudo(bytes, kSealMark, position);
  if (block == nullptr) return std::nullopt;
  return Seal{load<std::uint64_t>(block + 16),
              load<std::uint32_t>(block + 24),
              load<std::uint32_t>(block + 28) != 0,
              load<std::uint64_t>(block + 56),
              load<std::uint64_t>(block + 40),
              load<std::uint32_t>(block + 32),
              mark_in(load<std::uint64_t>(block + kMarkAt))};
}

std::optional<std::uint32_t> seed_by_seal(std::string_view bytes, std::uint64_t offset) {
  if (bytes.size() < kShortRecordBytes || load<std::uint32_t>(bytes.data()) != 0) {
    return std::nullopt;
  }
  const char* block = bytes.data() + kNameLengthBytes;
  const bool is_seal = load<std::uint64_t>(block) == kPseudoId &&
                       load<std::uint32_t>(block + 8) == kSealMark &&
                       load<std::uint64_t>(block + 16) == offset;
  if (!is_seal) return std::nullopt;
  return seed_by_sum(load<std::uint32_t>(block + kHeaderCrcAt), bytes.data(), 0, offset);
}

Record needed_from(std::uint64_t file_number) {
  Record record;
  record.id = kPseudoId;
  record.priority = kNeedMark;
  record.delay_ns = static_cast<std::int64_t>(file_number);
  record.state = RecordState::deleted;
  return record;
}

std::optional<std::uint64_t> needed_from(const Record& record) {
  const bool is_one = !record.is_full() && record.id == kPseudoId && record.priority == kNeedMark;
  if (!is_one) return std::nullopt;
  return static_cast<std::uint64_t>(record.delay_ns);
}

}  // namespace haricot::binlog
