// Writes records into one file of the binlog: collects them as bytes, and writes all that were
// collected with one call. What can fail for want of memory is done before a record is made.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "haricot/base/blob.hpp"
#include "haricot/base/byte_buffer.hpp"
#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/format/record.hpp"

namespace haricot::binlog {

// How far a file has come.
struct WrittenPoint {
  std::uint64_t bytes = 0;
  std::uint32_t records = 0;
  std::uint32_t digest = 0;
};

// The first record of a file whose body stands in the file already, with its CR LF. The records of
// the job's tags come in front of it.
struct RecordAroundBody {
  const Record& record;
  std::string_view tags;
  std::uint32_t body_sum;  // crc32c() of the body without its CR LF.
};

// A file of an earlier server, to which more records are written.
struct ContinuedFile {
  FileHandle file = FileHandle::none;
  FileIdentity identity = {};
  std::uint64_t allocated = 0;
  WrittenPoint end;  // After it, the file has zeros.
};

class SegmentWriter {
 public:
  // Room that every file keeps: for the seal, and for two records of which files are needed.
  static constexpr std::uint64_t kEndBytes = 3 * kShortRecordBytes;
  // What stands behind a body.
  static constexpr std::string_view kTrailer = "\r\n";
  // A body from here on is written from where it is instead of being copied.
  static constexpr std::size_t kBlobBytesMin = 4096;

  bool is_open() const { return file_ != FileHandle::none; }
  FileHandle file() const { return file_; }
  std::uint64_t number() const { return number_; }
  std::uint64_t allocated() const { return allocated_; }

  // Writes version and signature to an open file, which is this writer's then; and the header of
  // the first record, if its body is there already. Requires: none is open. On anything but ok
  // nothing has changed.
  [[nodiscard]] DiskStatus begin(Disk& disk, FileHandle file, const Signature& signature,
                                 std::uint64_t allocated, const RecordAroundBody* first = nullptr);
  // Writes on to a file that is durable up to its end, which is this writer's then. Requires: none
  // is open, and the file has a signature.
  void resume(const ContinuedFile& file);
  // Lets go of the file, and of what was collected and not written.
  FileHandle abandon();
  // Ends the file: lets go of it, and afterwards, when the next one is begun, writes the seal and
  // cuts off what was allocated after it. Requires for the first: a file is open, nothing is
  // collected. `oldest_needed`: the oldest file of the folder.
  struct Ending {
    FileHandle file = FileHandle::none;
    WrittenPoint end;
    std::array<char, kShortRecordBytes> seal{};
  };
  Ending take_ending(bool clean_exit, std::uint64_t oldest_needed);
  [[nodiscard]] static DiskStatus seal(Disk& disk, const Ending& ending);

  // What is durable from now on: all files before, and so many bytes of the one that is open. At
  // first nothing is known to be.
  void set_durable(std::uint64_t bytes) {
    mark_.has_durable_past = true;
    mark_.durable_bytes = bytes;
  }

  // How many more bytes of records the file takes.
  std::uint64_t room() const;

  // Gets memory for a record of that size, with so many bytes in front of its block (see
  // lead_bytes()). False: there is none.
  [[nodiscard]] bool prepare(std::size_t lead_bytes, std::size_t body_bytes);
  // The same for so many short records.
  [[nodiscard]] bool prepare_short(std::uint32_t records);
  // Collects a record. `blob`, if there is one, is the body, else `body` is; both without CR LF,
  // and only for full records. Requires: memory was prepared, and the file has room.
  void add(const Record& record, std::string_view body, const BlobRef& blob);
  // The same for a record of text that belongs to the next one that is none.
  void add_text(const Record& record);
  // Whether a short record fits that needs no room of others; and collects it. Requires for the
  // second: it fits, and memory was prepared.
  bool has_room_kept() const {
    return is_open() && kept_used_ + 2 * kShortRecordBytes <= kEndBytes;
  }
  void add_to_room_kept(const Record& record);
  // The bytes that are collected.
  std::uint64_t collected_bytes() const { return pending_.size() + pending_blob_bytes_; }
  // Writes them. On anything but ok the file has to be abandoned: what is after written() is
  // undefined.
  //
  // With zeros after them, once for each kZeroedBytes, for those who sync each flush: a file system
  // notes it where space is written for the first time, and so takes 130 us for a sync of ext4 that
  // takes 80 us of space that was written before (20 KB each, NVMe). No byte of the file changes.
  enum class Ahead : std::uint8_t { nothing, zeros };
  [[nodiscard]] DiskStatus flush(Disk& disk, Ahead ahead = Ahead::nothing);
  // The more it is, the longer takes the one sync that has to write it.
  static constexpr std::uint64_t kZeroedBytes = 256 * 1024;

  // How far the file is written.
  const WrittenPoint& written() const { return written_; }

 private:
  struct PlacedBlob {
    std::size_t at;  // In pending_: the body comes in front of that byte.
    BlobRef blob;
  };

  void add_first(const RecordAroundBody& first, char* to);
  void count(const char* header, std::size_t name_bytes, std::uint32_t body_sum);
  void forget_collected();
  DiskStatus write_with_zeros(Disk& disk, std::string_view bytes);

  FileHandle file_ = FileHandle::none;
  std::uint64_t number_ = 0;
  std::uint64_t store_id_ = 0;
  std::uint32_t seed_ = 0;
  std::uint64_t kept_used_ = 0;  // Of kEndBytes.
  std::uint64_t allocated_ = 0;
  std::uint64_t zeroed_until_ = 0;  // Of the file: written with zeros at least.
  WrittenPoint written_;
  WrittenPoint collected_;  // What written_ will be after the next flush().
  Mark mark_;               // Of the next record.
  ByteBuffer pending_;
  std::vector<PlacedBlob> blobs_;
  std::uint64_t pending_blob_bytes_ = 0;
  std::vector<std::string_view> pieces_;  // Of a flush; has room for all.
};

}  // namespace haricot::binlog
