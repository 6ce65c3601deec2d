// The binlog's folder on a real disk. FolderDisk writes and syncs files itself; its parts are
//
//   FolderFiles      opens, lists and reads files
//   FolderSnapshot   keeps the files of one moment, for a reader beside a server
//   FolderPlace      checks that folder, files and lock are in place; returns to a replaced folder
//   Syncer           the second thread: syncs and removals

#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/binlog/disk.hpp"
#include "os/descriptor.hpp"
#include "os/folder_fence.hpp"
#include "os/folder_files.hpp"
#include "os/folder_lock.hpp"
#include "os/syncer.hpp"

namespace haricot::os {

// Checks that the binlog's folder, its files and its lock are still in place, and returns to a
// folder that was replaced.
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
  // Sets the fence, which is notified of a new lock. From then on no other folder may be used.
  // Requires: the fence outlives this object.
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

class FolderDisk final : public binlog::Disk {
 public:
  using DiskStatus = binlog::DiskStatus;
  using FileHandle = binlog::FileHandle;

  FolderDisk() = default;
  // Waits for started syncs and removals. Files that are still open stay open until the process
  // ends.
  ~FolderDisk() override = default;

  // Opens the folder, which has to exist. Returns false on failure: see last_error(). Called once.
  //
  // A folder that is opened by its descriptor has no path, so changes of its name are not noticed.
  [[nodiscard]] bool open(const std::string& path);
  [[nodiscard]] bool open(Descriptor folder);
  // The files of the folder.
  FolderFiles& files() { return files_; }
  // Snapshot of the files. While it is taken, list() and read() show its files.
  FolderSnapshot& snapshot() { return snapshot_; }
  // Place of folder and lock. The lock has to be set if a server uses the folder.
  FolderPlace& place() { return place_; }
  // Prepares for a folder that other machines can reach: no file replaces another one, started work
  // ends only after a check of the fence, and no other folder is used. If the name for a new file
  // of the binlog is taken, another server has the folder. Called before any work is started.
  // Requires: the fence outlives this object.
  void set_fence(FolderFence& fence) {
    fence_ = &fence;
    place_.set_fence(fence);
    syncer_.set_fence(fence);
  }
  // The thread that syncs and removes files.
  Syncer& syncer() { return syncer_; }
  const Syncer& syncer() const { return syncer_; }
  // Called by wait_for_sync() before it waits, and every second while it waits.
  struct Watcher {
    void (*function)(void* context) = nullptr;
    void* context = nullptr;
  };
  void set_watcher(Watcher watcher) { watcher_ = watcher; }
  // Descriptor of the folder, for FolderLock.
  int descriptor() const { return files_.descriptor(); }

  // Lists all names except . and .., even those of files that are not regular, which cannot be
  // read.
  [[nodiscard]] DiskStatus list(std::vector<std::string>& names) override;
  [[nodiscard]] DiskStatus read(const std::string& name, binlog::FileBytes& bytes) override;
  void read_ahead(const std::string& name) override;
  [[nodiscard]] DiskStatus read_ends(const std::string& name, binlog::FileEnds& ends) override;
  [[nodiscard]] DiskStatus create(const std::string& name, FileHandle& file) override;
  [[nodiscard]] DiskStatus open_existing(const std::string& name, FileHandle& file) override;
  // Writes zeros on a file system that cannot allocate. Frees the space of a failed allocation.
  [[nodiscard]] DiskStatus allocate(FileHandle file, std::uint64_t bytes) override;
  [[nodiscard]] DiskStatus write(FileHandle file, std::uint64_t offset,
                                 std::span<const std::string_view> pieces) override;
  [[nodiscard]] DiskStatus truncate(FileHandle file, std::uint64_t bytes) override;
  void close(FileHandle file) override;
  [[nodiscard]] DiskStatus rename(const std::string& from, const std::string& to) override;
  [[nodiscard]] DiskStatus remove(const std::string& name) override;
  [[nodiscard]] DiskStatus sync(FileHandle file) override;
  [[nodiscard]] DiskStatus sync_file(const std::string& name) override;
  [[nodiscard]] DiskStatus sync_folder() override;
  void start_sync(FileHandle file, std::uint64_t ticket) override;
  void start_remove(const std::string& name, bool sync, std::uint64_t ticket) override;
  void write_note(const binlog::FolderNote& note) override;
  void sync_note() override;
  [[nodiscard]] bool next_sync_done(binlog::SyncDone& done) override;
  void wait_for_sync() override;
  [[nodiscard]] binlog::Presence look_for(FileHandle file, const std::string& name) override {
    return place_.look_for(file, name);
  }
  [[nodiscard]] DiskStatus return_to_folder(bool& is_new) override {
    return place_.return_to_folder(is_new);
  }
  // Returns false on file systems without a size, such as ramfs.
  [[nodiscard]] bool space(binlog::DiskSpace& space) const override;
  [[nodiscard]] std::string last_error() const override { return files_.last_error(); }

 private:
  bool open_syncer();
  DiskStatus open_to_write(const std::string& name, int flags, const char* doing, FileHandle& file);
  // Returns true if another server has the folder. Then nothing in it may be changed.
  bool is_lost() const { return fence_ != nullptr && fence_->is_fenced(); }

  FolderFiles files_;
  FolderSnapshot snapshot_{files_};
  FolderPlace place_{files_};
  FolderFence* fence_ = nullptr;
  bool note_is_unsynced_ = false;
  Syncer syncer_;
  Watcher watcher_;
};

}  // namespace haricot::os
