#include "os/server_start.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "haricot/base/memory.hpp"
#include "haricot/base/time.hpp"
#include "haricot/binlog/read/folder_plan.hpp"
#include "haricot/queue/journal.hpp"
#include "os/address.hpp"
#include "os/connection.hpp"
#include "os/disk.hpp"
#include "os/folder_lock.hpp"
#include "os/hand_over.hpp"
#include "os/process.hpp"
#include "os/rules_file.hpp"
#include "os/sandbox.hpp"

namespace haricot::os {

LogStyle log_style(const Options& options) {
  return {.format = options.log_format,
          .level = options.verbosity > 0 ? Level::debug : Level::info,
          .for_journal = is_journal(STDERR_FILENO)};
}

binlog::BinlogOptions binlog_options(const Options& options) {
  constexpr std::uint64_t kLongest = 1'000'000'000;  // Milliseconds: more than a week.
  binlog::BinlogOptions result;
  result.file_bytes = options.binlog_bytes_max;
  result.open_files_max = SpareDescriptors::share_of(descriptor_limit());
  result.sync_interval =
      Duration::milliseconds(static_cast<std::int64_t>(std::min(options.binlog_sync_ms, kLongest)));
  result.sync = binlog::SyncPolicy::interval;
  if (options.binlog_sync_ms == 0) result.sync = binlog::SyncPolicy::every_turn;
  if (!options.binlog_sync) result.sync = binlog::SyncPolicy::never;
  result.strict = options.binlog_strict;
  return result;
}

ServerInfo server_info(const Options& options, std::string_view version) {
  ServerInfo info;
  info.job_bytes_max = options.job_bytes_max;
  info.binlog_bytes_max = options.binlog_bytes_max;
  info.compat = options.compat;
  info.limits = options.limits;
  info.commands = options.commands;
  info.haricot_version = version;
  describe_process(info);
  info.address_of = &Connection::address_of;
  return info;
}

// A check -----------------------------------------------------------------------------------------

namespace {

bool fail(const std::string& what, std::string& error) {
  error = what + ": " + std::strerror(errno);
  return false;
}

// This process holds no lock, so opening the file drops none.
bool can_lock(const FolderDisk& disk, const std::string& path, std::string& error) {
  FolderLock lock;
  if (lock.can_open(disk.descriptor())) return true;
  error = lock.why_not(path);
  return false;
}

// Reads the signatures of the files, and no jobs.
bool can_use_files(FolderDisk& disk, const std::string& path, std::string& error) {
  if (::faccessat(disk.descriptor(), ".", R_OK | W_OK | X_OK, AT_EACCESS) != 0) {
    return fail("cannot write to " + path, error);
  }
  disk.files().expect_writers();
  binlog::FolderFacts facts;
  if (disk.snapshot().take() != binlog::DiskStatus::ok) {
    error = disk.last_error();
    return false;
  }
  if (!binlog::gather_facts(disk, disk.snapshot().note(), 0, facts, error)) return false;
  const binlog::FolderPlan plan = binlog::plan_folder(facts);
  error = plan.refusal;
  if (error.empty()) error = with_remedy(refusal_of(plan.problems), plan.problems, path);
  return error.empty();
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Returns true if a unix socket exists at the path, whether or not a server answers, or can be
// made.
bool can_listen_at(const std::string& path, std::string& error) {
  bool is_there = false;
  if (!may_be_socket(path, is_there, error)) return false;
  if (::faccessat(AT_FDCWD, folder_of(path).c_str(), W_OK | X_OK, AT_EACCESS) == 0) return true;
  return fail("cannot listen on " + path, error);
}

// Binds a socket that does not listen, and so does not disturb a server. Returns true if the
// address is in use.
bool can_bind(const addrinfo& address) {
  const Descriptor socket(
      ::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, address.ai_protocol));
  if (!socket) return false;
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return ::bind(socket.get(), address.ai_addr, address.ai_addrlen) == 0 || errno == EADDRINUSE;
}

// Like Listener::open(): a name may have addresses that this machine lacks, but not only such.
bool can_listen_on(const std::string& listen, const std::string& port, std::string& error) {
  if (listen.starts_with(kUnixPrefix))
    return can_listen_at(listen.substr(kUnixPrefix.size()), error);
  const Addresses found = addresses_to_listen_on(listen, port, error);
  if (!found) return false;
  bool has_one = false;
  for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
    if (can_bind(*at)) {
      has_one = true;
      continue;
    }
    const bool is_missing = is_missing_address(errno);
    std::string message = "cannot listen on ";
    message.append(listen).append(":").append(port);
    (void)fail(message, error);
    if (!is_missing) return false;
  }
  if (has_one) error.clear();
  return has_one;
}

bool can_listen(const Options& options, std::string& error) {
  if (!can_listen_on(options.listen, options.port, error)) return false;
  for (const std::string& address : options.listen_also) {
    if (!can_listen_on(address, options.port, error)) return false;
  }
  const std::string& path = options.take_over_socket;
  return path.empty() || can_listen_at(path, error);
}

// Checks in the order of a start, so that the first failure is the one that a start would report.
int check_in_order(const Options& options, std::string& error) {
  const bool has_binlog = !options.binlog_folder.empty();
  const std::string& folder = options.binlog_folder;
  FolderDisk disk;
  if (has_binlog && !disk.open(folder)) {
    error = disk.last_error();
    return kExitBinlog;
  }
  if (has_binlog && !can_lock(disk, folder, error)) return kExitBinlog;
  if (!can_listen(options, error)) return kExitCannotListen;
  bool no_such_user = false;
  if (!options.user.empty() && !become_user(options.user, error, no_such_user)) {
    return no_such_user ? kExitNoUser : EXIT_FAILURE;
  }
  if (has_binlog && !can_use_files(disk, folder, error)) return kExitBinlog;
  return EXIT_SUCCESS;
}

}  // namespace

