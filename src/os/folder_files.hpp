// Opens, lists and reads the files of one open folder, and keeps the reason of the last failure.
//
// All names are looked up in the descriptor of the folder, so a change of the current directory has
// no effect. Symbolic links are not followed.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/binlog/disk.hpp"
#include "os/descriptor.hpp"
#include "os/spare_descriptors.hpp"

namespace haricot::os {

class FolderFiles {
 public:
  using DiskStatus = binlog::DiskStatus;

  FolderFiles() = default;
  FolderFiles(const FolderFiles&) = delete;
  FolderFiles& operator=(const FolderFiles&) = delete;

  // Opens the folder, which has to exist. Returns false on failure. Called once.
  [[nodiscard]] bool open(const std::string& path);
  // Uses an open folder, which has no path. Returns false if it is none. Called once.
  [[nodiscard]] bool open(Descriptor folder);
  // Switches to another folder. Its descriptor keeps the number, because other objects have it.
  [[nodiscard]] DiskStatus switch_to(const Descriptor& folder);
  // Empty if the folder was opened by its descriptor.
  const std::string& path() const { return path_; }
  int descriptor() const { return folder_.get(); }
  // Sets aside descriptors for files of the folder, so that connections cannot take all.
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
  // Read a whole file, or its ends: by its name, or an open one. `name` is for the error.
  [[nodiscard]] DiskStatus read(const std::string& name, binlog::FileBytes& bytes);
  [[nodiscard]] DiskStatus read_open(int file, binlog::FileBytes& bytes, const std::string& name);
  [[nodiscard]] DiskStatus read_ends(const std::string& name, binlog::FileEnds& ends);
  [[nodiscard]] DiskStatus read_ends_open(int file, binlog::FileEnds& ends,
                                          const std::string& name);
  // Starts to read a file into the kernel's memory.
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

}  // namespace haricot::os
