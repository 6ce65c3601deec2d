// haricotd: options, parts, run.

#include <unistd.h>

#include <algorithm>
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
#include "os/daemon.hpp"
#include "os/hand_over.hpp"
#include "os/inherited.hpp"
#include "os/listener.hpp"
#include "os/log.hpp"
#include "os/new.hpp"
#include "os/notify.hpp"
#include "os/options.hpp"
#include "os/process.hpp"
#include "os/sandbox.hpp"

namespace {

using namespace haricot;

// The exit statuses that operators' scripts know from beanstalkd.
constexpr int kExitUsage = 5;
constexpr int kExitBinlog = 10;
constexpr int kExitNoUser = 33;
constexpr int kExitCannotListen = 111;

// How long a server that ends goes on with what is under way, so that the next one need not.
constexpr Duration kPatience = Duration::seconds(5);

int fail(os::Log& log, const std::string& message, int status) {
  log.event(os::Level::error, "cannot-start", {{"status", status}, {"message", message}});
  return status;
}

os::LogStyle log_style(const os::Options& options) {
  return {.format = options.log_format,
          .level = options.verbosity > 0 ? os::Level::debug : os::Level::info,
          .for_journal = os::is_journal(STDERR_FILENO)};
}

// What the server is, and what it was asked for. The later event `ready` says that it serves.
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
  constexpr std::uint64_t kLongest = 1'000'000'000;  // In milliseconds: more than a week.
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

// All that needs privileges is done by now: the sockets are bound, the folder is open, and the
// process has its final user. What an attacker may have written, files and requests, is not read
// yet.
void enter_sandbox(const std::vector<os::Listener>& listeners, os::BinlogFolder* binlog,
                   bool notifies, os::Log& log) {
  os::Sandbox sandbox;
  sandbox.notifies = notifies;
  if (binlog != nullptr) sandbox.paths.folder = binlog->folder_descriptor();
  for (const os::Listener& listener : listeners) {
    const std::string folder = listener.removal_folder();
    if (!folder.empty()) sandbox.paths.removal_folders.push_back(folder);
  }
  const std::string missing = sandbox.enter();
  if (binlog != nullptr) binlog->mark_sandboxed();
  if (missing.empty()) {
    log.event(os::Level::info, "sandbox");
  } else {
    log.event(os::Level::warning, "sandbox-incomplete", {{"message", missing}});
  }
}

// Listeners on all addresses. Empty: one address failed, and `error` says why.
std::vector<os::Listener> open_listeners(const os::Options& options, std::string& error) {
  std::vector<os::Listener> all = os::Listener::open(options.listen, options.port, error);
  for (const std::string& address : options.listen_also) {
    if (all.empty()) break;
    std::vector<os::Listener> more = os::Listener::open(address, options.port, error);
    if (more.empty()) return {};
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }
  return all;
}

// What the server was asked to listen on, to be compared with what the next one is asked for.
std::string addresses(const os::Options& options) {
  std::string result = options.listen + " " + options.port;
  for (const std::string& address : options.listen_also) result += " " + address;
  return result;
}

// The sockets that were inherited, or those of the process before, or else those of all addresses.
// Empty: `error` says why.
std::vector<os::Listener> find_listeners(const os::Options& options,
                                         std::vector<os::NamedDescriptor> sockets,
                                         std::optional<os::TakeOver>& last, os::Log& log,
                                         std::string& error) {
  std::vector<os::Listener> inherited = os::Listener::inherit(std::move(sockets), error);
  if (!inherited.empty() && options.listen_given) {
    log.event(os::Level::warning, "flag",
              {{"message", "-l, -p and --listen-also are ignored: the sockets are inherited"}});
  }
  if (!inherited.empty() || !error.empty()) return inherited;
  if (last && last->addresses() == addresses(options)) return std::move(last->listeners());
  return open_listeners(options, error);
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
  return info;
}

// What the process before has left with the service manager, under these names.
struct Last {
  std::vector<std::string> names;
  std::optional<os::TakeOver> state;  // Nothing: there is none, or it cannot be used.

