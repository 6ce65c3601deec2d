// The body of one large job on its way to the disk.
//
// It is written slice by slice to a file that no server reads. When it is complete, the file is
// begun, with the record of the job as the first one. So the folder has the record whole or not at
// all, other records do not wait behind it, and no turn writes all of it.
//
// There is one body at a time. The file of a body that is not needed any more is truncated slice by
// slice and removed, because removing a large file at once takes long, too.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "haricot/base/blob.hpp"
#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/write/sync_line.hpp"

namespace haricot::binlog {

class LargeBody {
 public:
  enum class State : std::uint8_t {
    none,
    writing,
    whole,    // All of it is written, and the file has its space.
    failed,   // See status() and why(). The file still exists.
    leaving,  // The file is being truncated.
  };

  // Number of the file's spare_name(), which no spare has.
  static constexpr std::uint64_t kNumber = kFileNumberMax;
  // Number of slices after which a sync is begun, when the sync before has ended. So the disk never
  // has more than twice as many slices to write, and other syncs run in between.
  static constexpr std::uint64_t kSlicesPerSync = 32;

  // Disk and line outlive this. `slice_bytes`: bytes that one advance() writes. `has_syncs`: the
  // line is used.
  LargeBody(Disk& disk, SyncLine& syncs, std::uint64_t slice_bytes, bool has_syncs)
      : disk_(disk), syncs_(syncs), slice_bytes_(slice_bytes), has_syncs_(has_syncs) {}
  LargeBody(const LargeBody&) = delete;
  LargeBody& operator=(const LargeBody&) = delete;

  State state() const { return state_; }
  // Returns true if this is that body, after a tube's name of that length. False in state leaving.
  bool is_for(const BlobRef& body, std::size_t lead_bytes) const;
  // Returns true if the body has another owner. Requires: state writing, whole or failed.
  bool is_needed() const { return body_.owners() > 1; }
  // Returns the file.
  FileHandle file() const { return file_; }
  std::uint64_t allocated() const { return allocated_; }
  // Returns crc32c() of the body. Requires: state whole.
  std::uint32_t sum() const { return sum_; }
  // Requires: state failed.
  DiskStatus status() const { return status_; }
  const std::string& why() const { return why_; }

  // Creates the file and writes nothing yet. The file gets space for the record, a note and the end
  // of a file, and some room for other records: up to `file_bytes`, 16 slices, and the free space
  // of the disk. Unless ok, nothing has changed, and why() says why. Requires: state none.
  [[nodiscard]] DiskStatus begin(const BlobRef& body, std::size_t lead_bytes,
                                 std::uint64_t file_bytes);
  // Returns true if advance() has work before a sync ends.
  bool has_work() const;
  // Writes the next slice, or truncates the next part. Returns the bytes of the body that it wrote.
  std::uint64_t advance();
  // Passes the file to the caller, which has renamed it. Requires: state whole.
  void release_file();
  // Begins to remove the file. Does nothing in states none and leaving.
  void drop();
  // Drops the state without removing the file, which may have another name by now and another
  // reader. Requires: state leaving.
  void leave_uncut();

 private:
  bool has_to_wait() const;
  DiskStatus take_space(std::uint64_t bytes);
  DiskStatus write_slice();
  void cut_off();
  DiskStatus remember_why(DiskStatus status) noexcept;

  Disk& disk_;
  SyncLine& syncs_;
  const std::uint64_t slice_bytes_;
  const bool has_syncs_;

  State state_ = State::none;
  DiskStatus status_ = DiskStatus::ok;
  BlobRef body_;
  std::size_t lead_bytes_ = 0;
  FileHandle file_ = FileHandle::none;
  std::uint64_t needed_ = 0;  // The least space that the file must have.
  std::uint64_t wanted_ = 0;
  std::uint64_t allocated_ = 0;
  std::uint64_t done_ = 0;  // Bytes of the body that are written.
  std::uint32_t sum_ = 0;   // Checksum of these bytes.
  std::uint64_t unsynced_ = 0;
  std::uint64_t sync_mark_ = 0;
  std::string why_;
};

}  // namespace haricot::binlog
