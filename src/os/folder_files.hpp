// Opens, lists and reads the files of the binlog's folder, also while a server uses it.

#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/folder_note.hpp"
#include "os/descriptor.hpp"

namespace haricot::os {

// System calls on open files and folders --------------------------------------------------------
//
// Each call is repeated if a signal interrupts it, and returns 0 or an errno. Sizes and offsets are
// in bytes. Descriptors stay the caller's.

// Flags for opening files of the folder. Opening a pipe or a device must not block, nor make it the
// controlling terminal.
inline constexpr int kOpenFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
inline constexpr mode_t kFileMode = 0600;  // Jobs are private.

// Error for a name that is not a regular file; not an errno.
inline constexpr int kNoPlainFile = -1;
// Returns the reason of an error as text.
const char* reason_of(int error);

// Writes all pieces in sequence, from that offset on. On failure some of them may be written.
[[nodiscard]] int write_all(int file, std::uint64_t offset,
                            std::span<const std::string_view> pieces);
[[nodiscard]] int size_of(int file, std::uint64_t& bytes);
// Truncates the file to that length.
int cut(int file, std::uint64_t bytes);
// Allocates the bytes from `from` to `to`, which read as zeros. On a file system that cannot do
// this, writes the zeros. On failure some of the space may be allocated.
[[nodiscard]] int take_space(int file, std::uint64_t from, std::uint64_t to);
// Renames a file of the folder, unless the new name exists. Not all file systems can do this in one
// step; a crash in between leaves the file with both names.
[[nodiscard]] int rename_to_free_name(int folder, const char* from, const char* to);
// Lists the names in a folder in no particular order, without . and .. .
[[nodiscard]] int list_names(Descriptor folder, std::vector<std::string>& names);

// Reading a folder ------------------------------------------------------------------------------

// Opens, lists and reads the files of one open folder, and keeps the reason of the last failure.
//
// All names are looked up in the descriptor of the folder, so a change of the current directory has
// no effect. Symbolic links are not followed.
class FolderFiles {
 public:
  using DiskStatus = binlog::DiskStatus;

  FolderFiles() = default;
  FolderFiles(const FolderFiles&) = delete;
  FolderFiles& operator=(const FolderFiles&) = delete;

  // Opens the folder, which has to exist. Returns false on failure. Called once.
  [[nodiscard]] bool open(const std::string& path);
  // Uses an open folder, which has no path. Returns false if the descriptor is not a folder. Called
  // once.
  [[nodiscard]] bool open(Descriptor folder);
  // Switches to another folder. The number of the descriptor stays the same, because other objects
  // store it.
  [[nodiscard]] DiskStatus switch_to(const Descriptor& folder);
  // Path of the folder; empty if it was opened by its descriptor.
  const std::string& path() const { return path_; }
  int descriptor() const { return folder_.get(); }
  // Reserves descriptors for files of the folder, so that connections cannot take all of them.
  void set_spare_descriptors(std::size_t count) { spares_.fill(folder_.get(), count); }
  SpareDescriptors& spares() { return spares_; }

  // Allows reading files while another process writes them: a reader that sees some bytes also sees
  // all bytes that were written before them. This is slower.
  void expect_writers() { has_writers_ = true; }

  // Returns true if files of that name may be opened here.
  static bool is_usable(const std::string& name);
  // Opens a file. Sets errno if it returns none.
  Descriptor open_file(const char* name, int flags, unsigned mode = 0);
  // Lists all names except . and .. .
  [[nodiscard]] DiskStatus list(std::vector<std::string>& names);
  // Read a whole file, or only its beginning and end. An open file is given with its name, which
  // only an error message uses.
  [[nodiscard]] DiskStatus read(const std::string& name, binlog::FileBytes& bytes);
  [[nodiscard]] DiskStatus read_open(int file, binlog::FileBytes& bytes, const std::string& name);
  [[nodiscard]] DiskStatus read_ends(const std::string& name, binlog::FileEnds& ends);
  [[nodiscard]] DiskStatus read_ends_open(int file, binlog::FileEnds& ends,
                                          const std::string& name);
  // Starts to read a file into the page cache.
  void read_ahead(const std::string& name);

  // Keep the reason of a failure: an errno, or a sentence. Return its status.
  DiskStatus fail(int error, std::string_view doing, std::string_view name = {});
  DiskStatus fail_because(std::string why);
  const std::string& last_error() const { return last_error_; }

 private:
  DiskStatus fail_to_open(int error, const std::string& name);
  int read_pieces(int file, binlog::FileBytes& bytes) const;

  std::string path_;
  Descriptor folder_;
  SpareDescriptors spares_;
  bool has_writers_ = false;
  std::string last_error_;
};

// A consistent snapshot of the binlog's files, for a reader while a server writes to the folder.
//
// Jobs move from the oldest file to the newest, and then the oldest is removed. A reader that opens
// one file after the other may miss a job in both places. So all files are opened first, and the
// newest is read. If there is no newer one afterwards, the open files have everything that was
// recorded up to this moment, because the server changes only the newest file. The note of the
// folder must be the same before and after.
class FolderSnapshot {
 public:
  using DiskStatus = binlog::DiskStatus;

  // The files outlive this.
  explicit FolderSnapshot(FolderFiles& files) : files_(files) {}
  FolderSnapshot(const FolderSnapshot&) = delete;
  FolderSnapshot& operator=(const FolderSnapshot&) = delete;

  // Keeps the files of the binlog as of one moment: until release(), the functions below show them
  // unchanged. A file that a server removes meanwhile can still be read, and a new one is
  // invisible. A file that cannot be opened is read by its name. This takes a descriptor for each
  // file, and memory for the newest. If the result is not ok, nothing is kept. May throw
  // std::bad_alloc. Requires: FolderFiles::expect_writers().
  [[nodiscard]] DiskStatus take();
  void release();
  bool is_taken() const { return is_taken_; }

  // Returns the note of the folder, for processes without its lock: as of take(), or the current
  // one. Requires: the folder is open.
  binlog::FolderNote note() const;

  // The functions below require: is_taken(). They handle all other files like FolderFiles.

  // Replaces the names of files of the binlog by those of the kept files.
  void replace_names(std::vector<std::string>& names) const;
  [[nodiscard]] DiskStatus read(const std::string& name, binlog::FileBytes& bytes);
  [[nodiscard]] DiskStatus read_ends(const std::string& name, binlog::FileEnds& ends);

 private:
  struct File {
    std::uint64_t number = 0;  // The number in its name.
    Descriptor file;           // None: it is read by its name.
  };
  enum class Try : std::uint8_t { good, changed, failed };

  Try try_to_take();
  bool find_numbers(std::vector<std::uint64_t>& numbers);
  bool open_kept();
  const File* kept_named(const std::string& name) const;

  FolderFiles& files_;
  bool is_taken_ = false;
  // Sorted by number. `newest_` has the content of the last one.
  std::vector<File> kept_;
  binlog::FileBytes newest_;
  binlog::FolderNote note_;
};

}  // namespace haricot::os
