// A volume that several servers share. Each server uses it through its own disk, which can be
// paused at any call, and whose check of the epoch may read a state of up to a second ago.

#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "support/random.hpp"
#include "support/sim_disk.hpp"

namespace haricot::binlog {

inline constexpr std::int64_t kLagMs = 1000;  // Maximum delay of a change.

// State that all servers see, and the time, which passes with each call.
struct SharedVolume {
  // Begins with the folder on that disk.
  explicit SharedVolume(std::uint64_t seed,
                        std::unique_ptr<SimDisk> on_disk = std::make_unique<SimDisk>())
      : owned(std::move(on_disk)), disk(*owned), random(seed) {}

  // Writes an epoch. If `waits`, the time for it to become visible everywhere passes.
  void write_epoch(std::uint32_t epoch, bool waits = true) {
    epochs.emplace_back(now_ms, epoch);
    if (waits) now_ms += 2 * kLagMs;
  }
  // Reads the epoch of up to a second ago.
  std::uint32_t read_epoch() {
    const std::int64_t seen = now_ms - static_cast<std::int64_t>(random.below(kLagMs + 1));
    std::uint32_t epoch = 0;
    for (const auto& [since, written] : epochs) {
      if (since <= seen) epoch = written;
    }
    return epoch;
  }

  const std::unique_ptr<SimDisk> owned;
  SimDisk& disk;
  test::Random random;
  std::int64_t now_ms = 0;
  std::vector<std::pair<std::int64_t, std::uint32_t>> epochs;
};

// Exception that ends a process which would otherwise wait for ever.
struct FencedServerEnds {};

// The folder as one server sees it.
class SharedDisk final : public Disk {
 public:
  SharedDisk(SharedVolume& volume, std::uint32_t epoch) : volume_(volume), epoch_(epoch) {}

  // Calls `pause` before the call with that number. It may do work that takes long.
  void pause_at(std::uint64_t call, std::function<void()> pause) {
    pause_at_ = calls_ + call;
    pause_ = std::move(pause);
  }
  bool is_fenced() const { return is_fenced_; }
  bool has_paused() const { return pause_at_ != 0 && calls_ >= pause_at_; }
  // Checks the epoch. Stores the time at which the check began.
  bool check() {
    const std::int64_t began = volume_.now_ms;
    pass();
    if (volume_.read_epoch() != epoch_) is_fenced_ = true;
    if (is_fenced_) return false;
    good_at_ms_ = began;
    return true;
  }
  // Returns true if the work of a turn may begin.
  bool is_fresh() const { return volume_.now_ms - good_at_ms_ <= 1000; }
  // Ends the first sync or removal that was started. Returns false if there is none, or if it never
  // ends.
  bool step() {
    if (started_.empty() || is_fenced_) return false;
    const Started work = started_.front();
    SyncDone done{.ticket = work.ticket};
    if (!work.to_remove.empty()) {
      if (!check()) return false;
      pass();
      done.removal = volume_.disk.remove(work.to_remove);
    }
    if (done.removal == DiskStatus::ok && work.has_to_sync) {
      pass();
      done.status =
          work.file == FileHandle::none ? volume_.disk.sync_folder() : volume_.disk.sync(work.file);
    }
    if (!check()) return false;
    started_.pop_front();
    done_.push_back(done);
    return true;
  }