  // From here on no other start begins with it.
  void forget(os::Notifier& notifier) {
    for (const std::string& name : names) notifier.forget_stored(name);
    names.clear();
    state.reset();
  }
};

Last open_last(std::vector<os::NamedDescriptor> parcel, os::Log& log) {
  Last last;
  if (parcel.empty()) return last;
  for (const os::NamedDescriptor& part : parcel) last.names.push_back(part.name);
  std::string error;
  last.state = os::TakeOver::open(std::move(parcel), error);
  if (!last.state) log.event(os::Level::warning, "hand-over-refused", {{"message", error}});
  return last;
}

ServiceTransfer::Read read_last(os::TakeOver& last, os::Daemon& daemon, Service& service) {
  try {
    return last.read(daemon, service, os::read_clock());
  } catch (const std::bad_alloc&) {
    return ServiceTransfer::Read::broken;
  }
}

// Goes on with the connections and jobs of the process before. False: not even the jobs can be
// trusted.
bool take_over(os::TakeOver& last, os::Daemon& daemon, Service& service, os::Log& log) {
  switch (read_last(last, daemon, service)) {
    case ServiceTransfer::Read::good:
      break;
    case ServiceTransfer::Read::other_jobs:
      log.event(os::Level::warning, "hand-over-refused",
                {{"message", "the binlog has other jobs than the server before: all are ready"}});
      break;
    case ServiceTransfer::Read::broken:
      log.event(os::Level::warning, "hand-over-refused",
                {{"message", "the state cannot be used: the next start begins without it"}});
      return false;
  }
  log.event(os::Level::info, "taken-over",
            {{"connections", last.connections()}, {"jobs", service.engine().jobs().size()}});
  return true;
}

// False: `error` says why.
bool pack(os::Daemon& daemon, Service& service, Bodies bodies, const os::Options& options,
          std::vector<os::NamedDescriptor>& parts, std::string& error) {
  try {
    return os::pack(daemon, service, bodies, addresses(options), parts, error);
  } catch (const std::bad_alloc&) {
    error = "there is no memory for the state";
    return false;
  }
}

// Gives connections and jobs to the service manager, for the next process.
void hand_over(os::Daemon& daemon, Service& service, Bodies bodies, const os::Options& options,
               os::Notifier& notifier, os::Log& log) {
  std::string error;
  std::vector<os::NamedDescriptor> parts;
  if (!pack(daemon, service, bodies, options, parts, error)) {
    log.event(os::Level::warning, "hand-over-refused", {{"message", error}});
    return;
  }
  bool is_stored = true;
  for (const os::NamedDescriptor& part : parts) {
    is_stored = is_stored && notifier.store(part.name, part.descriptor.get());
  }
  if (is_stored && notifier.wait_until_read()) {
    log.event(os::Level::info, "handed-over",
              {{"connections", service.engine().counts().clients},
               {"jobs", service.engine().jobs().size()}});
  } else {
    log.event(os::Level::warning, "hand-over-refused",
              {{"message", "the service manager takes nothing"}});
  }
}

// Brings the jobs back; connections may queue up meanwhile, and are answered after it. Returns the
// status to end with; nothing: the server can serve.
std::optional<int> read_binlog(os::BinlogFolder& binlog, Engine& engine,
                               std::vector<os::Listener>& listeners, os::Log& log) {
  std::string error;
  switch (binlog.open(engine, error)) {
    case os::BinlogFolder::Opened::ok:
      break;
    case os::BinlogFolder::Opened::refused:
      return fail(log, error, kExitBinlog);
    case os::BinlogFolder::Opened::fenced:
      listeners.clear();
      binlog.log_fenced();
      ::_exit(os::Daemon::kExitFenced);  // What closes files may hang on the volume.
    case os::BinlogFolder::Opened::stopped:
      return EXIT_SUCCESS;
  }
  return std::nullopt;
}

// From the first answer to the last one.
int run(os::Daemon& daemon, Service& service, os::BinlogFolder* binlog, Last last,
        const os::Options& options, os::Notifier& notifier, os::Log& log) {
  std::string error;
  if (!daemon.open(error)) return fail(log, error, EXIT_FAILURE);
  if (last.state && !take_over(*last.state, daemon, service, log)) {
    last.forget(notifier);
    return EXIT_FAILURE;
  }
  log.event(os::Level::info, "ready", {{"jobs", service.engine().jobs().size()}});
  log.flush();
  notifier.ready("serving");
  last.forget(notifier);
  daemon.run();
  notifier.stopping();
  const bool hands_over =
      options.hands_over && notifier.is_open() && daemon.come_to_rest(kPatience);
  const bool is_all_kept = binlog == nullptr || binlog->close();
  daemon.send_last_answers();
  if (hands_over && is_all_kept) {
    hand_over(daemon, service, binlog == nullptr ? Bodies::in_state : Bodies::in_journal, options,
              notifier, log);
  }
  log.event(os::Level::info, "stopped", {{"jobs", service.engine().jobs().size()}});
  return is_all_kept ? EXIT_SUCCESS : EXIT_FAILURE;
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

  // The lock comes first: a second server on the folder must not take the first one's socket.
  std::optional<os::BinlogFolder> folder;
  if (!options.binlog_folder.empty()) {
    folder.emplace(binlog_options(options), Duration::seconds(options.fence_after_s), log,
                   notifier);
    if (!folder->take(options.binlog_folder, error)) return fail(log, error, kExitBinlog);
  }
  os::BinlogFolder* const binlog = folder ? &*folder : nullptr;

  os::Inherited inherited = os::take_inherited();
  Last last = open_last(std::move(inherited.parcel), log);
  if (!last.state && !last.names.empty()) {
    // The sockets in it would keep this process from listening.
    last.forget(notifier);
    (void)notifier.wait_until_read();
  }
  std::vector<os::Listener> listeners =
      find_listeners(options, std::move(inherited.sockets), last.state, log, error);
  if (listeners.empty()) return fail(log, error, kExitCannotListen);

  if (!options.user.empty()) {
    if (binlog != nullptr) binlog->give_lock_to(options.user);
    bool no_such_user = false;
    if (!os::become_user(options.user, error, no_such_user)) {
      return fail(log, error, no_such_user ? kExitNoUser : EXIT_FAILURE);
    }
  }

  log_start(log, options, listeners);
  if (is_confined) enter_sandbox(listeners, binlog, notifier.is_open(), log);

  const ServerInfo info = server_info(options);
  if (info.limits.job_memory_bytes_max > 0) Memory::limit(info.limits.job_memory_bytes_max);
  NoJournal no_journal;
  Journal& journal = binlog != nullptr ? binlog->journal() : no_journal;
  Service service(info, journal, os::read_clock(), os::make_hash_key());
  if (binlog != nullptr) {
    const std::optional<int> end = read_binlog(*binlog, service.engine(), listeners, log);
    if (end) return *end;
  }
  os::Daemon daemon(service, std::move(listeners), log, notifier, options.verbosity, binlog);
  return run(daemon, service, binlog, std::move(last), options, notifier, log);
}

// The name by which the program was started, if that is the name of the server that it replaces.
const char* program_name(const char* path) {
  const std::string_view words = path != nullptr ? path : "";
  const std::string_view name = words.substr(words.rfind('/') + 1);
  return name == "beanstalkd" ? "beanstalkd" : "haricotd";
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
  if (!os::parse_options(words, options, error)) {
    const char* name = program_name(argv[0]);
    // The mistake comes last, because scripts and people look there.
    std::fprintf(stderr, "Try %s --help.\n%s: %s\n", name, name, error.c_str());
    return kExitUsage;
  }
  switch (options.action) {
    case os::Options::Action::show_version:
      std::puts("beanstalkd 1.13 (haricot " HARICOT_VERSION ")");
      return EXIT_SUCCESS;
    case os::Options::Action::show_help:
      std::fputs(os::help_text(program_name(argv[0])).c_str(), stdout);
      return EXIT_SUCCESS;
    case os::Options::Action::serve:
      break;
  }
  os::Log log(STDERR_FILENO, log_style(options));
  return serve(options, log);
}
