// Writes records to one file of the binlog: collects their bytes, and writes all of them with one
// call. Memory is allocated before a record is made.

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

// Position in a file.
struct WrittenPoint {
  std::uint64_t bytes = 0;
  std::uint32_t records = 0;
  std::uint32_t digest = 0;
};

// First record of a file whose body, with its CR LF, is in the file already. The records of the
// job's tags and facts come in front of it.
struct RecordAroundBody {
  const Record& record;
  std::string_view tags;
  std::string_view facts;  // Text; empty: none.
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
  // Room that every file keeps: for the seal, and for two records about needed files.
  static constexpr std::uint64_t kEndBytes = 3 * kShortRecordBytes;
  // Bytes after a body.
  static constexpr std::string_view kTrailer = "\r\n";
  // Size from which a body is written from its own memory instead of being copied.
  static constexpr std::size_t kBlobBytesMin = 4096;

  bool is_open() const { return file_ != FileHandle::none; }
  FileHandle file() const { return file_; }
  std::uint64_t number() const { return number_; }
  std::uint64_t allocated() const { return allocated_; }

  // Writes version and signature to an open file, which belongs to this writer from then on, and
  // the header of the first record if its body is there already. Unless ok, nothing has changed.
  // Requires: no file is open.
  [[nodiscard]] DiskStatus begin(Disk& disk, FileHandle file, const Signature& signature,
                                 std::uint64_t allocated, const RecordAroundBody* first = nullptr);
  // Continues a file that is durable up to its end, and owns it from then on. Requires: none is
  // open, and the file has a signature.
  void resume(const ContinuedFile& file);
  // Releases the file, and drops records that were collected and not written.
  FileHandle abandon();
  // take_ending() releases the file and returns its ending. When the next file is begun, seal()
  // writes the seal and truncates the space allocated after it. `oldest_needed`: the oldest needed
  // file of the folder. Requires for take_ending(): a file is open, nothing is collected.
  struct Ending {
    FileHandle file = FileHandle::none;
    WrittenPoint end;
    std::array<char, kShortRecordBytes> seal{};
  };
  Ending take_ending(bool clean_exit, std::uint64_t oldest_needed);
  [[nodiscard]] static DiskStatus seal(Disk& disk, const Ending& ending);

  // Sets the durable part: all files before, and that many bytes of the open file. Initially
  // nothing is known to be durable.
  void set_durable(std::uint64_t bytes) {
    mark_.has_durable_past = true;
    mark_.durable_bytes = bytes;
  }

  // Returns the bytes of records that the file still takes.
  std::uint64_t room() const;

  // Allocates memory for a record of that size, with that many bytes in front of its block (see
  // lead_bytes()). Returns false if there is none.
  [[nodiscard]] bool prepare(std::size_t lead_bytes, std::size_t body_bytes);
  // Allocates memory for that many short records.
  [[nodiscard]] bool prepare_short(std::uint32_t records);
  // Collects a record. The body is `blob` if set, else `body`; both are without CR LF, and only for
  // full records. Requires: memory was prepared, and the file has room.
  void add(const Record& record, std::string_view body, const BlobRef& blob);
  // Collects a record of text, which belongs to the next record of another kind.
  void add_text(const Record& record);
  // Returns true if a short record fits into the room that every file keeps.
  bool has_room_kept() const {
    return is_open() && kept_used_ + 2 * kShortRecordBytes <= kEndBytes;
  }
  // Collects a record there. Requires: has_room_kept(), and memory was prepared.
  void add_to_room_kept(const Record& record);
  // Returns the number of collected bytes.
  std::uint64_t collected_bytes() const { return pending_.size() + pending_blob_bytes_; }
  // Writes the collected records. Unless ok, the caller must abandon the file: bytes after
  // written() are undefined.
  //
  // For policies that sync each flush, zeros follow the records, once for each kZeroedBytes: a file
  // system records where space is written for the first time, so a sync of ext4 takes 130 us there,
  // and 80 us in space that was written before (20 KB each, NVMe). No byte of the file changes.
  enum class Ahead : std::uint8_t { nothing, zeros };
  [[nodiscard]] DiskStatus flush(Disk& disk, Ahead ahead = Ahead::nothing);
  // A larger value makes the one sync longer that has to write the zeros.
  static constexpr std::uint64_t kZeroedBytes = 256 * 1024;

  // Returns the position up to which the file is written.
  const WrittenPoint& written() const { return written_; }

 private:
  struct PlacedBlob {
    std::size_t at;  // Offset in pending_ of the byte that follows the body.
    BlobRef blob;
  };

  std::size_t add_first(const RecordAroundBody& first, char* to);
  void count(const char* header, std::size_t name_bytes, std::uint32_t body_sum);
  void forget_collected();
  DiskStatus write_with_zeros(Disk& disk, std::string_view bytes);

  FileHandle file_ = FileHandle::none;
  std::uint64_t number_ = 0;
  std::uint64_t store_id_ = 0;
  std::uint32_t seed_ = 0;
  std::uint64_t kept_used_ = 0;  // Used bytes of kEndBytes.
  std::uint64_t allocated_ = 0;
  std::uint64_t zeroed_until_ = 0;  // Offset in the file up to which zeros, at least, were written.
  WrittenPoint written_;
  WrittenPoint collected_;  // Value of written_ after the next flush().
  Mark mark_;               // Mark of the next record.
  ByteBuffer pending_;
  std::vector<PlacedBlob> blobs_;
  std::uint64_t pending_blob_bytes_ = 0;
  std::vector<std::string_view> pieces_;  // Pieces of a flush; has capacity for all.
};

}  // namespace haricot::binlog
