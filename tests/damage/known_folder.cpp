#include "known_folder.hpp"

#include <algorithm>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/little_endian.hpp"
#include "haricot/binlog/format/burial_stamp.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/format/job_record.hpp"
#include "haricot/binlog/read/replay.hpp"

namespace haricot::damage {
namespace {

using binlog::kShortRecordBytes;
using binlog::kVersionBytes;
using binlog::Record;
using binlog::RecordState;

constexpr std::uint64_t kPseudo = ~std::uint64_t{0};
constexpr std::uint32_t kSignatureMark = 0x31474953;  // "SIG1"
constexpr std::uint32_t kSealMark = 0x4c414553;       // "SEAL"

JobState job_state(RecordState state) {
  if (state == RecordState::buried) return JobState::buried;
  return state == RecordState::delayed ? JobState::delayed : JobState::ready;
}

ModelJob job_of(const Record& record, Writer writer) {
  const auto restored = binlog::restored_from(record, Duration::nanoseconds(0));
  ModelJob job;
  job.known.priority = record.priority;
  job.known.delay_s = restored.delay_s;
  job.known.ttr_s = restored.ttr_s;
  job.known.created_at = record.created_at;
  job.known.state = job_state(record.state);
  if (job.known.state == JobState::delayed) job.known.deadline_at = record.deadline_at;
  if (job.known.state == JobState::buried && writer == Writer::haricot) {
    const auto burial = binlog::burial_of(record.id, record.deadline_at);
    if (burial) job.known.burial_cause = burial->cause;
  }
  std::copy(record.counts.begin(), record.counts.end(), job.known.counts.begin());
  if (!record.is_full()) return job;
  job.known.tube = record.tube_name;
  job.known.body_bytes = record.body_bytes - 2;
  job.body = record.body.substr(0, record.body.size() - 2);
  return job;
}

Piece pseudo_piece(std::string_view rest, std::size_t offset, std::uint32_t seed) {
  const char* block = rest.data() + binlog::kNameLengthBytes;
  Piece piece{.offset = offset, .head_bytes = kShortRecordBytes, .bytes = kShortRecordBytes};
  const auto mark = load_little_endian<std::uint32_t>(block + 8);
  piece.kind = mark == kSignatureMark ? Piece::Kind::signature
               : mark == kSealMark    ? Piece::Kind::seal
                                      : Piece::Kind::pseudo;
  if (const auto seal = binlog::read_seal(rest, {seed, offset, 0})) {
    piece.ends_a_run = seal->clean_exit;
    piece.mark = seal->mark;
  }
  return piece;
}

Piece record_piece(const Record& record, Writer writer, std::size_t offset,
                   std::size_t head_bytes) {
  Piece piece{.kind = record.is_full() ? Piece::Kind::full : Piece::Kind::change,
              .offset = offset,
              .head_bytes = head_bytes,
              .bytes = head_bytes + record.body.size()};
  piece.id = record.id;
  piece.state = record.state;
  piece.job = job_of(record, writer);
  piece.mark = binlog::mark_of(record);
  // The record keeps an id and is no job.
  if (binlog::is_marker(record)) piece.kind = Piece::Kind::pseudo;
  return piece;
}

void take_apart(KnownFile& file) {
  const std::string_view bytes = file.bytes;
  if (bytes.find_first_not_of('\0') == std::string_view::npos) return;
  const auto version = load_little_endian<std::uint32_t>(bytes.data());
  const bool is_v5 = version == binlog::kVersionOfBeanstalkd14;
  CHECK(is_v5 || version == binlog::kVersion);
  file.writer = is_v5 ? Writer::beanstalkd_v5 : Writer::beanstalkd_v7;
  file.pieces.push_back({.head_bytes = kVersionBytes, .bytes = kVersionBytes});
  std::uint32_t seed = 0;
  if (const auto signature = binlog::read_signature(bytes.substr(kVersionBytes))) {
    file.writer = Writer::haricot;
    file.run = signature->run;
    seed = binlog::seed_of(signature->salt, signature->file_number);
  }
  std::size_t at = kVersionBytes;
  while (bytes.find_first_not_of('\0', at) != std::string_view::npos) {
    const std::string_view rest = bytes.substr(at);
    std::size_t head_bytes = 0;
    const auto parsed =
        is_v5 ? binlog::parse_record_v5(rest, head_bytes) : binlog::parse_record(rest);
    CHECK(parsed && parsed->body_is_there);
    if (!is_v5) head_bytes = binlog::header_bytes(parsed->record.tube_name.size());
    const bool is_pseudo = parsed->record.id == kPseudo;
    file.pieces.push_back(is_pseudo ? pseudo_piece(rest, at, seed)
                                    : record_piece(parsed->record, file.writer, at, head_bytes));
    at = file.pieces.back().end();
  }
}

}  // namespace

bool KnownFile::has_records() const {
  return std::any_of(pieces.begin(), pieces.end(), [](const Piece& p) { return p.is_record(); });
}

std::vector<unsigned> KnownFile::bits_of_interest(std::size_t offset) const {
  const bool is_in_body = std::any_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
    return offset >= piece.offset + piece.head_bytes && offset < piece.end();
  });
  if (is_in_body) return {static_cast<unsigned>(offset % 8)};
  return {0, 1, 2, 3, 4, 5, 6, 7};
}

bool KnownFile::is_followed() const {
  return !pieces.empty() && pieces.back().kind == Piece::Kind::seal && !pieces.back().ends_a_run;
}

const KnownFile& KnownFolder::file(std::uint64_t number) const {
  const auto found = std::find_if(files.begin(), files.end(),
                                  [number](const KnownFile& f) { return f.number == number; });
  CHECK(found != files.end());
  return *found;
}

KnownFolder know(std::string name, const Image& image, JobId highest_id) {
  KnownFolder folder;
  folder.name = std::move(name);
  folder.highest_id = highest_id;
  for (const auto& [file_name, bytes] : image) {
    const auto number = binlog::binlog_file_number(file_name);
    if (!number) {
      folder.others[file_name] = bytes;
      continue;
    }
    KnownFile file{.number = *number, .bytes = bytes, .pieces = {}};
    take_apart(file);
    for (const Piece& piece : file.pieces) {
      if (!piece.is_record()) continue;
      folder.wall = std::max(folder.wall, piece.job.known.created_at);
    }
    folder.files.push_back(std::move(file));
  }
  std::sort(folder.files.begin(), folder.files.end(),
            [](const KnownFile& a, const KnownFile& b) { return a.number < b.number; });
  folder.wall += 1'000'000'000;
  return folder;
}

Image image_of(const SimDisk& disk) {
  // list() is not const, because the disk counts its calls.
  std::vector<std::string> names;
  CHECK(const_cast<SimDisk&>(disk).list(names) == binlog::DiskStatus::ok);
  Image image;
  for (const std::string& name : names) image[name] = disk.bytes_of(name);
  return image;
}

void put_all(const Image& image, SimDisk& disk) {
  for (const auto& [name, bytes] : image) disk.put(name, bytes);
}

}  // namespace haricot::damage
