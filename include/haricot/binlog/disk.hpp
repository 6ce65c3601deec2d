// Interface to the binlog's folder and the files in it.
//
// This is one of the two interfaces with virtual functions. The real disk is in src/os. Simulated
// disks are in the tests, where any call can fail and a crash can come at any time. Names are names
// of files in the one folder.
//
// A call blocks for long only if its comment says so. In a running server, long operations go
// through start_sync() and start_remove(), which return at once. A call fails if is_file_name()
// rejects its name, or if the folder uses that name for a file of its own.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/blob.hpp"
#include "haricot/binlog/folder_note.hpp"

namespace haricot::binlog {

enum class DiskStatus : std::uint8_t {
  ok,
  full,     // No space, or a limit of the file's size: a later try may succeed.
  missing,  // Returned by a read: no file has that name, even if list() returned it.
  failed,   // Anything else.
};

// An open file.
enum class FileHandle : std::int32_t { none = -1 };

// Result of one sync or removal.
struct SyncDone {
  std::uint64_t ticket = 0;
  DiskStatus status = DiskStatus::ok;   // Result of the sync.
  DiskStatus removal = DiskStatus::ok;  // Result of the removal; unless ok, no sync was tried.
};

// Space of the file system under the folder.
struct DiskSpace {
  std::uint64_t free_bytes = 0;  // Bytes that this process may still allocate.
  std::uint64_t total_bytes = 0;
};

// Result of looking an open file up by its path, as a server that starts would.
enum class Presence : std::uint8_t {
  there,        // Also if the look-up fails for another reason.
  file_gone,    // The folder exists; the name is unused or leads to another file.
  lock_gone,    // The file exists, and the lock of the folder does not.
  folder_gone,  // The path of the folder leads nowhere or to another folder.
};

// Length of a file, and its first and last bytes; they overlap in a short file.
struct FileEnds {
  static constexpr std::size_t kBytesMax = 512;

  std::uint64_t file_bytes = 0;
  std::string front;
  std::string back;
};

// Buffer for the bytes of a whole file. The next file reuses the memory, because the kernel zeroes
// and maps new memory first, which takes as long as reading.
class FileBytes {
 public:
  // Makes room for that many bytes, which are undefined; views of earlier bytes become invalid.
  // Returns false if there is no memory; then the buffer is empty.
  [[nodiscard]] bool resize(std::size_t bytes) {
    size_ = 0;
    if (!memory_ || memory_.size() < bytes) {
      memory_ = {};
      memory_ = BlobRef::allocate(bytes);
      if (!memory_) return false;
      is_new_ = true;
    } else {
      is_new_ = false;
    }
    size_ = bytes;
    return true;
  }
  // Returns true if the last resize() allocated new memory.
  bool is_new() const { return is_new_; }

  // Requires: resize() returned true.
  char* data() { return memory_.data(); }
  std::size_t size() const { return size_; }
  std::string_view view() const {
    return size_ == 0 ? std::string_view() : memory_.view().substr(0, size_);
  }

 private:
  BlobRef memory_;
  std::size_t size_ = 0;
  bool is_new_ = false;
};

// Returns true if a file in the folder may have that name: it must not lead out of the folder.
constexpr bool is_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

class Disk {
 public:
  // Maximum number of syncs and removals under way: started and not yet taken out.
  static constexpr std::size_t kSyncsUnderWayMax = 64;

  Disk() = default;
  virtual ~Disk() = default;
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  // Returns the names of all files in the folder, in any order.
  [[nodiscard]] virtual DiskStatus list(std::vector<std::string>& names) = 0;
  // Reads a whole file in large pieces. Blocks. Unless ok, the bytes are undefined.
  [[nodiscard]] virtual DiskStatus read(const std::string& name, FileBytes& bytes) = 0;
  // Announces that the file will be read soon, so that its bytes can be fetched ahead. Does not
  // block.
  virtual void read_ahead(const std::string& name) { (void)name; }
  // Reads the first and last bytes of a file. Blocks. Unless ok, `ends` is undefined.
  [[nodiscard]] virtual DiskStatus read_ends(const std::string& name, FileEnds& ends) = 0;

