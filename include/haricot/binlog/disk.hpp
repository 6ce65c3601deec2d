// The folder under the binlog, as the binlog sees it.
//
// This is one of the two interfaces with virtual functions. The real disk is in src/os. Simulated
// disks are in the tests, where any call can fail and a crash can come at any time. Names are those
// of files in the one folder.
//
// A call blocks for long only if its comment says so. In the running server, what may take long
// goes through start_sync() and start_remove(), which return at once. A call fails if
// is_file_name() refuses its name, or if the folder keeps a file of that name for itself.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/binlog/format/file_bytes.hpp"
#include "haricot/binlog/format/folder_note.hpp"

namespace haricot::binlog {

enum class DiskStatus : std::uint8_t {
  ok,
  full,     // No space, or a limit of the file's size: it may be better later.
  missing,  // Of a read: there is no file of that name, whatever list() says.
  failed,   // Anything else.
};

// An open file.
enum class FileHandle : std::int32_t { none = -1 };

// One sync or removal that was asked for, and how it ended.
struct SyncDone {
  std::uint64_t ticket = 0;
  DiskStatus status = DiskStatus::ok;   // Of the sync.
  DiskStatus removal = DiskStatus::ok;  // Of the removal; on anything but ok no sync was tried.
};

// What the file system under the folder has.
struct DiskSpace {
  std::uint64_t free_bytes = 0;  // What this process may still take.
  std::uint64_t total_bytes = 0;
};

// Whether a server that starts now would find an open file.
enum class Presence : std::uint8_t {
  there,        // Or it cannot be found out.
  file_gone,    // The folder is there. Under that name it has nothing, or another file.
  lock_gone,    // The file is there, and the lock of the folder is not.
  folder_gone,  // The path of the folder leads to nothing, or to another folder.
};

// The length of a file, and what stands at its begin and at its end: all of a short one.
struct FileEnds {
  static constexpr std::size_t kBytesMax = 512;

  std::uint64_t file_bytes = 0;
  std::string front;
  std::string back;
};

// Whether a file in the folder may have that name: it must not lead out of it.
constexpr bool is_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

class Disk {
 public:
  // How many syncs and removals may be under way: started, and not yet taken out.
  static constexpr std::size_t kSyncsUnderWayMax = 64;

  Disk() = default;
  virtual ~Disk() = default;
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  // The names of all files in the folder, in any order.
  [[nodiscard]] virtual DiskStatus list(std::vector<std::string>& names) = 0;
  // A whole file, read in large pieces. Blocks. On anything but ok the bytes are undefined.
  [[nodiscard]] virtual DiskStatus read(const std::string& name, FileBytes& bytes) = 0;
  // A hint: that file is the next to be read, when some time has passed. Its bytes may come from
  // the disk meanwhile. Does not wait for them.
  virtual void read_ahead(const std::string& name) { (void)name; }
  // The ends of a file. The same as read().
  [[nodiscard]] virtual DiskStatus read_ends(const std::string& name, FileEnds& ends) = 0;

  // Makes a file and opens it for writing; one of that name that is there already is emptied.
  [[nodiscard]] virtual DiskStatus create(const std::string& name, FileHandle& file) = 0;
  // Opens a file for writing that is there, and leaves its bytes as they are.
  [[nodiscard]] virtual DiskStatus open_existing(const std::string& name, FileHandle& file) = 0;
  // Takes space for the file up to that length, so that writing there does not find the disk full.
  // Its length is then at least that; what was not written reads as zeros.
  [[nodiscard]] virtual DiskStatus allocate(FileHandle file, std::uint64_t bytes) = 0;
  // Writes all pieces, one after the other, from that offset on: all or, on anything but ok, some.
  [[nodiscard]] virtual DiskStatus write(FileHandle file, std::uint64_t offset,
                                         std::span<const std::string_view> pieces) = 0;
  // Cuts the file off.
  [[nodiscard]] virtual DiskStatus truncate(FileHandle file, std::uint64_t bytes) = 0;
  // Requires: no sync of this file is under way.
  virtual void close(FileHandle file) = 0;

  [[nodiscard]] virtual DiskStatus rename(const std::string& from, const std::string& to) = 0;
  // May take long if much was written to the file.
  [[nodiscard]] virtual DiskStatus remove(const std::string& name) = 0;

  // Makes sure that what was written to the file survives a loss of power. Blocks. On anything but
  // ok, also on full, what was written since the last good sync is in doubt for good: a later sync
  // of the same file may say ok without it.
  [[nodiscard]] virtual DiskStatus sync(FileHandle file) = 0;
  // The same for a file that is not open, whoever wrote it.
  [[nodiscard]] virtual DiskStatus sync_file(const std::string& name) = 0;
  // The same for the names in the folder: what was created, renamed, removed. Blocks.
  [[nodiscard]] virtual DiskStatus sync_folder() = 0;

  // Begins to sync a file (FileHandle::none: the folder) beside the caller. Covers what was written
  // before the call. Syncs end in the order in which they were started. The file stays open until
  // its end was taken out. Requires: fewer than kSyncsUnderWayMax are under way.
  virtual void start_sync(FileHandle file, std::uint64_t ticket) = 0;
  // Begins to remove a file and, if `sync`, to sync the folder after that, beside the caller. Ends
  // in line with the syncs and counts as one. Requires: is_file_name(), at most 63 bytes, not the
  // lock's.
  virtual void start_remove(const std::string& name, bool sync, std::uint64_t ticket) = 0;
  // Writes the note of the folder, which is in none of its files. Does not wait for the disk, and
  // needs no memory and, if there is a note, no space. If it cannot be written, there is none, or
  // an older one of the same run. A removal that is started later waits until the note is durable.
  virtual void write_note(const FolderNote& note) = 0;
  // Makes the note durable, as far as that can be had. Blocks.
  virtual void sync_note() = 0;

  // Takes out a sync or removal that has ended; false if there is none.
  [[nodiscard]] virtual bool next_sync_done(SyncDone& done) = 0;
  // Blocks until there is one; so it is not for a turn. Requires: one was started that was not
  // taken out.
  virtual void wait_for_sync() = 0;

  // Looks for the file by the folder's path, as a server does that starts. FileHandle::none: for
  // any file of that name. Costs one system call as a rule. On anything but there, last_error()
  // says what is missing.
  [[nodiscard]] virtual Presence look_for(FileHandle file, const std::string& name) = 0;
  // Sees to it that names are looked up in the folder that the path leads to, and that no other
  // server uses that folder. `is_new`: it is another folder than before, and has no file of a
  // binlog. Never makes a folder. On anything but ok nothing has changed, and last_error() says
  // why.
  [[nodiscard]] virtual DiskStatus return_to_folder(bool& is_new) = 0;

  // How much space there is. False: that is not known. It is a hint: a quota may leave less, and
  // other processes take and give back space at any time.
  [[nodiscard]] virtual bool space(DiskSpace& space) const = 0;

  // Why the last call, or the last sync taken out, that did not end ok did not: for the log.
  [[nodiscard]] virtual std::string last_error() const = 0;
};

}  // namespace haricot::binlog
