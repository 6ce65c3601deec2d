#include "web/web_run.hpp"

#include <netinet/in.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "os/clock.hpp"
#include "os/listener.hpp"
#include "os/process.hpp"
#include "os/sandbox.hpp"
#include "tool/cli/subcommand.hpp"
#include "web/http/message.hpp"
#include "web/serve/site.hpp"
#include "web/serve/token.hpp"
#include "web/serve/web_server.hpp"

namespace haricot::web {
namespace {

// Pause before stderr is tried again with pending lines of the log.
constexpr Duration kLogPause = Duration::milliseconds(200);

}  // namespace

Loop::Loop(os::Poller& poller, os::Log& log, os::Notifier& notifier)
    : poller_(poller),
      log_(log),
      notifier_(notifier),
      signal_handler_(os::EventHandler::to<&Loop::read_signals>(*this)),
      signal_source_(signal_handler_, -1) {}

bool Loop::open(std::string& error) {
  const sigset_t wanted = os::handled_signals();
  signals_ = os::Descriptor(::signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC));
  signal_source_.descriptor = signals_.get();
  if (signals_ && poller_.add(signal_source_, EPOLLIN)) return true;
  error = std::string("cannot watch signals: ") + std::strerror(errno);
  return false;
}

void Loop::run() {
  Instant now = os::read_clock();
  while (!has_to_end_) {
    Instant until = notifier_.next_keep_alive();
    for (const LoopPart& part : parts_) until = std::min(until, part.next_event(part.self));
    if (log_.has_lines()) until = std::min(until, now + kLogPause);
    const auto events = poller_.wait(now, until);
    now = os::read_clock();
    for (const LoopPart& part : parts_) {
      if (part.begin_turn != nullptr) part.begin_turn(part.self, now);
    }
    for (const os::Poller::Event& event : events) event.handle();
    for (const LoopPart& part : parts_) part.advance(part.self, now);
    notifier_.keep_alive(now);
    log_.flush();
  }
}

void Loop::read_signals(os::EventSource& /*source*/, std::uint32_t /*events*/) {
  signalfd_siginfo signal{};
  while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
    if (signal.ssi_signo == SIGTERM || signal.ssi_signo == SIGINT) has_to_end_ = true;
    if (signal.ssi_signo == SIGHUP && reload_) reload_();
  }
}

// The program -------------------------------------------------------------------------------------

namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Returns true if only this machine can reach the listener: a unix socket, or the loopback
// interface.
bool is_loopback(const os::Listener& listener) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::getsockname(listener.descriptor(), generic, &length) != 0) return false;
  constexpr unsigned char kNet = 127;
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return ntohl(v4.sin_addr.s_addr) >> 24 == kNet;
  }
  if (address.ss_family == AF_INET6) {
    const in6_addr& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == kNet);
  }
  return address.ss_family == AF_UNIX;
}

std::vector<os::Listener> open_listeners(const WebOptions& options, std::string& error) {
  std::vector<os::Listener> all;
  for (const std::string& text : options.listen) {
    const ListenAddress address = split_listen(text);
    std::vector<os::Listener> more = os::Listener::open(address.host, address.port, error);
    if (more.empty()) return {};
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }
  return all;
}

SiteOptions site_options(const WebOptions& options) {
  SiteOptions result;
  result.base_path = options.base_path;
  result.access.hosts = options.hosts;
  // Requests may name the host that it listens on.
  for (const std::string& text : options.listen) {
    result.access.hosts.push_back(lower(split_listen(text).host));
  }
  result.access.allows_changes = options.allows_changes;
  result.access.is_behind_proxy = options.is_behind_proxy;
  return result;
}

