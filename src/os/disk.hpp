// The binlog's folder on a real disk.
//
// The folder is opened once, and all names are looked up in that descriptor, so a change of the
// current directory has no effect. Symbolic links in it are not followed.
//
// If the path leads to another folder later, look_for() reports it, and return_to_folder() switches
// to that folder.

#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/binlog/disk.hpp"
#include "os/descriptor.hpp"
#include "os/folder_fence.hpp"
#include "os/folder_lock.hpp"
#include "os/spare_descriptors.hpp"
#include "os/syncer.hpp"

namespace haricot::os {

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
  // Reserves descriptors for files of the folder, so that connections cannot take all. Requires:
  // the folder is open.
  void set_spare_descriptors(std::size_t count) { spare_descriptors_.fill(folder_.get(), count); }
  // Allows reading files while another server writes them: a reader that sees some bytes also sees
  // all bytes that were written before them. This is slower.
  void expect_writers() { has_writers_ = true; }
  // Keeps the files of the binlog as of one moment: until release_files(), list() and read() show
  // them unchanged. A file that a server removes meanwhile can still be read, and a new one is
  // invisible. A file that cannot be opened is read by its name. This takes a descriptor for each
  // file, and memory for the newest. If the result is not ok, nothing is kept. May throw
  // std::bad_alloc. Requires: expect_writers().
  [[nodiscard]] DiskStatus hold_files();
  void release_files();
  // Returns the note of the folder, for processes without its lock: as of hold_files(), or the
  // current one. Requires: the folder is open.
  binlog::FolderNote note() const;
  // Prepares for a folder that other machines can reach: no file replaces another one, started work
  // ends only after a check of the fence, and no other folder is used. If the name for a new file
  // of the binlog is taken, another server has the folder. Called before any work is started.
  // Requires: the fence outlives this object.
  void set_fence(FolderFence& fence) {
    fence_ = &fence;
    syncer_.set_fence(fence);
  }
  // Waits for the end of a check of the fence, for at most this long. Requires: a fence.
  bool check_fence(std::chrono::milliseconds most) { return syncer_.check_fence(most); }
  bool has_syncs_under_way() const { return syncer_.is_under_way(); }
  // Sets the lock of the folder, which is taken again if files or the folder are gone. Requires:
  // the lock outlives this object.
  void set_lock(FolderLock& lock) { lock_ = &lock; }
  // Returns true if the lock was taken again since the last call. Its file has no note then.
  bool has_taken_lock_anew() { return std::exchange(lock_is_new_, false); }
  // Called by wait_for_sync() before it waits, and every second while it waits.
  struct Watcher {
    void (*function)(void* context) = nullptr;
    void* context = nullptr;
  };
  void set_watcher(Watcher watcher) { watcher_ = watcher; }
  // Called when the sandbox allows only the folder that is open.
  void mark_sandboxed() { is_sandboxed_ = true; }
  // Descriptor of the folder, for FolderLock.
  int descriptor() const { return folder_.get(); }
  // Descriptor for epoll: readable if next_sync_done() may return true, until that returns false.
  int completion_descriptor() const { return syncer_.completion_descriptor(); }

  // Lists all names except . and .., even those that are not plain files, which fail when they are
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
  [[nodiscard]] binlog::Presence look_for(FileHandle file, const std::string& name) override;
  // Switches only to a folder on the same file system: if a disk was unmounted, the folder under
  // its path is not the binlog's.
  [[nodiscard]] DiskStatus return_to_folder(bool& is_new) override;
  // Returns false on file systems without a size, such as ramfs.
  [[nodiscard]] bool space(binlog::DiskSpace& space) const override;
  [[nodiscard]] std::string last_error() const override { return last_error_; }

 private:
  // Identity of a file, independent of its name.
  struct Identity {
    std::uint64_t device = 0;
    std::uint64_t number = 0;
    bool operator==(const Identity&) const = default;
  };

  static int number_of(FileHandle file);
  // Returns true if files of that name may be opened here.
  static bool is_usable(const std::string& name);
  static Identity identity_of(const struct stat& status);
  Identity identity_of_open(FileHandle file);

  DiskStatus fail(int error, std::string_view doing, std::string_view name = {});
  // Reports that a file cannot be opened for reading.
  DiskStatus fail_to_open(int error, const std::string& name);
  Descriptor open_in_folder(const char* name, int flags, unsigned mode = 0);
  DiskStatus open_to_write(const std::string& name, int flags, const char* doing, FileHandle& file);
  DiskStatus read_open(int file, binlog::FileBytes& bytes, const std::string& name);
  DiskStatus read_by_name(const std::string& name, binlog::FileBytes& bytes);
  DiskStatus read_ends_open(int file, binlog::FileEnds& ends, const std::string& name);
  DiskStatus list_folder(std::vector<std::string>& names);

  // Files of one moment (disk_held.cpp) -----------------------------------------------------------
  struct HeldFile {
    std::uint64_t number = 0;  // The number in its name.
    Descriptor file;           // None: it is read by its name.
  };
  enum class Held : std::uint8_t { all, changed, failed };
  Held try_to_hold();
  bool find_numbers(std::vector<std::uint64_t>& numbers);
  bool open_held();
  void name_held(std::vector<std::string>& names) const;
  const HeldFile* held_named(const std::string& name) const;
  DiskStatus read_held(const std::string& name, binlog::FileBytes& bytes);

  // Presence of files, folder and lock (disk_folder.cpp) ------------------------------------------
  DiskStatus fail_because(std::string why);
  binlog::Presence look_for_lock();
  DiskStatus go_back(bool& is_new);
  // Returns true if another server has the folder. Then nothing in it may be changed.
  bool is_lost() const { return fence_ != nullptr && fence_->is_fenced(); }
  DiskStatus fail_as_lost();
  int rename_to_free_name(const char* from, const char* to);
  DiskStatus move_to(Descriptor folder);

  int read_pieces(int file, binlog::FileBytes& bytes) const;

  std::string path_;
  Descriptor folder_;
  FolderLock* lock_ = nullptr;
  bool lock_is_new_ = false;
  bool note_is_unsynced_ = false;
  bool is_sandboxed_ = false;
  FolderFence* fence_ = nullptr;
  FileHandle looked_for_ = FileHandle::none;  // File of the last look_for(), if it is open.
  Identity identity_;                         // Its identity.
  bool has_writers_ = false;
  bool is_holding_ = false;
  // Sorted by number. `newest_` has the content of the last one.
  std::vector<HeldFile> held_;
  binlog::FileBytes newest_;
  binlog::FolderNote held_note_;
  SpareDescriptors spare_descriptors_;
  Syncer syncer_;
  std::string last_error_;
  Watcher watcher_;
};

}  // namespace haricot::os
