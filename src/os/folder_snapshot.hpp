// Keeps the files of the binlog as of one moment, for a reader of a folder that a server uses.
//
// Jobs move from the oldest file to the newest, and then the oldest is removed. A reader that opens
// one file after the other may miss a job in both places. So all files are opened first, and the
// newest is read. If there is no newer one afterwards, the open files have everything that was
// recorded up to this moment, because the server changes only the newest file. The note of the
// folder must be the same before and after.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/format/folder_note.hpp"
#include "os/descriptor.hpp"
#include "os/folder_files.hpp"

namespace haricot::os {

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
