// The binlog's folder on a real disk.
//
// The folder is opened once, and all names are looked up in that descriptor, so that changing the
// current folder makes no difference. Symbolic links in it are not followed.
//
// If the path leads to another folder later, look_for() tells, and return_to_folder() goes there.

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
  // Waits for the syncs and removals that were started. Files that are still open stay so until the
  // process ends.
  ~FolderDisk() override = default;

  // Opens the folder, which has to be there. On failure false, and last_error() says why. Once
  // only.
  //
  // The folder of a descriptor has no path: what happens to its name is not noticed.
  [[nodiscard]] bool open(const std::string& path);
  [[nodiscard]] bool open(Descriptor folder);
  // Keeps so many descriptors for the files of the folder, lest connections take all. Requires: it
  // is open.
  void set_spare_descriptors(std::size_t count) { spare_descriptors_.fill(folder_.get(), count); }
  // From now on files can be read while another server writes to them: if a reader sees some bytes,
  // it also sees all bytes that were written before them. This is slower.
  void expect_writers() { has_writers_ = true; }
  // Keeps the files of the binlog that the folder has at one moment: what list() and read() say of
  // them stays as it was then, up to the next release_files(). A file that a server removes
  // meanwhile can still be read, and one that it begins is not seen. A file that cannot be opened
  // is read under its name. It takes a descriptor for each file, and memory for the newest. On
  // anything but ok nothing is kept. May throw std::bad_alloc. Requires: expect_writers().
  [[nodiscard]] DiskStatus hold_files();
  void release_files();
  // The note of the folder, for who has not its lock: as it was at that moment, while files are
  // kept, else as it is. Requires: the folder is open.
  binlog::FolderNote note() const;
  // Other machines can reach the folder: no file is made or renamed over another one, what is
  // started ends after the fence only, and no other folder is gone to. A name of a file of the
  // binlog that is taken means that another server has the folder. The fence outlives this. Before
  // anything is started.
  void set_fence(FolderFence& fence) {
    fence_ = &fence;
    syncer_.set_fence(fence);
  }
  // Waits for the end of a check of the fence, or for that long. Requires: there is a fence.
  bool check_fence(std::chrono::milliseconds most) { return syncer_.check_fence(most); }
  bool has_syncs_under_way() const { return syncer_.is_under_way(); }
  // The lock of the folder, which outlives this: taken anew where files or folder went away.
  void set_lock(FolderLock& lock) { lock_ = &lock; }
  // Whether the lock was taken anew since the last call. Then the lock's file has no note of ours.
  bool has_taken_lock_anew() { return std::exchange(lock_is_new_, false); }
  // Is called by wait_for_sync() before it waits, and each second while it does.
  struct Watcher {
    void (*function)(void* context) = nullptr;
    void* context = nullptr;
  };
  void set_watcher(Watcher watcher) { watcher_ = watcher; }
  // The sandbox lets this process use no other folder than the one that is open.
  void mark_sandboxed() { is_sandboxed_ = true; }
  // The folder, for FolderLock.
  int descriptor() const { return folder_.get(); }
  // For epoll: readable when next_sync_done() may have something; it stays so until that says no.
  int completion_descriptor() const { return syncer_.completion_descriptor(); }

  // All names but . and .., whatever they stand for: what is no plain file fails when it is read.
  [[nodiscard]] DiskStatus list(std::vector<std::string>& names) override;
  [[nodiscard]] DiskStatus read(const std::string& name, binlog::FileBytes& bytes) override;
  void read_ahead(const std::string& name) override;
  [[nodiscard]] DiskStatus read_ends(const std::string& name, binlog::FileEnds& ends) override;
  [[nodiscard]] DiskStatus create(const std::string& name, FileHandle& file) override;
  [[nodiscard]] DiskStatus open_existing(const std::string& name, FileHandle& file) override;
  // On a file system that cannot give space in advance, zeros are written. What was taken for an
  // allocation that failed is given back.
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
  // Goes only to a folder on the same file system: if a disk was unmounted, what is found under its
  // path now is not its folder.
  [[nodiscard]] DiskStatus return_to_folder(bool& is_new) override;
  // False on file systems that tell no size, such as ramfs.
  [[nodiscard]] bool space(binlog::DiskSpace& space) const override;
  [[nodiscard]] std::string last_error() const override { return last_error_; }

 private:
  // Which file it is, whatever its name.
  struct Identity {
    std::uint64_t device = 0;
    std::uint64_t number = 0;
    bool operator==(const Identity&) const = default;
  };

  static int number_of(FileHandle file);
  // Whether files of that name may be opened here.
  static bool is_usable(const std::string& name);
  static Identity identity_of(const struct stat& status);
  Identity identity_of_open(FileHandle file);

  DiskStatus fail(int error, std::string_view doing, std::string_view name = {});
  // To read it.
  DiskStatus fail_to_open(int error, const std::string& name);
  Descriptor open_in_folder(const char* name, int flags, unsigned mode = 0);
  DiskStatus open_to_write(const std::string& name, int flags, const char* doing, FileHandle& file);
  DiskStatus read_open(int file, binlog::FileBytes& bytes, const std::string& name);
  DiskStatus read_by_name(const std::string& name, binlog::FileBytes& bytes);
  DiskStatus read_ends_open(int file, binlog::FileEnds& ends, const std::string& name);
  DiskStatus list_folder(std::vector<std::string>& names);

  // The files of one moment (disk_held.cpp)
  struct HeldFile {
    std::uint64_t number = 0;  // N of its name.
    Descriptor file;           // None: it is read under its name.
  };
  enum class Held : std::uint8_t { all, changed, failed };
  Held try_to_hold();
  bool find_numbers(std::vector<std::uint64_t>& numbers);
  bool open_held();
  void name_held(std::vector<std::string>& names) const;
  const HeldFile* held_named(const std::string& name) const;
  DiskStatus read_held(const std::string& name, binlog::FileBytes& bytes);

  // Whether all is where it was (disk_folder.cpp)
  DiskStatus fail_because(std::string why);
  binlog::Presence look_for_lock();
  DiskStatus go_back(bool& is_new);
  // Another server has the folder: nothing is changed there any more.
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
  FileHandle looked_for_ = FileHandle::none;  // The file that was looked for last, if it is open,
  Identity identity_;                         // and what it is.
  bool has_writers_ = false;
  bool is_holding_ = false;
  std::vector<HeldFile> held_;  // By number. What the newest of them had:
  binlog::FileBytes newest_;
  binlog::FolderNote held_note_;
  SpareDescriptors spare_descriptors_;
  Syncer syncer_;
  std::string last_error_;
  Watcher watcher_;
};

}  // namespace haricot::os
