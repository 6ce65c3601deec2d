// The binlog and what it stands on: the folder, its lock, the clocks and the log.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "haricot/base/rate_limit.hpp"
#include "haricot/base/time.hpp"
#include "haricot/binlog/binlog.hpp"
#include "haricot/queue/engine.hpp"
#include "os/disk.hpp"
#include "os/folder_fence.hpp"
#include "os/folder_lock.hpp"
#include "os/log.hpp"
#include "os/notify.hpp"

namespace haricot::os {

class BinlogFolder {
 public:
  // The log and the notifier outlive this.
  // `fence_after`: give the folder up when it has stood still for so long, or belongs to another
  // server. 0: there is no fence.
  BinlogFolder(const binlog::BinlogOptions& options, Duration fence_after, Log& log,
               Notifier& notifier);
  // If the binlog has not begun, this removes the lock's file if take_lock() has made it.
  ~BinlogFolder();
  BinlogFolder(const BinlogFolder&) = delete;
  BinlogFolder& operator=(const BinlogFolder&) = delete;

  // Opens the folder. On failure false, and `error` says why, as in all that follow.
  [[nodiscard]] bool open_folder(const std::string& path, std::string& error);
  // Takes the lock of the folder: before open(), or before begin() where a server that ends has it
  // until then.
  [[nodiscard]] bool take_lock(std::string& error);
  // For the server that comes next. The next take_lock() must be another process's.
  void release_lock() { lock_.release(); }
  // Lets that user open the lock's file later; of no effect but for root.
  void give_lock_to(const std::string& user) { lock_.give_to(user); }

  // Which folder of the machine it is. Requires: open_folder().
  std::string identity() const;
  // The folder, for the sandbox. Requires: open_folder().
  int folder_descriptor() const { return disk_.descriptor(); }
  // The sandbox was entered: no other folder can be used any more.
  void mark_sandboxed() { disk_.mark_sandboxed(); }

  enum class Opened : std::uint8_t { ok, refused, stopped, fenced };
  // Brings the jobs back, and tells the log how it went, and the service manager how it goes.
  // stopped: a signal to end came meanwhile. fenced: another server was faster. Without a fence
  // nothing in the folder changes.
  [[nodiscard]] Opened open(Engine& engine, std::string& error);
  // Checks that begin() will work, while another server still has the folder.
  [[nodiscard]] bool can_begin(std::string& error);
  // Begins to record changes, after open(). If another server has given the folder up, this does
  // not fail with the disk: changes are refused until the disk works.
  [[nodiscard]] Opened begin(std::string& error);

  Journal& journal() { return binlog_; }
  // For epoll: readable when a sync may have ended. The end of a turn takes it out.
  int sync_descriptor() const { return disk_.completion_descriptor(); }

  // The fence -------------------------------------------------------------------------------------

  // Before anything of a turn: waits for a check, if the last good one is too old, and tells the
  // log of a wait that is none of a volume in order. False: this server is fenced, and nothing may
  // be answered any more.
  [[nodiscard]] bool pass_fence();
  // The same without a wait. Before answers are sent.
  [[nodiscard]] bool is_fenced() const { return fence_ && fence_->is_fenced(); }
  // When a turn has to begin for the sake of the fence; never() without one.
  Instant next_fence_check(Instant now) const;
  // Tells the log why the server is fenced.
  void log_fenced();
  // Is called instead of a wait that will not end: the server is fenced. Does not return.
  void set_end(void (*end)(void* context), void* context) {
    end_ = end;
    end_context_ = context;
  }

  // After each turn: what the binlog has to say goes to the log, and it learns of a wall clock
  // that was set.
  void after_turn();

  // Waits until nothing is under way on the disk, so that another process can read the folder, and
  // this one can go on afterwards. False: not all is in the folder, or this takes longer than that.
  // To be called after a turn.
  [[nodiscard]] bool settle(Duration patience);
  // Makes everything durable. False: not all could be.
  bool close();

 private:
  static constexpr Duration kProgressInterval = Duration::seconds(1);
  // A volume in order answers a check long before that.
  static constexpr Duration kLateCheck = Duration::seconds(2);
  static constexpr Duration kLateCheckInterval = Duration::seconds(10);

  static bool log_progress(void* self, const binlog::ReplayProgress& progress);
  static void on_waiting(void* self);
  static bool keep_alive_while_settling(void* self);
  Opened open_fence(std::string& error);
  bool tell_of_wait(Instant began);
  void log_damage(const binlog::ReplayReport& report);
  void tell(const binlog::Notice& notice);

  Log& log_;
  Notifier& notifier_;
  std::optional<FolderFence> fence_;  // The thread of the disk uses it.
  FolderDisk disk_;
  FolderLock lock_;
  binlog::Binlog binlog_;
  RateLimit late_check_{kLateCheckInterval, {}};
  Instant replay_began_;
  // Of what is told while jobs are brought back, or while the stop waits for the disk.
  RateLimit progress_{kProgressInterval, {}};
  bool stopped_ = false;
  std::string path_;
  bool is_locked_ = false;
  bool has_begun_ = false;
  void (*end_)(void* context) = nullptr;
  void* end_context_ = nullptr;
};

}  // namespace haricot::os
