#include "os/server_start.hpp"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "haricot/base/memory.hpp"
#include "haricot/base/time.hpp"
#include "haricot/queue/journal.hpp"
#include "os/exit_status.hpp"
#include "os/inherited.hpp"
#include "os/new.hpp"
#include "os/process.hpp"
#include "os/sandbox.hpp"
#include "os/server_settings.hpp"
#include "os/succession.hpp"

namespace haricot::os {

void log_cannot_start(Log& log, int status, const std::string& message, bool is_state_kept) {
  if (!is_state_kept) {
    log.event(Level::error, "cannot-start", {{"status", status}, {"message", message}});
    return;
  }
  log.event(Level::error, "cannot-start",
            {{"status", status},
             {"message", message},
             {"hint",
              "the connections and jobs of the previous server are kept; "
              "remove the cause, and the next start takes them over"}});
}

// The decision about the sandbox comes first: it depends on variables that are removed.
ServerStart::ServerStart(const Options& options, const Program& program, Log& log)
    : options_(options),
      program_(program),
      log_(log),
      is_confined_(wants_sandbox(options)),
      last_(notifier_, log, program.state_versions) {
  for (const std::string& warning : options.warnings) {
    log.event(Level::warning, "flag", {{"message", warning}});
  }
  raise_descriptor_limit();
  give_large_memory_back();
  std::string error;
  if (!notifier_.open(error)) log.event(Level::warning, "notify", {{"message", error}});
  Inherited inherited = take_inherited();
  last_.inherit(std::move(inherited.parcel));
  inherited_sockets_ = std::move(inherited.sockets);
}

bool ServerStart::fail(int status, const std::string& message) {
  last_.refuse(message);
  log_cannot_start(log_, status, message, last_.is_stored());
  exit_status_ = status;
  return false;
}

// Steps -------------------------------------------------------------------------------------------

bool ServerStart::open_folder() {
  if (options_.binlog_folder.empty()) return true;
  std::string error;
  folder_.emplace(binlog_options(options_), Duration::seconds(options_.fence_after_s), log_,
                  notifier_);
  const bool is_taken_over = !options_.take_over.empty();
  const bool is_good = folder_->open_folder(options_.binlog_folder, error) &&
                       (is_taken_over || folder_->take_lock(error));
  return is_good || fail(kExitBinlog, error);
}

bool ServerStart::find_last_server() {
  std::string error;
  const std::string identity = folder_ ? folder_->identity() : "";
  if (!last_.open(identity, error)) return fail(kExitNotTakenOver, error);
  if (options_.take_over.empty()) return true;
  const bool has_answered =
      last_.ask(options_.take_over, error) && last_.has_folder(identity, error);
  return has_answered || fail(kExitNotTakenOver, error);
}

bool ServerStart::open_sockets() {
  std::string error;
  return sockets_.open(options_, std::move(inherited_sockets_), last_.state(), log_, error) ||
         fail(kExitCannotListen, error);
}

bool ServerStart::become_user() {
  if (options_.user.empty()) return true;
  if (folder_) folder_->give_lock_to(options_.user);
  std::string error;
  bool no_such_user = false;
  return os::become_user(options_.user, error, no_such_user) ||
         fail(no_such_user ? kExitNoUser : EXIT_FAILURE, error);
}

bool ServerStart::bring_jobs() {
  log_start();
  info_ = server_info(options_, program_.version);
  std::string error;
  return last_.bring_jobs(info_, error) || fail(kExitNotTakenOver, error);
}

// Logs the version and the configuration. The later event `ready` reports that the server serves.
void ServerStart::log_start() {
  const bool has_binlog = !options_.binlog_folder.empty();
  const std::string fsync =
      options_.binlog_sync ? std::to_string(options_.binlog_sync_ms) : std::string("never");
  log_.event(Level::info, "start",
             {{"version", program_.version},
              {"compat", options_.compat == Compat::v1_12 ? "1.12" : "1.13"},
              {"pid", ::getpid()},
              {"addresses", sockets_.names()},
              {"max_job_size", options_.job_bytes_max},
              {"max_open_files", descriptor_limit()},
              {"binlog", has_binlog ? options_.binlog_folder : "none"},
              {"fsync", has_binlog ? fsync : "none"}});
  log_.flush();
}

void ServerStart::enter_sandbox() {
  if (!is_confined_) return;
  Sandbox sandbox;
  sandbox.notifies = notifier_.is_open();
  sandbox.hands_over = sockets_.take_over || (notifier_.is_open() && options_.hands_over);
  if (folder_) sandbox.paths.folder = folder_->folder_descriptor();
  sandbox.paths.removal_folders = sockets_.removal_folders();
  const std::string missing = sandbox.enter();
  if (folder_) folder_->mark_sandboxed();
  if (missing.empty()) {
    log_.event(Level::info, "sandbox");
  } else {
    log_.event(Level::warning, "sandbox-incomplete", {{"message", missing}});
  }
}

// Serving -----------------------------------------------------------------------------------------

int ServerStart::serve() {
  const std::uint64_t memory_max = info_.limits.job_memory_bytes_max;
  if (memory_max > 0) Memory::limit(memory_max);
  NoJournal no_journal;
  Journal& journal = folder_ ? folder_->journal() : no_journal;
  const HashKey key = hash_key();
  Service service(info_, journal, last_.rested_at(), key);
  Daemon daemon(service, std::move(sockets_.listeners), log_, notifier_, options_.verbosity,
                folder());
  ServerIdentity identity{.version = program_.state_versions.last,
                          .addresses = addresses_of(options_),
                          .folder = "",
                          .hash_key = {key.first, key.second}};
  Succession succession(daemon, service, folder(), socket(), notifier_, log_, std::move(identity),
                        options_.hands_over);
  // After these steps nothing may throw: the previous server may have given everything up.
  const bool can_serve = restore_jobs(service, daemon) && open(daemon) &&
                         take_over(service, daemon) && begin_records(daemon);
  if (!can_serve) return exit_status_;

  log_.event(Level::info, "ready", {{"jobs", service.engine().jobs().size()}});
  log_.flush();
  notifier_.ready("serving");
  last_.forget(daemon, service);
  return succession.serve();
}

// Returns the key of the previous server, or a new one.
HashKey ServerStart::hash_key() {
  const TakeOver* const last = last_.state();
  if (last == nullptr) return make_hash_key();
  return {last->identity().hash_key[0], last->identity().hash_key[1]};
}

bool ServerStart::restore_jobs(Service& service, Daemon& daemon) {
  if (!folder_) return true;
  std::string error;
  const BinlogFolder::Opened opened = folder_->open(service.engine(), error);
  return can_use(opened, error, daemon);
}

bool ServerStart::open(Daemon& daemon) {
  std::string error;
  const bool is_good =
      daemon.open(error) && (socket() == nullptr || socket()->attach(daemon, error));
  return is_good || fail(EXIT_FAILURE, error);
}

// After this a previous server that runs has given everything up.
bool ServerStart::take_over(Service& service, Daemon& daemon) {
  std::string error;
  if (!last_.read(daemon, service, error)) return fail(kExitNotTakenOver, error);
  if (folder_ && last_.is_running() && !folder_->can_begin(error)) {
    return fail(kExitBinlog, error);
  }
  return last_.agree(error) || fail(kExitNotTakenOver, error);
}

bool ServerStart::begin_records(Daemon& daemon) {
  if (!folder_) return true;
  std::string error;
  const BinlogFolder::Opened opened = folder_->begin(error);
  return can_use(opened, error, daemon);
}

// Returns true if the folder can be used. If this server is fenced, ends the process.
bool ServerStart::can_use(BinlogFolder::Opened opened, const std::string& error, Daemon& daemon) {
  switch (opened) {
    case BinlogFolder::Opened::ok:
      return true;
    case BinlogFolder::Opened::refused:
      return fail(kExitBinlog, error);
    case BinlogFolder::Opened::stopped:
      exit_status_ = EXIT_SUCCESS;
      return false;
    case BinlogFolder::Opened::fenced:
      break;
  }
  daemon.end_fenced();
}

}  // namespace haricot::os