int check_start(const Options& options, std::string& error) {
  try {
    return check_in_order(options, error);
  } catch (const std::bad_alloc&) {
    return EXIT_FAILURE;
  }
}

// Sockets -----------------------------------------------------------------------------------------

namespace {

// Opens listeners on all addresses, or moves them out of `predecessor`. Returns none and sets
// `error` if one address fails.
std::vector<Listener> open_listeners(const Options& options, std::vector<Listener>* predecessor,
                                     std::string& error) {
  std::vector<Listener> all = Listener::open(options.listen, options.port, error, predecessor);
  for (const std::string& address : options.listen_also) {
    if (all.empty()) break;
    std::vector<Listener> more = Listener::open(address, options.port, error, predecessor);
    if (more.empty()) return {};
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }
  return all;
}

// Returns the sockets that the service manager has passed, or else listeners on all addresses.
// Returns none and sets `error` on failure.
std::vector<Listener> find_listeners(const Options& options, std::vector<NamedDescriptor> sockets,
                                     PredecessorState* predecessor, Log& log, std::string& error) {
  std::vector<Listener> passed = Listener::from_passed(std::move(sockets), error);
  if (!passed.empty() && options.listen_given) {
    log.event(Level::warning, "flag",
              {{"message", "-l, -p and --listen-also are ignored: the sockets are inherited"}});
  }
  if (!passed.empty() || !error.empty()) return passed;
  return open_listeners(options, predecessor == nullptr ? nullptr : &predecessor->listeners(),
                        error);
}

std::optional<Listener> find_take_over_socket(const Options& options, PredecessorState* predecessor,
                                              std::string& error) {
  const std::string& path = options.take_over_socket;
  if (predecessor != nullptr && predecessor->take_over_socket() &&
      predecessor->take_over_socket()->is_at(path)) {
    return std::exchange(predecessor->take_over_socket(), std::nullopt);
  }
  return Listener::open_for_messages(path, options.user, error);
}

}  // namespace

bool ServerSockets::open(const Options& options, std::vector<NamedDescriptor> passed,
                         PredecessorState* predecessor, Log& log, std::string& error) {
  listeners = find_listeners(options, std::move(passed), predecessor, log, error);
  if (listeners.empty() || options.take_over_socket.empty()) return !listeners.empty();
  std::optional<Listener> socket = find_take_over_socket(options, predecessor, error);
  if (socket) take_over.emplace(std::move(*socket));
  return socket.has_value();
}

std::vector<std::string> ServerSockets::removal_folders() const {
  std::vector<std::string> folders;
  for (const Listener& listener : listeners) folders.push_back(listener.removal_folder());
  if (take_over) folders.push_back(take_over->listener().removal_folder());
  std::erase(folders, "");
  return folders;
}

std::string ServerSockets::names() const {
  std::string names;
  for (const Listener& listener : listeners) names += (names.empty() ? "" : ",") + listener.name();
  return names;
}

std::string addresses_of(const Options& options) {
  std::string result = options.listen + " " + options.port;
  for (const std::string& address : options.listen_also) result += " " + address;
  return result;
}

// The start ---------------------------------------------------------------------------------------

void log_cannot_start(Log& log, int status, const std::string& message, bool is_state_kept) {
  if (!is_state_kept) {
    log.event(Level::error, "cannot-start", {{"status", status}, {"message", message}});
    return;
  }
  log.event(Level::error, "cannot-start",
            {{"status", status},
             {"message", message},
             {"hint",
              "the connections and jobs of the predecessor are kept; "
              "remove the cause, and the next start takes them over"}});
}

