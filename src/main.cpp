// haricotd: options, parts, run.

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/base/memory.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/queue/journal.hpp"
#include "haricot/service/server_info.hpp"
#include "haricot/service/service.hpp"
#include "os/binlog_folder.hpp"
#include "os/clock.hpp"
#include "os/connection.hpp"
#include "os/daemon.hpp"
#include "os/exit_status.hpp"
#include "os/hand_over.hpp"
#include "os/inherited.hpp"
#include "os/last_server.hpp"
#include "os/listener.hpp"
#include "os/log.hpp"
#include "os/new.hpp"
#include "os/notify.hpp"
#include "os/options.hpp"
#include "os/process.hpp"
#include "os/sandbox.hpp"
#include "os/start_check.hpp"
#include "os/succession.hpp"
#include "os/take_over_socket.hpp"

namespace {

using namespace haricot;

// Versions of a server's state: see docs/contributing.md, To change what a restart hands over.
#ifndef HARICOT_STATE_VERSIONS
#define HARICOT_STATE_VERSIONS 1, 1
#endif
constexpr os::StateVersions kStateVersions{HARICOT_STATE_VERSIONS};

// Prints them in a line; the last is the one that this program writes.
void print_state_versions() {
  for (std::uint32_t version = kStateVersions.first; version < kStateVersions.last; ++version) {
    std::printf("%u ", version);
  }
  std::printf("%u\n", kStateVersions.last);
}

// A service manager keeps a state until a start succeeds.
constexpr const char* kKept =
    "the connections and jobs of the previous server are kept; "
    "remove the cause, and the next start takes them over";

// Reports why the server does not start, also to a previous server that waits for it.
int fail(os::Log& log, os::LastServer& last, const std::string& message, int status) {
  last.refuse(message);
  if (last.is_stored()) {
    log.event(os::Level::error, "cannot-start",
              {{"status", status}, {"message", message}, {"hint", kKept}});
  } else {
    log.event(os::Level::error, "cannot-start", {{"status", status}, {"message", message}});
  }
  return status;
}

os::LogStyle log_style(const os::Options& options) {
  return {.format = options.log_format,
          .level = options.verbosity > 0 ? os::Level::debug : os::Level::info,
          .for_journal = os::is_journal(STDERR_FILENO)};
}

// Logs the version and the configuration. The later event `ready` reports that the server serves.
void log_start(os::Log& log, const os::Options& options,
               const std::vector<os::Listener>& listeners) {
  std::string addresses;
  for (const os::Listener& listener : listeners) {
    addresses += (addresses.empty() ? "" : ",") + listener.name();
  }
  const bool has_binlog = !options.binlog_folder.empty();
  const std::string fsync =
      options.binlog_sync ? std::to_string(options.binlog_sync_ms) : std::string("never");
  log.event(os::Level::info, "start",
            {{"version", HARICOT_VERSION},
             {"compat", options.compat == Compat::v1_12 ? "1.12" : "1.13"},
             {"pid", ::getpid()},
             {"addresses", addresses},
             {"max_job_size", options.job_bytes_max},
             {"max_open_files", os::descriptor_limit()},
             {"binlog", has_binlog ? options.binlog_folder : "none"},
             {"fsync", has_binlog ? fsync : "none"}});
  log.flush();
}

binlog::BinlogOptions binlog_options(const os::Options& options) {
  constexpr std::uint64_t kLongest = 1'000'000'000;  // Milliseconds: more than a week.
  binlog::BinlogOptions result;
  result.file_bytes = options.binlog_bytes_max;
  result.open_files_max = os::SpareDescriptors::share_of(os::descriptor_limit());
  result.sync_interval =
      Duration::milliseconds(static_cast<std::int64_t>(std::min(options.binlog_sync_ms, kLongest)));
  result.sync = binlog::SyncPolicy::interval;
  if (options.binlog_sync_ms == 0) result.sync = binlog::SyncPolicy::every_turn;
  if (!options.binlog_sync) result.sync = binlog::SyncPolicy::never;
  result.strict = options.binlog_strict;
  return result;
}

// Sockets that the server listens on.
struct Sockets {
  std::vector<os::Listener> listeners;
  std::optional<os::TakeOverSocket> take_over;
};

// Everything that needs privileges is done: the sockets are bound, the folder is open, and the
// process has its final user. Files and requests, which an attacker may have written, are not read
// yet.
void enter_sandbox(const os::Options& options, const Sockets& sockets, os::BinlogFolder* binlog,
                   const os::Notifier& notifier, os::Log& log) {
  os::Sandbox sandbox;
  sandbox.notifies = notifier.is_open();
  sandbox.hands_over = sockets.take_over || (notifier.is_open() && options.hands_over);
  if (binlog != nullptr) sandbox.paths.folder = binlog->folder_descriptor();
  std::vector<std::string>& folders = sandbox.paths.removal_folders;
  for (const os::Listener& listener : sockets.listeners) {
    folders.push_back(listener.removal_folder());
  }
  if (sockets.take_over) folders.push_back(sockets.take_over->listener().removal_folder());
  std::erase(folders, "");
  const std::string missing = sandbox.enter();
  if (binlog != nullptr) binlog->mark_sandboxed();
  if (missing.empty()) {
    log.event(os::Level::info, "sandbox");
  } else {
    log.event(os::Level::warning, "sandbox-incomplete", {{"message", missing}});
  }
}

// Opens listeners on all addresses, or moves them out of `last`. Returns none and sets `error` if
// one address fails.
std::vector<os::Listener> open_listeners(const os::Options& options,
                                         std::vector<os::Listener>* last, std::string& error) {
  std::vector<os::Listener> all = os::Listener::open(options.listen, options.port, error, last);
  for (const std::string& address : options.listen_also) {
    if (all.empty()) break;
    std::vector<os::Listener> more = os::Listener::open(address, options.port, error, last);
    if (more.empty()) return {};
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }
  return all;
}

// Returns the addresses of the flags as one text, which earlier versions compare with their own.
std::string addresses(const os::Options& options) {
  std::string result = options.listen + " " + options.port;
  for (const std::string& address : options.listen_also) result += " " + address;
  return result;
}

// Returns the inherited sockets, or else listeners on all addresses. Returns none and sets `error`
// on failure.
std::vector<os::Listener> find_listeners(const os::Options& options,
                                         std::vector<os::NamedDescriptor> sockets,
                                         os::TakeOver* last, os::Log& log, std::string& error) {
  std::vector<os::Listener> inherited = os::Listener::inherit(std::move(sockets), error);
  if (!inherited.empty() && options.listen_given) {
    log.event(os::Level::warning, "flag",
              {{"message", "-l, -p and --listen-also are ignored: the sockets are inherited"}});
  }
  if (!inherited.empty() || !error.empty()) return inherited;
  return open_listeners(options, last == nullptr ? nullptr : &last->listeners(), error);
}

// Finds the listeners and the socket of --take-over-socket. Returns false and sets `error` on
// failure.
bool find_sockets(const os::Options& options, std::vector<os::NamedDescriptor> inherited,
                  os::TakeOver* last, Sockets& sockets, os::Log& log, std::string& error) {
  sockets.listeners = find_listeners(options, std::move(inherited), last, log, error);
  const std::string& path = options.take_over_socket;
  if (sockets.listeners.empty() || path.empty()) return !sockets.listeners.empty();
  std::optional<os::Listener> listener;
  if (last != nullptr && last->take_over_socket() && last->take_over_socket()->is_at(path)) {
    listener = std::exchange(last->take_over_socket(), std::nullopt);
  } else {
    listener = os::Listener::open_for_messages(path, options.user, error);
  }
  if (listener) sockets.take_over.emplace(std::move(*listener));
  return listener.has_value();
}

ServerInfo server_info(const os::Options& options) {
  ServerInfo info;
  info.job_bytes_max = options.job_bytes_max;
  info.binlog_bytes_max = options.binlog_bytes_max;
  info.compat = options.compat;
  info.limits = options.limits;
  info.commands = options.commands;
  info.haricot_version = HARICOT_VERSION;
  os::describe_process(info);
  info.address_of = &os::Connection::address_of;
  return info;
}

// Returns the exit status after opening the folder, or beginning records, has failed; nothing if it
// has not.
std::optional<int> end_after(os::BinlogFolder::Opened opened, const std::string& error,
                             os::Daemon& daemon, os::LastServer& last, os::Log& log) {
  switch (opened) {
    case os::BinlogFolder::Opened::ok:
      break;
    case os::BinlogFolder::Opened::refused:
      return fail(log, last, error, os::kExitBinlog);
    case os::BinlogFolder::Opened::fenced:
      daemon.end_fenced();
    case os::BinlogFolder::Opened::stopped:
      return EXIT_SUCCESS;
  }
  return std::nullopt;
}

// Restores the jobs, and takes over from the previous server; clients may connect meanwhile, and
// are served afterwards. Returns the exit status; nothing if the server can serve.
//
// The folder is only read until everything that can fail has succeeded, and a previous server that
// runs has given everything up.
std::optional<int> begin(os::Daemon& daemon, Service& service, os::BinlogFolder* binlog,
                         os::TakeOverSocket* socket, os::LastServer& last, os::Log& log) {
  std::string error;
  if (binlog != nullptr) {
    const auto opened = binlog->open(service.engine(), error);
    if (const auto end = end_after(opened, error, daemon, last, log)) return end;
  }
  if (!daemon.open(error) || (socket != nullptr && !socket->attach(daemon, error))) {
    return fail(log, last, error, EXIT_FAILURE);
  }
  if (!last.read(daemon, service, error)) return fail(log, last, error, os::kExitNotTakenOver);
  if (binlog != nullptr && last.is_running() && !binlog->can_begin(error)) {
    return fail(log, last, error, os::kExitBinlog);
  }
  if (!last.agree(error)) return fail(log, last, error, os::kExitNotTakenOver);
  if (binlog == nullptr) return std::nullopt;
  return end_after(binlog->begin(error), error, daemon, last, log);
}

// Returns the key of the previous server, or a new one.
HashKey hash_key(const os::TakeOver* last) {
  if (last == nullptr) return os::make_hash_key();
  return {last->identity().hash_key[0], last->identity().hash_key[1]};
}

// Runs the server from restoring the jobs to the last answer. Returns the exit status.
int run(const os::Options& options, const ServerInfo& info, Sockets& sockets,
        os::BinlogFolder* binlog, os::LastServer& last, os::Notifier& notifier, os::Log& log) {
  if (info.limits.job_memory_bytes_max > 0) Memory::limit(info.limits.job_memory_bytes_max);
  NoJournal no_journal;
  Journal& journal = binlog != nullptr ? binlog->journal() : no_journal;
  const HashKey key = hash_key(last.state());
  Service service(info, journal, last.rested_at(), key);
  os::Daemon daemon(service, std::move(sockets.listeners), log, notifier, options.verbosity,
                    binlog);
  os::TakeOverSocket* const socket = sockets.take_over ? &*sockets.take_over : nullptr;
  os::ServerIdentity identity{.version = kStateVersions.last,
                              .addresses = addresses(options),
                              .folder = "",
                              .hash_key = {key.first, key.second}};
  os::Succession succession(daemon, service, binlog, socket, notifier, log, std::move(identity),
                            options.hands_over);
  // After this nothing may throw: the previous server may have given everything up.
  const std::optional<int> end = begin(daemon, service, binlog, socket, last, log);
  if (end) return *end;

  log.event(os::Level::info, "ready", {{"jobs", service.engine().jobs().size()}});
  log.flush();
  notifier.ready("serving");
  last.forget(daemon, service);
  return succession.serve();
}

// Opens the folder and takes its lock, unless this server takes over from the one that has it.
bool open_folder(os::BinlogFolder& folder, const os::Options& options, std::string& error) {
  return folder.open_folder(options.binlog_folder, error) &&
         (!options.take_over.empty() || folder.take_lock(error));
}

int serve(const os::Options& options, os::Log& log) {
  const bool is_confined = os::wants_sandbox(options);
  for (const std::string& warning : options.warnings) {
    log.event(os::Level::warning, "flag", {{"message", warning}});
  }
  os::raise_descriptor_limit();
  os::give_large_memory_back();

  std::string error;
  os::Notifier notifier;
  if (!notifier.open(error)) log.event(os::Level::warning, "notify", {{"message", error}});
  error.clear();
  os::LastServer last(notifier, log, kStateVersions);
  os::Inherited inherited = os::take_inherited();
  last.inherit(std::move(inherited.parcel));

  // The lock comes first: a second server on the folder must not take the socket of the first one.
  std::optional<os::BinlogFolder> folder;
  if (!options.binlog_folder.empty()) {
    folder.emplace(binlog_options(options), Duration::seconds(options.fence_after_s), log,
                   notifier);
    if (!open_folder(*folder, options, error)) return fail(log, last, error, os::kExitBinlog);
  }
  os::BinlogFolder* const binlog = folder ? &*folder : nullptr;
  const std::string identity = binlog == nullptr ? "" : binlog->identity();

  if (!last.open(identity, error)) {
    return fail(log, last, error, os::kExitNotTakenOver);
  }
  if (!options.take_over.empty() &&
      (!last.ask(options.take_over, error) || !last.has_folder(identity, error))) {
    return fail(log, last, error, os::kExitNotTakenOver);
  }
  Sockets sockets;
  if (!find_sockets(options, std::move(inherited.sockets), last.state(), sockets, log, error)) {
    return fail(log, last, error, os::kExitCannotListen);
  }

  if (!options.user.empty()) {
    if (binlog != nullptr) binlog->give_lock_to(options.user);
    bool no_such_user = false;
    if (!os::become_user(options.user, error, no_such_user)) {
      return fail(log, last, error, no_such_user ? os::kExitNoUser : EXIT_FAILURE);
    }
  }

  log_start(log, options, sockets.listeners);
  const ServerInfo info = server_info(options);
  if (!last.bring_jobs(info, error)) return fail(log, last, error, os::kExitNotTakenOver);
  if (is_confined) enter_sandbox(options, sockets, binlog, notifier, log);

  return run(options, info, sockets, binlog, last, notifier, log);
}

// Returns the name by which the program was started, if that is the name of the server that it
// replaces.
const char* program_name(const char* path) {
  const std::string_view words = path != nullptr ? path : "";
  const std::string_view name = words.substr(words.rfind('/') + 1);
  return name == "beanstalkd" ? "beanstalkd" : "haricotd";
}

// The error comes last, because scripts and people look there. If a service manager keeps a state,
// it is logged instead.
int report_mistake(const char* name, const os::Options& options, const std::string& error) {
  if (os::take_inherited().parcel.empty()) {
    std::fprintf(stderr, "Try %s --help.\n%s: %s\n", name, name, error.c_str());
  } else {
    os::Log log(STDERR_FILENO, log_style(options));
    log.event(os::Level::error, "cannot-start",
              {{"status", os::kExitUsage}, {"message", error}, {"hint", kKept}});
  }
  return os::kExitUsage;
}

// --check: prints the result of a start with these flags, on standard error if it would fail.
int check(const char* name, const os::Options& options) {
  std::string error;
  for (const std::string& warning : options.warnings) {
    std::fprintf(stderr, "%s: warning: %s\n", name, warning.c_str());
  }
  const int status = os::check_start(options, error);
  if (status == EXIT_SUCCESS) {
    std::puts("the server can start");
  } else {
    std::fprintf(stderr, "%s: %s\n", name, error.c_str());
  }
  return status;
}

// If memory is short for a moment, logs that; a service manager keeps its state.
int serve_or_fail(const os::Options& options, os::Log& log) {
  try {
    return serve(options, log);
  } catch (const std::bad_alloc&) {
    log.event(os::Level::error, "no-memory", {{"hint", "give the server more memory"}});
    log.flush();
    return EXIT_FAILURE;
  }
}

}  // namespace

int main(int argc, char** argv) {
#ifdef HARICOT_COUNTS_MEMORY
  os::count_memory();
#endif
  os::open_standard_descriptors();
  os::ignore_broken_pipes();
  os::ignore_children();
  os::survive_file_size_limit();
  os::block_signals();

  os::Options options;
  std::string error;
  const std::span<const char* const> words(argv + 1, static_cast<std::size_t>(argc - 1));
  const char* const name = program_name(argv[0]);
  if (!os::parse_options(words, options, error)) return report_mistake(name, options, error);
  switch (options.action) {
    case os::Options::Action::show_version:
      std::puts("beanstalkd 1.13 (haricot " HARICOT_VERSION ")");
      return EXIT_SUCCESS;
    case os::Options::Action::show_help:
      std::fputs(os::help_text(name).c_str(), stdout);
      return EXIT_SUCCESS;
    case os::Options::Action::show_state_versions:
      print_state_versions();
      return EXIT_SUCCESS;
    case os::Options::Action::check:
      return check(name, options);
    case os::Options::Action::serve:
      break;
  }
  os::Log log(STDERR_FILENO, log_style(options));
  return serve_or_fail(options, log);
}
