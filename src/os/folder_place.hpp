// Checks that the binlog's folder, its files and its lock are still in place, and returns to a
// folder that was replaced.

#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <utility>

#include "haricot/binlog/disk.hpp"
#include "os/descriptor.hpp"
#include "os/folder_fence.hpp"
#include "os/folder_files.hpp"
#include "os/folder_lock.hpp"

namespace haricot::os {

class FolderPlace {
 public:
  using DiskStatus = binlog::DiskStatus;
  using FileHandle = binlog::FileHandle;

  // The files outlive this.
  explicit FolderPlace(FolderFiles& files) : files_(files) {}
  FolderPlace(const FolderPlace&) = delete;
  FolderPlace& operator=(const FolderPlace&) = delete;

  // Sets the lock of the folder, which is taken again if files or the folder are gone. Requires:
  // the lock outlives this object.
  void set_lock(FolderLock& lock) { lock_ = &lock; }
  // Returns null if there is none.
  FolderLock* lock() { return lock_; }
  // Returns true if the lock was taken again since the last call. Its file has no note then.
  bool has_taken_lock_anew() { return std::exchange(lock_is_new_, false); }
  // Allows no other folder, and notifies the fence of a new lock. Requires: the fence outlives this
  // object.
  void set_fence(FolderFence& fence) { fence_ = &fence; }
  // Called when the sandbox allows only the folder that is open.
  void mark_sandboxed() { is_sandboxed_ = true; }

  // These have the contracts of Disk. A folder without a path always counts as being in place, and
  // return_to_folder() switches only to a folder on the same file system: if a disk was unmounted,
  // the folder under its path is not the binlog's.
  binlog::Presence look_for(FileHandle file, const std::string& name);
  [[nodiscard]] DiskStatus return_to_folder(bool& is_new);
  // Called when a file is closed.
  void forget(FileHandle file) {
    if (looked_for_ == file) looked_for_ = FileHandle::none;
  }

 private:
  // Identity of a file, independent of its name.
  struct Identity {
    std::uint64_t device = 0;
    std::uint64_t number = 0;
    bool operator==(const Identity&) const = default;
  };

  static Identity identity_of(const struct stat& status);
  Identity identity_of_open(FileHandle file);
  binlog::Presence look_for_lock();
  DiskStatus go_back(bool& is_new);
  DiskStatus move_to(const Descriptor& folder);

  FolderFiles& files_;
  FolderLock* lock_ = nullptr;
  bool lock_is_new_ = false;
  FolderFence* fence_ = nullptr;
  bool is_sandboxed_ = false;
  FileHandle looked_for_ = FileHandle::none;  // File of the last look_for(), if it is open.
  Identity identity_;                         // Its identity.
};

}  // namespace haricot::os
