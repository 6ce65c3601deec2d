// The fence of a folder that several machines can reach: one server at a time is the folder's, and
// a server that is not any more learns of it before it acknowledges anything.
//
// The folder has a file `epoch`. Each server that opens the folder writes a higher epoch to it,
// with a random owner beside it, and only then reads the folder. So a server whose epoch stands
// there after a sync knows: whoever comes next will read what was synced. A check takes the lock of
// the folder again, and reads the file from the volume.
//
//   the old server    write   sync   check   answer
//   the next one                               write epoch   sync   wait   read the folder
//
// A volume may show a client what was true a second ago. Hence the wait, which is longer: a check
// that began after it sees the new epoch, and what was acknowledged after an earlier check had been
// synced before the folder is read.
//
// check() is for any thread, but one at a time. The rest is for the main thread.

#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "haricot/base/time.hpp"

namespace haricot::os {

inline constexpr std::string_view kEpochFileName = "epoch";

class FolderFence {
 public:
  // What is good for so long after the begin of a check, by the clock that goes on while the
  // machine sleeps.
  static constexpr Duration kCheckIsGoodFor = Duration::seconds(1);
  // Twice what a volume may lag after.
  static constexpr Duration kSettleTime = Duration::seconds(2);

  // `patience`: for how long the volume may stand still, or fail, until the server gives it up.
  // `settle`: how long begin() waits between its write and the first check.
  explicit FolderFence(Duration patience, Duration settle = kSettleTime)
      : patience_(patience), settle_(settle) {}
  FolderFence(const FolderFence&) = delete;
  FolderFence& operator=(const FolderFence&) = delete;

  enum class Begun : std::uint8_t {
    yes,
    failed,  // `error` says why.
    fenced,  // Another server was faster: see why().
    stopped,
  };
  // Is called again and again while begin() waits, for time to pass or for a volume that fails.
  // False ends the wait.
  struct Watcher {
    bool (*function)(void* context) = nullptr;
    void* context = nullptr;
  };
  // Writes the next epoch of that folder and makes it durable. Blocks, for `settle` at least. The
  // caller reads the folder afterwards. `owner` is random. Requires: the lock of the folder is
  // held.
  Begun begin(int folder, int lock, std::uint64_t owner, Watcher watcher, std::string& error);
  // Of this server. Valid after begin().
  std::uint32_t epoch() const { return epoch_; }

  // The lock was taken anew, in another descriptor.
  void set_lock(int lock) { lock_ = lock; }

  // Checks until a check that began after the call is good: true. False: the server is fenced, for
  // good, or the watcher has ended the wait. Blocks as long as the volume does; gives up what fails
  // for longer than the patience.
  bool check() { return check(Watcher{}); }
  // Whether what was good at the last check is good still.
  bool is_fresh() const;

  enum class Cause : std::uint8_t {
    another_server,  // It has the folder.
    volume,          // It stood still, or failed, for longer than the patience.
  };
  // The folder is another server's, or may be.
  bool is_fenced() const { return is_fenced_; }
  void give_up(Cause cause, std::string why);
  // Why, for the log. Valid if is_fenced().
  std::string why() const;
  Cause cause() const;
  // Gives up if something has been under way on the volume for longer than the patience.
  void fence_if_stuck();
  Duration patience() const { return patience_; }

  // What the last check has failed for, while none has been good since; empty: it has not.
  std::string failure() const;

  // Something that has to end before the next answers is under way on the volume, or not any more.
  // What has begun already goes on, and a good check ends it. For the thread that waits for it.
  void begin_work();
  void end_work() { busy_since_ = kNever; }

  // For tests: whether something is under way.
  bool is_busy() const { return busy_since_ != kNever; }

 private:
  static constexpr std::int64_t kNever = -1;
  enum class Found : std::uint8_t { good, failed, fenced };

  Found look(std::string& why) const;
  bool check(Watcher watcher);
  void set_failure(std::string why);

  const Duration patience_;
  const Duration settle_;
  int folder_ = -1;
  std::atomic<int> lock_ = -1;
  std::uint32_t epoch_ = 0;
  std::uint64_t owner_ = 0;
  // Nanoseconds since the boot, with those that the machine has slept.
  std::atomic<std::int64_t> good_at_ = kNever;     // When the last good check began.
  std::atomic<std::int64_t> busy_since_ = kNever;  // When what is under way began.
  std::atomic<bool> is_fenced_ = false;
  mutable std::mutex mutex_;
  std::string why_;                      // Of the first that gave up.
  Cause cause_ = Cause::another_server;  // The same.
  std::string failure_;                  // Of the last check, if it has failed.
};

}  // namespace haricot::os
