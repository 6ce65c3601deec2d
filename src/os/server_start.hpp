// The start of a server, step by step, and its run.
//
// The folder is only read until everything that can fail has succeeded, and a previous server that
// runs has given everything up. Everything that needs privileges comes before enter_sandbox(), and
// files and requests, which an attacker may have written, are read after it; except that the jobs
// of another folder are read before, because the sandbox would deny that.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/queue/engine.hpp"
#include "haricot/service/server_info.hpp"
#include "haricot/service/service.hpp"
#include "os/binlog_folder.hpp"
#include "os/daemon.hpp"
#include "os/descriptor.hpp"
#include "os/hand_over.hpp"
#include "os/last_server.hpp"
#include "os/log.hpp"
#include "os/notify.hpp"
#include "os/options.hpp"
#include "os/server_sockets.hpp"

namespace haricot::os {

// Logs why a server does not start, and the exit status. If a service manager keeps the state of
// the previous server, adds that the next start has it.
void log_cannot_start(Log& log, int status, const std::string& message, bool is_state_kept);

class ServerStart {
 public:
  struct Program {
    std::string_view version;
    StateVersions state_versions;
  };

  // Takes what the service manager has passed, and raises limits of the process. `options` and
  // `log` outlive this.
  ServerStart(const Options& options, const Program& program, Log& log);
  ServerStart(const ServerStart&) = delete;
  ServerStart& operator=(const ServerStart&) = delete;

  // Steps, in this order. A step that returns false has logged the reason, and has reported it to a
  // previous server that waits: the process has to end with exit_status().

  // Opens the folder of the binlog and takes its lock, unless this server takes over from the one
  // that has it.
  [[nodiscard]] bool open_folder();
  // Finds the state that the service manager keeps, or asks the server that runs.
  [[nodiscard]] bool find_last_server();
  [[nodiscard]] bool open_sockets();
  [[nodiscard]] bool become_user();
  // Reads the jobs of the previous server, if they are in another folder.
  [[nodiscard]] bool bring_jobs();
  int exit_status() const { return exit_status_; }

  // Drops all privileges that a turn does not need, if the flags say so.
  void enter_sandbox();
  // Restores the jobs, takes over from the previous server, and serves. Clients may connect
  // meanwhile, and are served afterwards. Returns the exit status.
  int serve();

 private:
  bool fail(int status, const std::string& message);
  void log_start();
  bool restore_jobs(Service& service, Daemon& daemon);
  bool open(Daemon& daemon);
  bool take_over(Service& service, Daemon& daemon);
  bool begin_records(Daemon& daemon);
  bool can_use(BinlogFolder::Opened opened, const std::string& error, Daemon& daemon);
  BinlogFolder* folder() { return folder_ ? &*folder_ : nullptr; }
  TakeOverSocket* socket() { return sockets_.take_over ? &*sockets_.take_over : nullptr; }
  HashKey hash_key();

  const Options& options_;
  const Program program_;
  Log& log_;
  const bool is_confined_;
  Notifier notifier_;
  LastServer last_;
  std::vector<NamedDescriptor> inherited_sockets_;
  std::optional<BinlogFolder> folder_;
  ServerSockets sockets_;
  ServerInfo info_;
  int exit_status_ = 0;
};

}  // namespace haricot::os
