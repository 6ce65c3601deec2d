// The body of one large job on its way to the disk.
//
// It is written slice by slice to a file that no server reads. When all of it is there, the file is
// begun, with the record of the job as its first one. So the folder has the record whole or not at
// all, other records do not wait behind it, and no turn writes all of it.
//
// One body at a time. The file of a body that nobody needs any more is cut off slice by slice and
// removed: removing a large file at once takes long, too.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "haricot/base/blob.hpp"
#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/format/file_name.hpp"
#include "haricot/binlog/write/sync_line.hpp"

namespace haricot::binlog {

class LargeBody {
 public:
  enum class State : std::uint8_t {
    none,
    writing,
    whole,    // All of it is written, and the file has its space.
    failed,   // See status() and why(). The file is still there.
    leaving,  // The file is being cut off.
  };

  // The file is called spare_name() of this number, which no spare has.
  static constexpr std::uint64_t kNumber = kFileNumberMax;
  // A sync is begun whenever this many slices were written, and the one before has to have ended:
  // so the disk never has more than twice as many to write, and syncs of others come in between.
  static constexpr std::uint64_t kSlicesPerSync = 32;

  // Disk and line outlive this. `slice_bytes`: what one go_on() writes. `has_syncs`: the line is
  // used.
  LargeBody(Disk& disk, SyncLine& syncs, std::uint64_t slice_bytes, bool has_syncs)
      : disk_(disk), syncs_(syncs), slice_bytes_(slice_bytes), has_syncs_(has_syncs) {}
  LargeBody(const LargeBody&) = delete;
  LargeBody& operator=(const LargeBody&) = delete;

  State state() const { return state_; }
  // Whether it is that very body, after a tube's name of that length. False in state leaving.
  bool is_for(const BlobRef& body, std::size_t lead_bytes) const;
  // Whether anybody else has the body. Requires: state writing, whole or failed.
  bool is_needed() const { return body_.owners() > 1; }
  // Of the file.
  FileHandle file() const { return file_; }
  std::uint64_t allocated() const { return allocated_; }
  // crc32c() of the body. Requires: state whole.
  std::uint32_t sum() const { return sum_; }
  // Requires: state failed.
  DiskStatus status() const { return status_; }
  const std::string& why() const { return why_; }

  // Makes the file and writes nothing yet. It will have what the record needs with the end of a
  // file, and after that some room for others: up to `file_bytes`, 16 slices, and what the disk
  // has. On anything but ok nothing has changed, and why() says why. Requires: state none.
  [[nodiscard]] DiskStatus begin(const BlobRef& body, std::size_t lead_bytes,
                                 std::uint64_t file_bytes);
  // Whether go_on() has something to do before a sync has ended.
  bool has_work() const;
  // Writes the next slice, or cuts the next part off. Returns how many bytes of the body it wrote.
  std::uint64_t go_on();
  // The file is the caller's, who has renamed it. Requires: state whole.
  void let_go();
  // Nobody needs it any more. In state none and leaving it does nothing.
  void drop();
  // The file may stand under another name by now, where somebody else reads it: only what is here
  // of it goes. Requires: state leaving.
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
  std::uint64_t needed_ = 0;  // The least that the file has to have.
  std::uint64_t wanted_ = 0;
  std::uint64_t allocated_ = 0;
  std::uint64_t done_ = 0;  // Of the body.
  std::uint32_t sum_ = 0;   // Of what is done.
  std::uint64_t unsynced_ = 0;
  std::uint64_t sync_mark_ = 0;
  std::string why_;
};

}  // namespace haricot::binlog