  // Creates a file and opens it for writing. Truncates an existing file of that name.
  [[nodiscard]] virtual DiskStatus create(const std::string& name, FileHandle& file) = 0;
  // Opens an existing file for writing and keeps its bytes.
  [[nodiscard]] virtual DiskStatus open_existing(const std::string& name, FileHandle& file) = 0;
  // Preallocates space for the file up to that length, so that a write there cannot fail for lack
  // of space. Extends the file to that length; unwritten bytes read as zeros.
  [[nodiscard]] virtual DiskStatus allocate(FileHandle file, std::uint64_t bytes) = 0;
  // Writes all pieces in sequence at that offset. Unless ok, some bytes may be written.
  [[nodiscard]] virtual DiskStatus write(FileHandle file, std::uint64_t offset,
                                         std::span<const std::string_view> pieces) = 0;
  // Truncates the file to that length.
  [[nodiscard]] virtual DiskStatus truncate(FileHandle file, std::uint64_t bytes) = 0;
  // Requires: no sync of this file is under way.
  virtual void close(FileHandle file) = 0;

  [[nodiscard]] virtual DiskStatus rename(const std::string& from, const std::string& to) = 0;
  // Blocks for long if much was written to the file.
  [[nodiscard]] virtual DiskStatus remove(const std::string& name) = 0;

  // Makes all written bytes of the file durable. Blocks. Unless ok (also on full), everything
  // written since the last good sync is in doubt for good: a later sync of the same file may return
  // ok without having written it.
  [[nodiscard]] virtual DiskStatus sync(FileHandle file) = 0;
  // Syncs a file that is not open, whichever process wrote it. Blocks.
  [[nodiscard]] virtual DiskStatus sync_file(const std::string& name) = 0;
  // Makes the names in the folder durable: files created, renamed and removed. Blocks.
  [[nodiscard]] virtual DiskStatus sync_folder() = 0;

  // Starts to sync a file (FileHandle::none: the folder) in the background. Covers everything
  // written before the call. Syncs end in the order in which they were started. The caller keeps
  // the file open until it has taken out the result. Requires: fewer than kSyncsUnderWayMax are
  // under way.
  virtual void start_sync(FileHandle file, std::uint64_t ticket) = 0;
  // Starts to remove a file and, if `sync`, to sync the folder after that, in the background. Ends
  // in order with the syncs and counts as one. Requires: is_file_name(), at most 63 bytes, not the
  // name of the lock.
  virtual void start_remove(const std::string& name, bool sync, std::uint64_t ticket) = 0;
  // Writes the note of the folder, which is stored apart from the files of the binlog. Does not
  // wait for the disk, allocates no memory and, if a note exists, no space. If the write fails,
  // there is no note, or an older one of the same run. A removal that is started later waits until
  // the note is durable.
  virtual void write_note(const FolderNote& note) = 0;
  // Tries to make the note durable. Blocks.
  virtual void sync_note() = 0;

  // Takes out the result of a sync or removal that has ended; false if there is none.
  [[nodiscard]] virtual bool next_sync_done(SyncDone& done) = 0;
  // Blocks until a sync or removal has ended, so a turn must not call it. Requires: one was started
  // and not taken out.
  virtual void wait_for_sync() = 0;

  // Looks the file up by the folder's path, as a server that starts would. FileHandle::none accepts
  // any file of that name. Usually takes one system call. Unless there, last_error() says what is
  // missing.
  [[nodiscard]] virtual Presence look_for(FileHandle file, const std::string& name) = 0;
  // Opens the folder that the path leads to now, and locks it against other servers. Sets `is_new`
  // if it is another folder than before and has no file of a binlog. Never creates a folder. Unless
  // ok, nothing has changed, and last_error() says why.
  [[nodiscard]] virtual DiskStatus return_to_folder(bool& is_new) = 0;

  // Returns the space of the file system; false if it is unknown. A hint: a quota may leave less,
  // and other processes use and release space at any time.
  [[nodiscard]] virtual bool space(DiskSpace& space) const = 0;

  // Returns the reason of the last failure, of a call or of a sync that was taken out, for the log.
  [[nodiscard]] virtual std::string last_error() const = 0;
};

}  // namespace haricot::binlog
