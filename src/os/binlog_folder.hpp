// The binlog with everything that it needs: the folder, its lock, the clocks and the log.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "haricot/base/time.hpp"
#include "haricot/binlog/binlog.hpp"
#include "haricot/queue/engine.hpp"
#include "os/disk.hpp"
#include "os/folder_fence.hpp"
#include "os/folder_lock.hpp"
#include "os/log.hpp"
#include "os/service_manager.hpp"

namespace haricot::os {

class BinlogFolder {
 public:
  // Requires: the log and the notifier outlive this object. `fence_after`: the server gives up the
  // folder when its volume hangs for this long, or when another server takes it over; 0: no fence.
  BinlogFolder(const binlog::BinlogOptions& options, Duration fence_after, Log& log,
               Notifier& notifier);
  // Removes the lock's file if take_lock() has created it and the binlog has not begun.
  ~BinlogFolder();
  BinlogFolder(const BinlogFolder&) = delete;
  BinlogFolder& operator=(const BinlogFolder&) = delete;

  // Opens the folder. This and all functions with `error` return false on failure, and set `error`.
  [[nodiscard]] bool open_folder(const std::string& path, std::string& error);
  // Takes the lock of the folder. Called before open(), or before begin() if the predecessor
  // holds the lock until then.
  [[nodiscard]] bool take_lock(std::string& error);
  // Releases the lock for the successor. Afterwards only another process may take it.
  void release_lock() { lock_.release(); }
  // Gives the lock's file to that user, who can open it later. Has no effect unless the process
  // runs as root.
  void give_lock_to(const std::string& user) { lock_.give_to(user); }

  // Identifies the folder on this machine. Requires: open_folder().
  std::string identity() const;
  // Descriptor of the folder, for the sandbox. Requires: open_folder().
  int folder_descriptor() const { return disk_.descriptor(); }
  // Called after the sandbox was entered: from then on no other folder can be used.
  void mark_sandboxed() { disk_.place().mark_sandboxed(); }

  enum class Opened : std::uint8_t { ok, refused, stopped, fenced };
  // Restores the jobs, logs the result, and reports progress to the service manager. stopped: a
  // signal to end has arrived meanwhile. fenced: another server was faster. Does not change the
  // folder if there is no fence.
  [[nodiscard]] Opened open(Engine& engine, std::string& error);
  // Checks that begin() will succeed, while another server still has the folder.
  [[nodiscard]] bool can_begin(std::string& error);
  // Begins to record changes, after open(). If another server had the lock until now, a failing
  // disk is not an error: changes are refused until the disk works.
  [[nodiscard]] Opened begin(std::string& error);

  Journal& journal() { return binlog_; }
  // Descriptor for epoll: readable if a sync may have ended. The end of a turn collects it.
  int sync_descriptor() const { return disk_.syncer().completion_descriptor(); }

  // The fence -------------------------------------------------------------------------------------

  // Called first in a turn. Waits for a check of the fence if the last good one is too old, and
  // logs a wait that is longer than a healthy volume needs. Returns false if this server is fenced;
  // then nothing may be answered.
  [[nodiscard]] bool pass_fence();
  // Returns true if this server is fenced. Does not wait. Called before answers are sent.
  [[nodiscard]] bool is_fenced() const { return fence_ && fence_->is_fenced(); }
  // Returns when the fence needs the next turn; never() without a fence.
  Instant next_fence_check(Instant now) const;
  // Logs why the server is fenced.
  void log_fenced();
  // Sets a function that ends the process. It is called instead of a wait that could not end
  // because the server is fenced.
  void set_end(void (*end)(void* context), void* context) {
    end_ = end;
    end_context_ = context;
  }

  // Called after each turn. Logs the binlog's notices, and reports changes of the wall clock to it.
  void after_turn();

  // Waits until the disk has no work in progress, so that another process can read the folder. This
  // process may continue afterwards. Returns false if some data could not be written, or the wait
  // exceeds `patience`. Called after a turn.
  [[nodiscard]] bool settle(Duration patience);
  // Makes everything durable. Returns false on failure.
  bool close();

 private:
  static constexpr Duration kProgressInterval = Duration::seconds(1);
  // Time after which a check of the fence is logged as late. A healthy volume is much faster.
  static constexpr Duration kLateCheck = Duration::seconds(2);
  static constexpr Duration kLateCheckInterval = Duration::seconds(10);

  static bool log_progress(void* self, const binlog::ReplayProgress& progress);
  static void on_waiting(void* self);
  static bool keep_alive_while_settling(void* self);
  Opened open_fence(std::string& error);
  bool log_wait(Instant began);
  void log_damage(const binlog::ReplayReport& report);
  void log_notice(const binlog::Notice& notice);

  Log& log_;
  Notifier& notifier_;
  std::optional<FolderFence> fence_;  // Also used by the disk's thread.
  FolderDisk disk_;
  FolderLock lock_;
  binlog::Binlog binlog_;
  RateLimit late_check_{kLateCheckInterval, {}};
  Instant replay_began_;
  // Limits reports while jobs are restored, and while a stop waits for the disk.
  RateLimit progress_{kProgressInterval, {}};
  bool stopped_ = false;
  std::string path_;
  bool is_locked_ = false;
  bool has_begun_ = false;
  void (*end_)(void* context) = nullptr;
  void* end_context_ = nullptr;
};

}  // namespace haricot::os