// The decision about the sandbox comes first: it depends on variables that are removed.
ServerStart::ServerStart(const Options& options, const Program& program, Log& log)
    : options_(options),
      program_(program),
      log_(log),
      is_confined_(wants_sandbox(options)),
      predecessor_(notifier_, log, program.state_versions) {
  for (const std::string& warning : options.warnings) {
    log.event(Level::warning, "flag", {{"message", warning}});
  }
  raise_descriptor_limit();
  give_large_memory_back();
  std::string error;
  if (!notifier_.open(error)) log.event(Level::warning, "notify", {{"message", error}});
  PassedDescriptors passed = take_passed_descriptors();
  predecessor_.take_stored(std::move(passed.state));
  passed_sockets_ = std::move(passed.sockets);
}

bool ServerStart::fail(int status, const std::string& message) {
  predecessor_.refuse(message);
  log_cannot_start(log_, status, message, predecessor_.is_stored());
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

bool ServerStart::find_predecessor() {
  std::string error;
  const std::string identity = folder_ ? folder_->identity() : "";
  if (!predecessor_.open(identity, error)) return fail(kExitNotTakenOver, error);
  if (options_.take_over.empty()) return true;
  const bool has_answered =
      predecessor_.ask(options_.take_over, error) && predecessor_.has_folder(identity, error);
  return has_answered || fail(kExitNotTakenOver, error);
}

bool ServerStart::open_sockets() {
  std::string error;
  return sockets_.open(options_, std::move(passed_sockets_), predecessor_.state(), log_, error) ||
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

bool ServerStart::move_jobs() {
  log_start();
  info_ = server_info(options_, program_.version);
  std::string error;
  return predecessor_.move_jobs(info_, error) || fail(kExitNotTakenOver, error);
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
  if (!options_.rules_file.empty()) {
    // The folder, because many editors replace a file.
    sandbox.paths.reading_folders.push_back(folder_of(options_.rules_file));
  }
  const std::string missing = sandbox.enter();
  if (folder_) folder_->mark_sandboxed();
  if (missing.empty()) {
    log_.event(Level::info, "sandbox");
  } else {
    log_.event(Level::warning, "sandbox-incomplete", {{"message", missing}});
  }
}

// Serving -----------------------------------------------------------------------------------------

// A mistake leaves the rules as they are. Reads a small file in a turn, as an exception.
void ServerStart::reload_rules(Service& service) {
  std::string error;
  try {
    std::vector<Rule> rules;
    if (read_rules(options_, rules, error)) {
      service.engine().set_rules(rules);
      log_rules(log_, rules);
      return;
    }
  } catch (const std::bad_alloc&) {
    error = "no memory";
  }
  log_.event(Level::error, "rules-refused",
             {{"message", error}, {"hint", "the rules stay as they were; mend the file"}});
}

int ServerStart::serve(const std::vector<Rule>& rules) {
  const std::uint64_t memory_max = info_.limits.job_memory_bytes_max;
  if (memory_max > 0) Memory::limit(memory_max);
  NoJournal no_journal;
  Journal& journal = folder_ ? folder_->journal() : no_journal;
  const HashKey key = hash_key();
  Service service(info_, journal, predecessor_.rested_at(), key);
  service.engine().set_rules(rules);
  Daemon daemon(service, std::move(sockets_.listeners), log_, notifier_, options_.verbosity,
                folder());
  if (!options_.rules_file.empty()) daemon.on_reload([&] { reload_rules(service); });
  if (!rules.empty()) log_rules(log_, rules);
  ServerIdentity identity{.version = program_.state_versions.last,
                          .addresses = addresses_of(options_),
                          .folder = "",
                          .hash_key = {key.first, key.second}};
  HandOver hand_over(daemon, service, folder(), socket(), notifier_, log_, std::move(identity),
                     options_.hands_over);
  // After these steps nothing may throw: the predecessor may have given everything up.
  const bool can_serve = restore_jobs(service, daemon) && open(daemon) &&
                         take_over(service, daemon) && begin_records(daemon);
  if (!can_serve) return exit_status_;

  log_.event(Level::info, "ready", {{"jobs", service.engine().jobs().size()}});
  log_.flush();
  notifier_.ready("serving");
  predecessor_.finish(daemon, service);
  return hand_over.serve();
}

// Returns the key of the predecessor, or a new one.
HashKey ServerStart::hash_key() {
  const PredecessorState* const predecessor = predecessor_.state();
  if (predecessor == nullptr) return make_hash_key();
  return {predecessor->identity().hash_key[0], predecessor->identity().hash_key[1]};
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

// After this a predecessor that runs has given everything up.
bool ServerStart::take_over(Service& service, Daemon& daemon) {
  std::string error;
  if (!predecessor_.read(daemon, service, error)) return fail(kExitNotTakenOver, error);
  if (folder_ && predecessor_.is_running() && !folder_->can_begin(error)) {
    return fail(kExitBinlog, error);
  }
  return predecessor_.confirm(error) || fail(kExitNotTakenOver, error);
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
