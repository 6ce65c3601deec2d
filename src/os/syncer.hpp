// The only other thread: it waits for syncs and removals of files, and does nothing else.
//
// A sync takes as long as the disk needs, and the kernel has no sync whose end epoll could watch.
// So this thread blocks instead of the main thread. It uses descriptors, numbers and a name, never
// a job or a buffer.

#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <thread>

#include "haricot/binlog/disk.hpp"
#include "os/descriptor.hpp"
#include "os/folder_fence.hpp"

namespace haricot::os {

class Syncer {
 public:
  // Makes a descriptor's data durable; returns 0 or an errno. Runs in the thread.
  using Sync = int (*)(int descriptor, bool is_folder);

  explicit Syncer(Sync sync = &sync_to_disk) : sync_(sync) {}
  // Waits for the started syncs.
  ~Syncer();
  Syncer(const Syncer&) = delete;
  Syncer& operator=(const Syncer&) = delete;

  // Returns false and sets errno if no descriptor is left.
  [[nodiscard]] bool open();

  // An eventfd: readable if a sync may have ended, until next_ended() returns false.
  int completion_descriptor() const { return completions_.get(); }

  // Starts a sync and returns at once; the first one starts the thread. If no thread can be
  // created, syncs in the calling thread. Requires: fewer than kSyncsUnderWayMax are in progress.
  void start(int descriptor, bool is_folder, std::uint64_t ticket);

  // Starts the removal of a file of the folder and, if `sync`, a sync of the folder after it.
  // Counts as a sync here. `note` is synced before the removal, and a failure of that is ignored;
  // -1: none. Requires: the name of a file, of at most kNameBytesMax bytes.
  void start_removal(int folder, std::string_view name, bool sync, std::uint64_t ticket,
                     int note = -1);
  static constexpr std::size_t kNameBytesMax = 63;

  struct Ended {
    std::uint64_t ticket = 0;
    int error = 0;          // Errno of the sync, or 0.
    int removal_error = 0;  // Errno of the removal, or 0. On failure there was no sync.
    // Name of the removed file, valid until the next start; empty if this was a sync.
    std::string_view removed = {};
  };
  // Returns the next sync or removal that has ended, in the order in which they were started.
  [[nodiscard]] bool next_ended(Ended& ended);

  // Sets a fence that each sync has to pass at its end, and each removal at its start. If it does
  // not pass, it never ends, and the completion descriptor becomes readable. Called before the
  // first start. Requires: the fence outlives this object.
  void set_fence(FolderFence& fence) { fence_ = &fence; }
  // Starts a check of the fence in addition to other work, and waits for its end, for at most
  // `most`. Returns true if it has ended. Requires: a fence.
  bool check_fence(std::chrono::milliseconds most);

  // Waits until next_ended() has a result, for at most `most`. Returns true if it has one.
  // Requires: a sync or removal was started and not collected.
  bool wait(std::chrono::milliseconds most);

  // Return true if a sync of that descriptor, or any work, was started and not collected.
  bool is_under_way(int descriptor) const;
  bool is_under_way() const { return taken_ < started_; }

  // Calls fdatasync, or fsync for a folder.
  static int sync_to_disk(int descriptor, bool is_folder);

 private:
  static constexpr std::uint64_t kEntries = binlog::Disk::kSyncsUnderWayMax;

  struct Entry {
    int descriptor = -1;
    bool is_folder = false;
    std::uint64_t ticket = 0;
    int error = 0;
    int removal_error = 0;
    bool has_to_sync = true;
    int note = -1;
    std::array<char, kNameBytesMax + 1> name{};  // File to remove; empty: none.
  };
  Entry& entry(std::uint64_t number) { return entries_[number % kEntries]; }
  const Entry& entry(std::uint64_t number) const { return entries_[number % kEntries]; }

  bool start_thread();
  void run();
  void start(const Entry& entry);
  void work_on(std::uint64_t number);
  bool pass_fence();
  bool is_shut() const { return fence_ != nullptr && fence_->is_fenced(); }
  void wake_main_thread();

  Sync sync_;
  Descriptor completions_;
  std::thread thread_;

  // A ring of entries, each of which passes from the main thread to the other and back:
  //
  //   taken_ <= ended_ <= started_ <= taken_ + kEntries
  //
  // A mutex and a condition are used instead of a ring without locks: the thread has to sleep if
  // there is no work, so it needs something to wait on, and the lock is only held to change one of
  // these numbers.
  std::mutex mutex_;
  std::condition_variable wake_;  // The thread has work.
  std::condition_variable ended_one_;
  std::array<Entry, kEntries> entries_;
  std::uint64_t started_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t taken_ = 0;  // Used by the main thread only.
  bool stop_ = false;
  FolderFence* fence_ = nullptr;
  bool check_wanted_ = false;  // A check was requested and has not started.
  bool check_under_way_ = false;

  // Collected syncs that the eventfd still counts.
  std::uint64_t uncounted_ = 0;
};

}  // namespace haricot::os