void enter_sandbox(const WebOptions& options, const std::vector<os::Listener>& listeners,
                   os::Log& log) {
  os::Sandbox sandbox;
  sandbox.program = os::FilteredProgram::web;
  sandbox.paths.connects = true;
  if (!options.token_file.empty()) {
    sandbox.paths.reading_folders.push_back(folder_of(options.token_file));
  }
  for (const os::Listener& listener : listeners) {
    const std::string folder = listener.removal_folder();
    if (!folder.empty()) sandbox.paths.removal_folders.push_back(folder);
  }
  const std::string missing = sandbox.enter();
  if (missing.empty()) {
    log.event(os::Level::info, "sandbox");
  } else {
    log.event(os::Level::warning, "sandbox-incomplete", {{"message", missing}});
  }
}

void log_ready(os::Log& log, const WebOptions& options,
               const std::vector<os::Listener>& listeners) {
  std::string addresses;
  for (const os::Listener& listener : listeners) {
    addresses += (addresses.empty() ? "" : ",") + listener.name();
  }
  std::string servers;
  for (const std::string& server : options.servers) {
    servers += (servers.empty() ? "" : ",") + server;
  }
  log.event(os::Level::info, "web-ready",
            {{"version", HARICOT_VERSION},
             {"pid", ::getpid()},
             {"addresses", addresses},
             {"servers", servers},
             {"login", options.token_file.empty() ? "none" : "token"},
             {"changes", options.allows_changes ? "allowed" : "refused"}});
  log.flush();
}

// Reads the token again. The old token stays in force if the new one is invalid.
void read_token_again(const std::string& path, Site& site, WebServer& server, os::Log& log) {
  std::string error;
  std::optional<Token> token = Token::read(path, error);
  if (!token) {
    log.event(os::Level::warning, "web-token-kept", {{"message", error}});
    return;
  }
  site.set_token(*std::move(token));
  server.end_events();
  log.event(os::Level::info, "web-token");
}

int fail(const std::string& reason, int status = tool::kExitLocal) {
  print_error(reason);
  return status;
}

}  // namespace

int run_web(const WebOptions& options,
            const std::function<bool(WebStage& stage, std::string& error)>& set_up) {
  os::raise_descriptor_limit();
  os::Log log(STDERR_FILENO,
              {.format = options.log_format, .for_journal = os::is_journal(STDERR_FILENO)});
  std::string error;
  SiteOptions options_of_site = site_options(options);
  if (!options.token_file.empty()) {
    options_of_site.access.token = Token::read(options.token_file, error);
    if (!options_of_site.access.token) return fail(error);
  }
  std::vector<os::Listener> listeners = open_listeners(options, error);
  if (listeners.empty()) return fail(error);
  const bool is_open = !std::all_of(listeners.begin(), listeners.end(), is_loopback);
  if (is_open && options.token_file.empty() && !options.has_no_login) {
    return fail(
        "other machines can reach this address; protect it with --token-file FILE, or allow "
        "everyone with --no-auth",
        tool::kExitUsage);
  }
  os::Notifier notifier;
  if (!notifier.open(error)) log.event(os::Level::warning, "notify", {{"message", error}});
  os::Poller poller;
  Loop loop(poller, log, notifier);
  if (!poller.open()) return fail("cannot wait for events");
  WebStage stage{poller, loop};
  // Before signals are blocked, because resolving names may take long.
  if (!set_up(stage, error)) return fail(error, tool::kExitNoServer);
  os::block_signals();
  if (!loop.open(error)) return fail(error);
  Site site(std::move(options_of_site), std::move(stage.routes), os::make_hash_key());
  WebServer server(site, options.limits, poller, log, os::read_clock());
  if (options.has_sandbox) enter_sandbox(options, listeners, log);
  log_ready(log, options, listeners);
  if (!server.listen(std::move(listeners))) return fail("cannot wait for connections");
  loop.add(LoopPart::of(server));
  if (!options.token_file.empty()) {
    loop.set_reload([&] { read_token_again(options.token_file, site, server, log); });
  }
  notifier.ready("Serving HTTP.");
  loop.run();
  notifier.stopping();
  log.event(os::Level::info, "web-end");
  return tool::kExitDone;
}

}  // namespace haricot::web
