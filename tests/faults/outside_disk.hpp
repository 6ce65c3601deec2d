// A disk whose own memory is not under test: it stands for the kernel and everything behind it.

#pragma once

#include <string>
#include <vector>

#include "failing_memory.hpp"
#include "support/sim_disk.hpp"

namespace haricot::faults {

class OutsideDisk final : public binlog::Disk {
 public:
  // Requires: the disk outlives this object.
  explicit OutsideDisk(binlog::SimDisk& disk) : disk_(disk) {}

  using Status = binlog::DiskStatus;
  using File = binlog::FileHandle;

  [[nodiscard]] Status list(std::vector<std::string>& names) override {
    const Outside outside;
    return disk_.list(names);
  }
  [[nodiscard]] Status read(const std::string& name, binlog::FileBytes& bytes) override {
    const Outside outside;
    return disk_.read(name, bytes);
  }
  [[nodiscard]] Status read_ends(const std::string& name, binlog::FileEnds& ends) override {
    const Outside outside;
    return disk_.read_ends(name, ends);
  }
  [[nodiscard]] Status create(const std::string& name, File& file) override {
    const Outside outside;
    return disk_.create(name, file);
  }
  [[nodiscard]] Status open_existing(const std::string& name, File& file) override {
    const Outside outside;
    return disk_.open_existing(name, file);
  }
  void write_note(const binlog::FolderNote& note) override {
    const Outside outside;
    disk_.write_note(note);
  }
  void sync_note() override {
    const Outside outside;
    disk_.sync_note();
  }
  [[nodiscard]] bool space(binlog::DiskSpace& space) const override { return disk_.space(space); }
  [[nodiscard]] binlog::Presence look_for(File file, const std::string& name) override {
    const Outside outside;
    return disk_.look_for(file, name);
  }
  [[nodiscard]] Status return_to_folder(bool& is_new) override {
    const Outside outside;
    return disk_.return_to_folder(is_new);
  }
  [[nodiscard]] Status allocate(File file, std::uint64_t bytes) override {
    const Outside outside;
    return disk_.allocate(file, bytes);
  }
  [[nodiscard]] Status write(File file, std::uint64_t offset,
                             std::span<const std::string_view> pieces) override {
    const Outside outside;
    return disk_.write(file, offset, pieces);
  }
  [[nodiscard]] Status truncate(File file, std::uint64_t bytes) override {
    const Outside outside;
    return disk_.truncate(file, bytes);
  }
  void close(File file) override {
    const Outside outside;
    disk_.close(file);
  }
  [[nodiscard]] Status rename(const std::string& from, const std::string& to) override {
    const Outside outside;
    return disk_.rename(from, to);
  }
  [[nodiscard]] Status remove(const std::string& name) override {
    const Outside outside;
    return disk_.remove(name);
  }
  [[nodiscard]] Status sync(File file) override {
    const Outside outside;
    return disk_.sync(file);
  }
  [[nodiscard]] Status sync_file(const std::string& name) override {
    const Outside outside;
    return disk_.sync_file(name);
  }
  [[nodiscard]] Status sync_folder() override {
    const Outside outside;
    return disk_.sync_folder();
  }
  void start_sync(File file, std::uint64_t ticket) override {
    const Outside outside;
    disk_.start_sync(file, ticket);
  }
  void start_remove(const std::string& name, bool sync, std::uint64_t ticket) override {
    const Outside outside;
    disk_.start_remove(name, sync, ticket);
  }
  [[nodiscard]] bool next_sync_done(binlog::SyncDone& done) override {
    const Outside outside;
    return disk_.next_sync_done(done);
  }
  void wait_for_sync() override {
    const Outside outside;
    disk_.wait_for_sync();
  }
  // The result is under test.
  [[nodiscard]] std::string last_error() const override { return disk_.last_error(); }

 private:
  binlog::SimDisk& disk_;
};

}  // namespace haricot::faults
