// The fence of a folder that several machines can reach. The folder belongs to one server at a
// time, and a server that has lost it notices before it acknowledges anything.
//
// The folder has a file `epoch`. Each server that opens the folder writes a higher epoch to it,
// with a random owner, and only then reads the folder. So if a server still finds its own epoch
// after a sync, the next server will read the synced data. A check takes the lock of the folder
// again, and reads the file from the volume.
//
//   the old server    write   sync   check   answer
//   the next one                               write epoch   sync   wait   read the folder
//
// A volume may show a client data that is a second old. The wait is longer: a check that began
// after the wait sees the new epoch, and anything acknowledged after an earlier check was synced
// before the folder is read.
//
// Any thread may call check(), but only one at a time. All other functions are for the main thread.

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
  // Time for which a good check is valid, from its start, by the clock that includes suspended
  // time.
  static constexpr Duration kCheckIsGoodFor = Duration::seconds(1);
  // Twice the maximum lag of a volume.
  static constexpr Duration kSettleTime = Duration::seconds(2);

  // `patience`: how long the volume may hang, or fail, until the server gives it up. `settle`: how
  // long begin() waits between its write and the first check.
  explicit FolderFence(Duration patience, Duration settle = kSettleTime)
      : patience_(patience), settle_(settle) {}
  FolderFence(const FolderFence&) = delete;
  FolderFence& operator=(const FolderFence&) = delete;

  enum class Begun : std::uint8_t {
    yes,
    failed,  // See `error`.
    fenced,  // Another server was faster: see why().
    stopped,
  };
  // Called repeatedly while begin() waits for `settle` to pass, or retries because the volume
  // fails. Returning false ends the wait.
  struct Watcher {
    bool (*function)(void* context) = nullptr;
    void* context = nullptr;
  };
  // Writes the next epoch of the folder and makes it durable. Blocks for at least `settle`. The
  // caller reads the folder afterwards. `owner` is random. Requires: the lock of the folder is
  // held.
  Begun begin(int folder, int lock, std::uint64_t owner, Watcher watcher, std::string& error);
  // Epoch of this server, valid after begin().
  std::uint32_t epoch() const { return epoch_; }

  // Sets the descriptor of a lock that was taken again.
  void set_lock(int lock) { lock_ = lock; }

  // Repeats the check until one that began after this call is good, and returns true. Returns false
  // if the server is fenced, which is permanent, or the watcher has ended the wait. Blocks as long
  // as the volume does; gives up after failures for longer than the patience.
  bool check() { return check(Watcher{}); }
  // Returns true if the last good check is still valid.
  bool is_fresh() const;

  enum class Cause : std::uint8_t {
    another_server,  // Has the folder.
    volume,          // Hung, or failed, for longer than the patience.
  };
  // Returns true if the folder belongs to another server, or may do so.
  bool is_fenced() const { return is_fenced_; }
  void give_up(Cause cause, std::string why);
  // Reason, for the log. Valid if is_fenced().
  std::string why() const;
  Cause cause() const;
  // Gives up if work on the volume is in progress for longer than the patience.
  void fence_if_stuck();
  Duration patience() const { return patience_; }

  // Returns the failure of the last check; empty if it was good.
  std::string failure() const;

  // Called before and after work on the volume that has to end before the next answers.
  // begin_work() does not restart the time of work in progress, and a good check ends it. For the
  // thread that does the work.
  void begin_work();
  void end_work() { busy_since_ = kNever; }

  // Returns true while work is in progress. For tests.
  bool is_busy() const { return busy_since_ != kNever; }

 private:
  static constexpr std::int64_t kNever = -1;
  enum class Found : std::uint8_t { good, failed, fenced };

  Found check_ownership(std::string& why) const;
  bool check(Watcher watcher);
  void set_failure(std::string why);

  const Duration patience_;
  const Duration settle_;
  int folder_ = -1;
  std::atomic<int> lock_ = -1;
  std::uint32_t epoch_ = 0;
  std::uint64_t owner_ = 0;
  // In nanoseconds since boot, including suspended time.
  std::atomic<std::int64_t> good_at_ = kNever;     // Begin of the last good check.
  std::atomic<std::int64_t> busy_since_ = kNever;  // Begin of the work in progress.
  std::atomic<bool> is_fenced_ = false;
  mutable std::mutex mutex_;
  std::string why_;                      // Set by the first give_up().
  Cause cause_ = Cause::another_server;  // Set by the first give_up().
  std::string failure_;                  // Failure of the last check; empty if it was good.
};

}  // namespace haricot::os
