// The one thread beside the main one: it waits for the disk to have what was written, and for files
// to be removed, and does nothing else.
//
// A sync takes as long as the disk likes, and the kernel offers no sync whose end epoll could
// watch. So this thread waits, and nobody else does. It touches descriptors, numbers and a name,
// never a job or a buffer.

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
  // What makes a descriptor's data durable; returns 0 or an errno. Runs in the thread.
  using Sync = int (*)(int descriptor, bool is_folder);

  explicit Syncer(Sync sync = &sync_to_disk) : sync_(sync) {}
  // Waits for the syncs that were started.
  ~Syncer();
  Syncer(const Syncer&) = delete;
  Syncer& operator=(const Syncer&) = delete;

  // False: there is no descriptor left, errno says why.
  [[nodiscard]] bool open();

  // An eventfd: readable when a sync may have ended; it stays so until next_ended() says no.
  int completion_descriptor() const { return completions_.get(); }

  // Begins a sync and returns at once; the first one starts the thread. Where there can be no
  // thread, the sync is done on the spot. Requires: fewer than kSyncsUnderWayMax are under way.
  void start(int descriptor, bool is_folder, std::uint64_t ticket);

  // Begins to remove a file of the folder and, if `sync`, to sync the folder after that. It counts
  // as a sync here. `note` is synced before the file goes, and nobody hears of it if that fails;
  // -1: nothing is. Requires: the name is that of a file, of at most kNameBytesMax bytes.
  void start_removal(int folder, std::string_view name, bool sync, std::uint64_t ticket,
                     int note = -1);
  static constexpr std::size_t kNameBytesMax = 63;

  struct Ended {
    std::uint64_t ticket = 0;
    int error = 0;                  // Of the sync: an errno, or 0.
    int removal_error = 0;          // Of the removal. If it is not 0 there was no sync.
    std::string_view removed = {};  // Its name, until the next start; empty: it was a sync.
  };
  // Takes out the next sync or removal that has ended, in the order in which they were started.
  [[nodiscard]] bool next_ended(Ended& ended);

  // A fence that each sync has to pass at its end, and each removal before it: what does not pass
  // never ends, and the completion descriptor gets readable. The fence outlives this. Before the
  // first start.
  void set_fence(FolderFence& fence) { fence_ = &fence; }
  // Begins a check of the fence beside what was started, and waits for its end, or for that long.
  // Whether it has ended. Requires: there is a fence.
  bool check_fence(std::chrono::milliseconds most);

  // Blocks until next_ended() has something, or for that long. Whether it has. Requires: something
  // was started and not taken out.
  bool wait(std::chrono::milliseconds most);

  // Whether a sync of it was started and not taken out; whether anything was.
  bool is_under_way(int descriptor) const;
  bool is_under_way() const { return taken_ < started_; }

  // fdatasync, for a folder fsync.
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
    std::array<char, kNameBytesMax + 1> name{};  // What is to be removed; empty: nothing.
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
  //   taken_ <= ended_ <= started_ <= taken_ + kSlots
  //
  // A mutex and a condition rather than a ring without locks: the thread has to sleep when there is
  // nothing to do, so it needs something to wait on anyway, and the lock is only ever held to move
  // one of these numbers.
  std::mutex mutex_;
  std::condition_variable wake_;  // The thread has something to do.
  std::condition_variable ended_one_;
  std::array<Entry, kEntries> entries_;
  std::uint64_t started_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t taken_ = 0;  // The main thread's alone.
  bool stop_ = false;
  FolderFence* fence_ = nullptr;
  bool check_wanted_ = false;  // And not begun.
  bool check_under_way_ = false;

  // Syncs that were taken out and still count in the eventfd.
  std::uint64_t uncounted_ = 0;
};

}  // namespace haricot::os
