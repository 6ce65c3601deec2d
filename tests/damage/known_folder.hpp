// Folders of binlog files of which everything is known: which bytes are which record, which jobs
// follow from them, and which ids were ever given out.

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

// A part of a file that is one thing: hurt or whole, the reader has to judge it as one.
struct Piece {
  enum class Kind : std::uint8_t { version, signature, full, change, pseudo, seal };

  Kind kind = Kind::version;
  std::size_t offset = 0;
  std::size_t head_bytes = 0;  // All in front of the body.
  std::size_t bytes = 0;
  JobId id = 0;
  binlog::RecordState state = binlog::RecordState::ready;
  // What the record makes of its job. Tube, body and its length: only of a full record.
  ModelJob job = {};
  bool ends_a_run = false;  // A seal: the server was stopped after it.
  // What the server knew to be durable when it wrote the record or the seal.
  std::optional<binlog::Mark> mark = {};

  bool is_record() const { return kind == Kind::full || kind == Kind::change; }
  std::size_t end() const { return offset + bytes; }
};

struct KnownFile {
  std::uint64_t number = 0;
  Writer writer = Writer::haricot;
  std::string bytes;
  std::vector<Piece> pieces;
  std::uint32_t run = 0;  // Of the server that has begun it. 0: of beanstalkd.

  bool has_records() const;
  // The bits of one byte that lead to cases of their own. Nothing looks at the byte of a body but
  // the sum over all of them, so one bit says what the others would: another one for each byte.
  std::vector<unsigned> bits_of_interest(std::size_t offset) const;
  // Ends with the seal of a server that then began the next file.
  bool is_followed() const;
};

struct KnownFolder {
  std::string name;
  std::vector<KnownFile> files;  // In order of their numbers.
  Image others;                  // Files that are not `binlog.N`.
  binlog::FolderNote note;       // What its last server has noted outside of its files.
  JobId highest_id = 0;          // The highest that was ever given out.
  std::int64_t wall = 0;         // A time right after the last record was written.

  const KnownFile& file(std::uint64_t number) const;
  std::uint64_t last_number() const { return files.back().number; }
};

// Takes a sound folder apart. Ends the program if any byte of it is neither a record nor zero.
KnownFolder know(std::string name, const Image& image, JobId highest_id);

// What an image and a simulated disk have to do with each other.
Image image_of(const SimDisk& disk);
void put_all(const Image& image, SimDisk& disk);

}  // namespace haricot::damage