  DiskStatus list(std::vector<std::string>& names) override {
    pass();
    return volume_.disk.list(names);
  }
  DiskStatus read(const std::string& name, FileBytes& bytes) override {
    pass();
    return volume_.disk.read(name, bytes);
  }
  DiskStatus read_ends(const std::string& name, FileEnds& ends) override {
    pass();
    return volume_.disk.read_ends(name, ends);
  }
  DiskStatus create(const std::string& name, FileHandle& file) override {
    pass();
    if (is_fenced_) return refuse("the folder is lost");
    if (volume_.disk.has(name)) return refuse("there is a file " + name);
    return volume_.disk.create(name, file);
  }
  DiskStatus open_existing(const std::string& name, FileHandle& file) override {
    pass();
    if (is_fenced_) return refuse("the folder is lost");
    return volume_.disk.open_existing(name, file);
  }
  DiskStatus allocate(FileHandle file, std::uint64_t bytes) override {
    pass();
    return volume_.disk.allocate(file, bytes);
  }
  DiskStatus write(FileHandle file, std::uint64_t offset,
                   std::span<const std::string_view> pieces) override {
    pass();
    if (is_fenced_) return refuse("the folder is lost");
    return volume_.disk.write(file, offset, pieces);
  }
  DiskStatus truncate(FileHandle file, std::uint64_t bytes) override {
    pass();
    if (is_fenced_) return refuse("the folder is lost");
    return volume_.disk.truncate(file, bytes);
  }
  void close(FileHandle file) override { volume_.disk.close(file); }
  DiskStatus rename(const std::string& from, const std::string& to) override {
    pass();
    if (is_fenced_) return refuse("the folder is lost");
    if (volume_.disk.has(to)) {
      is_fenced_ = is_fenced_ || binlog_file_number(to).has_value();
      return refuse("there is a file " + to);
    }
    return volume_.disk.rename(from, to);
  }
  DiskStatus remove(const std::string& name) override {
    pass();
    if (is_fenced_) return refuse("the folder is lost");
    return volume_.disk.remove(name);
  }
  DiskStatus sync(FileHandle file) override {
    pass();
    return volume_.disk.sync(file);
  }
  DiskStatus sync_file(const std::string& name) override {
    pass();
    return volume_.disk.sync_file(name);
  }
  DiskStatus sync_folder() override {
    pass();
    return volume_.disk.sync_folder();
  }
  void start_sync(FileHandle file, std::uint64_t ticket) override {
    started_.push_back({.file = file, .ticket = ticket});
  }
  void start_remove(const std::string& name, bool sync, std::uint64_t ticket) override {
    started_.push_back({.ticket = ticket, .to_remove = name, .has_to_sync = sync});
  }
  void write_note(const FolderNote& note) override {
    pass();
    volume_.disk.write_note(note);
  }
  void sync_note() override { volume_.disk.sync_note(); }
  bool next_sync_done(SyncDone& done) override {
    if (done_.empty()) return false;
    done = done_.front();
    done_.pop_front();
    return true;
  }
  void wait_for_sync() override {
    if (done_.empty() && !step()) throw FencedServerEnds{};
  }
  Presence look_for(FileHandle file, const std::string& name) override {
    pass();
    return volume_.disk.look_for(file, name);
  }
  DiskStatus return_to_folder(bool& is_new) override {
    is_new = false;
    return DiskStatus::ok;
  }
  bool space(DiskSpace& space) const override { return volume_.disk.space(space); }
  std::string last_error() const override {
    return error_.empty() ? volume_.disk.last_error() : error_;
  }

 private:
  struct Started {
    FileHandle file = FileHandle::none;
    std::uint64_t ticket = 0;
    std::string to_remove = {};
    bool has_to_sync = true;
  };

  DiskStatus refuse(std::string why) {
    error_ = std::move(why);
    return DiskStatus::failed;
  }
  void pass() {
    error_.clear();
    volume_.now_ms += static_cast<std::int64_t>(volume_.random.below(4));
    if (++calls_ == pause_at_) pause_();
  }

  SharedVolume& volume_;
  const std::uint32_t epoch_;
  std::deque<Started> started_;
  std::deque<SyncDone> done_;
  std::string error_;
  std::int64_t good_at_ms_ = -10'000;
  std::uint64_t calls_ = 0;
  std::uint64_t pause_at_ = 0;
  std::function<void()> pause_;
  bool is_fenced_ = false;
};

}  // namespace haricot::binlog
