// The start of a server, step by step, and its run.
//
// The folder is only read until everything that can fail has succeeded, and a running predecessor
// has given everything up. Steps that need privileges come before enter_sandbox(). Files and
// requests may come from an attacker, so they are read after it, except for the jobs of another
// folder, which the sandbox would deny.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/binlog/binlog_state.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/service/server_info.hpp"
#include "haricot/service/service.hpp"
#include "os/binlog_folder.hpp"
#include "os/daemon.hpp"
#include "os/descriptor.hpp"
#include "os/listener.hpp"
#include "os/log.hpp"
#include "os/options.hpp"
#include "os/predecessor.hpp"
#include "os/sealed_state.hpp"
#include "os/service_manager.hpp"
#include "os/take_over_socket.hpp"

namespace haricot::os {

// Exit statuses of haricotd. Most are those of beanstalkd, which scripts of operators know.
inline constexpr int kExitUsage = 5;
inline constexpr int kExitBinlog = 10;
// Exit status if taking over has failed. The state of the predecessor is kept.
inline constexpr int kExitNotTakenOver = 20;
inline constexpr int kExitNoUser = 33;
inline constexpr int kExitCannotListen = 111;

// Settings of the parts of a server, by its flags -------------------------------------------------

// Returns the style of a log on standard error.
LogStyle log_style(const Options& options);
binlog::BinlogOptions binlog_options(const Options& options);
// Returns the settings of the service, with facts about this process. `version` is haricot's.
ServerInfo server_info(const Options& options, std::string_view version);

// A check and a start -----------------------------------------------------------------------------

// Checks for --check if a server could start while another one runs: returns the exit status of a
// start, and the reason in `error`; 0 if the server would serve. Does not bind an address that is
// in use, takes no lock, and writes nothing. Addresses in use and the lock of the folder count as
// free, because the server to be replaced has them. Changes the user of the process as a start
// does, so the process has to end afterwards.
[[nodiscard]] int check_start(const Options& options, std::string& error);

// The sockets that a server listens on: those that the service manager
// has passed, those of the predecessor, or new ones.
struct ServerSockets {
  std::vector<Listener> listeners;          // Never empty if open() has succeeded.
  std::optional<TakeOverSocket> take_over;  // Of --take-over-socket.

  // Takes the `passed` sockets, or else listens on the addresses of the flags; listens on the
  // socket of --take-over-socket. Sockets that `predecessor` has for these addresses are moved out
  // of it; null: there is no predecessor. Returns false and sets `error` on failure.
  [[nodiscard]] bool open(const Options& options, std::vector<NamedDescriptor> passed,
                          PredecessorState* predecessor, Log& log, std::string& error);
  // Returns the folders in which files of sockets have to be removed at the end.
  std::vector<std::string> removal_folders() const;
  // Returns the names of the listeners, for the log.
  std::string names() const;
};

// Returns the addresses of the flags as one text, which earlier versions compare with their own.
std::string addresses_of(const Options& options);

// Logs why a server does not start, and the exit status. If a service manager keeps the state of
// the predecessor, adds that the next start has it.
void log_cannot_start(Log& log, int status, const std::string& message, bool is_state_kept);

class ServerStart {
 public:
  struct Program {
    std::string_view version;
    StateVersions state_versions;
  };

  // Takes the descriptors that the service manager has passed, and raises limits of the process.
  // `options` and `log` outlive this.
  ServerStart(const Options& options, const Program& program, Log& log);
  ServerStart(const ServerStart&) = delete;
  ServerStart& operator=(const ServerStart&) = delete;

  // Steps, in this order. A step that returns false has logged the reason, and has reported it to a
  // predecessor that waits: the process has to end with exit_status().

  // Opens the folder of the binlog and takes its lock, unless this server takes over from the one
  // that has it.
  [[nodiscard]] bool open_folder();
  // Finds the state that the service manager keeps, or asks the server that runs.
  [[nodiscard]] bool find_predecessor();
  [[nodiscard]] bool open_sockets();
  [[nodiscard]] bool become_user();
  // Reads the jobs of the predecessor, if they are in another folder.
  [[nodiscard]] bool move_jobs();
  int exit_status() const { return exit_status_; }

  // Drops all privileges that a turn does not need, if the flags say so.
  void enter_sandbox();
  // Restores the jobs, takes over from the predecessor, and serves. Clients may connect
  // meanwhile, and are served afterwards. Returns the exit status.
  int serve(const std::vector<Rule>& rules);

 private:
  bool fail(int status, const std::string& message);
  void log_start();
  void reload_rules(Service& service);
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
  Predecessor predecessor_;
  std::vector<NamedDescriptor> passed_sockets_;
  std::optional<BinlogFolder> folder_;
  ServerSockets sockets_;
  ServerInfo info_;
  int exit_status_ = 0;
};

}  // namespace haricot::os
