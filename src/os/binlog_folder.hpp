// The binlog and what it stands on: the folder, its lock, the clocks and the log.

#pragma once

#include <cstdint>
#include <string>

#include "haricot/base/rate_limit.hpp"
#include "haricot/base/time.hpp"
#include "haricot/binlog/binlog.hpp"
#include "haricot/queue/engine.hpp"
#include "os/disk.hpp"
#include "os/folder_lock.hpp"
#include "os/log.hpp"
#include "os/notify.hpp"

namespace haricot::os {

class BinlogFolder {
 public:
  // The log and the notifier outlive this.
  BinlogFolder(const binlog::BinlogOptions& options, Log& log, Notifier& notifier)
      : log_(log), notifier_(notifier), binlog_(disk_, options) {}
  // If it was not opened, the folder has no lock that it did not have before.
  ~BinlogFolder();
  BinlogFolder(const BinlogFolder&) = delete;
  BinlogFolder& operator=(const BinlogFolder&) = delete;

  // Opens the folder and takes its lock. On failure false, and `error` says why.
  [[nodiscard]] bool take(const std::string& path, std::string& error);
  // Lets that user open the lock's file later; of no effect but for root.
  void give_lock_to(const std::string& user) { lock_.give_to(user); }

  // The folder, for the sandbox. Requires: take().
  int folder_descriptor() const { return disk_.descriptor(); }
  // The sandbox was entered: no other folder can be used any more.
  void note_sandbox() { disk_.note_fence(); }

  enum class Opened : std::uint8_t { ok, refused, stopped };
  // Brings the jobs back, and tells the log how it went, and the service manager how it goes.
  // stopped: a signal to end came meanwhile.
  [[nodiscard]] Opened open(Engine& engine, std::string& error);

  Journal& journal() { return binlog_; }
  // For epoll: readable when a sync may have ended. The end of a turn takes it out.
  int sync_descriptor() const { return disk_.completion_descriptor(); }

  // After each turn: what the binlog has to say goes to the log, and it learns of a wall clock
  // that was set.
  void after_turn();

  // Makes everything durable. False: not all could be.
  bool close();

 private:
  static constexpr Duration kProgressInterval = Duration::seconds(1);

  static bool log_progress(void* self, const binlog::ReplayProgress& progress);
  static void log_waiting(void* self);
  void log_damage(const binlog::ReplayReport& report);
  void tell(const binlog::Notice& notice);

  Log& log_;
  Notifier& notifier_;
  FolderDisk disk_;
  FolderLock lock_;
  binlog::Binlog binlog_;
  Instant replay_began_;
  // Of what is told while jobs are brought back, or while the stop waits for the disk.
  RateLimit progress_{kProgressInterval, {}};
  bool stopped_ = false;
  bool was_taken_ = false;
  bool was_opened_ = false;
};

}  // namespace haricot::os
