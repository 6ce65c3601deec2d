// The binlog's folder on a real disk.
//
// The folder is opened once, and all names are looked up in that descriptor, so that moving the
// folder or changing the current one makes no difference. Symbolic links are not followed.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/binlog/disk.hpp"
#include "os/descriptor.hpp"
#include "os/descriptor_reserve.hpp"
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
  [[nodiscard]] bool open(const std::string& path);
  // Keeps so many descriptors for the files of the folder, lest connections take all. Requires: it
  // is open.
  void reserve_descriptors(std::size_t count) { reserve_.fill(folder_.get(), count); }
  // From now on files are read so that what another server writes to them meanwhile leaves no hole:
  // whatever is seen of a file, all that was written before it is seen, too. Slower.
  void expect_writers() { has_writers_ = true; }
  // The folder, for FolderLock.
  int descriptor() const { return folder_.get(); }
  // For epoll: readable when next_sync_done() may have something; it stays so until that says no.
  int completion_descriptor() const { return syncer_.completion_descriptor(); }

  // All names but . and .., whatever they stand for: what is no plain file fails when it is read.
  [[nodiscard]] DiskStatus list(std::vector<std::string>& names) override;
  [[nodiscard]] DiskStatus read(const std::string& name, binlog::FileBytes& bytes) override;
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
  [[nodiscard]] bool next_sync_done(binlog::SyncDone& done) override;
  void wait_for_sync() override { syncer_.wait(); }
  // False on file systems that tell no size, such as ramfs.
  [[nodiscard]] bool space(binlog::DiskSpace& space) const override;
  [[nodiscard]] std::string last_error() const override { return last_error_; }

 private:
  DiskStatus fail(int error, std::string_view doing, std::string_view name = {});
  Descriptor open_in_folder(const char* name, int flags, unsigned mode = 0);
  DiskStatus open_to_write(const std::string& name, int flags, const char* doing, FileHandle& file);
  DiskStatus read_open(int file, binlog::FileBytes& bytes, const std::string& name);

  int read_pieces(int file, binlog::FileBytes& bytes) const;

  Descriptor folder_;
  bool has_writers_ = false;
  DescriptorReserve reserve_;
  Syncer syncer_;
  std::string last_error_;
};

}  // namespace haricot::os
