// Folders of binlog files with known contents: the record of each byte, the jobs that the records
// define, and the highest id that was assigned.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/binlog/format/record.hpp"
#include "support/job_history.hpp"
#include "support/sim_disk.hpp"

namespace haricot::damage {

using binlog::KnownJob;
using binlog::SimDisk;

// The files of a folder: name to bytes.
using Image = std::map<std::string, std::string>;

enum class Writer : std::uint8_t { haricot, beanstalkd_v7, beanstalkd_v5 };

struct ModelJob {
  KnownJob known;
  std::string body;

  bool operator==(const ModelJob&) const = default;
};
using Jobs = std::map<JobId, ModelJob>;

// The smallest part of a file that the reader accepts or rejects as a whole.
struct Piece {
  enum class Kind : std::uint8_t { version, signature, full, change, pseudo, seal };

  Kind kind = Kind::version;
  std::size_t offset = 0;
  std::size_t head_bytes = 0;  // Bytes before the body.
  std::size_t bytes = 0;
  JobId id = 0;
  binlog::RecordState state = binlog::RecordState::ready;
  // The job after the record. Only a full record sets tube, body and length.
  ModelJob job = {};
  bool ends_a_run = false;  // For a seal: the server was stopped after it.
  // The bytes that the server knew to be durable when it wrote the record or the seal.
  std::optional<binlog::Mark> mark = {};

  bool is_record() const { return kind == Kind::full || kind == Kind::change; }
  std::size_t end() const { return offset + bytes; }
};

struct KnownFile {
  std::uint64_t number = 0;
  Writer writer = Writer::haricot;
  std::string bytes;
  std::vector<Piece> pieces;
  std::uint32_t run = 0;  // The run of the server that has begun the file. 0: beanstalkd.

  bool has_records() const;
  // Returns the bits of a byte whose change is a separate case. A byte of a body enters only the
  // checksum, so one bit is enough, which differs from byte to byte.
  std::vector<unsigned> bits_of_interest(std::size_t offset) const;
  // Returns true if the file ends with the seal of a server that then began the next file.
  bool is_followed() const;
};

struct KnownFolder {
  std::string name;
  std::vector<KnownFile> files;  // In order of their numbers.
  Image others;                  // Files with other names than `binlog.N`.
  binlog::FolderNote note;       // The note of its last server.
  JobId highest_id = 0;          // The highest id that was assigned.
  std::int64_t wall = 0;         // A time right after the last record.

  const KnownFile& file(std::uint64_t number) const;
  std::uint64_t last_number() const { return files.back().number; }
};

// Parses a sound folder. Ends the program if a byte is neither zero nor in a record.
KnownFolder know(std::string name, const Image& image, JobId highest_id);

// Convert between an image and a simulated disk.
Image image_of(const SimDisk& disk);
void put_all(const Image& image, SimDisk& disk);

}  // namespace haricot::damage
