#include "web/web_options.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "os/address.hpp"
#include "tool/cli/command_line.hpp"
#include "tool/cli/output.hpp"
#include "tool/client/address.hpp"
#include "web/http/message.hpp"

namespace haricot::web {
namespace {

constexpr const char* kAddressVariable = "HARICOT_ADDR";
constexpr const char* kDefaultServer = "127.0.0.1:11300";
constexpr const char* kDefaultHost = "127.0.0.1";
constexpr const char* kDefaultPort = "11380";

constexpr std::string_view kUse =
    "Use: haricot web [OPTIONS] [SERVER...]\n\n"
    "Serves a page, metrics for Prometheus and an API for beanstalk servers, over HTTP. A\n"
    "server is HOST:PORT, [V6]:PORT or unix:PATH; without one it is $HARICOT_ADDR, or\n"
    "127.0.0.1:11300. Runs until Ctrl-C or SIGTERM. SIGHUP makes it read the token again.\n\n";

constexpr std::string_view kEnd =
    "\nA time is a number of seconds, or has units: 2.5, 90s, 5m, 1h30m, 2d, 250ms.\n"
    "The exit status is 0: stopped by a signal, 3: the name of a server cannot be resolved,\n"
    "5: usage error, 6: failure of an address, the token or the system.\n\n"
    "Examples:\n"
    "    haricot web\n"
    "    haricot web --allow-changes queue1:11300 queue2:11300\n"
    "    haricot web --listen 0.0.0.0 --token-file /etc/haricot-web.token queue1 queue2\n";

std::function<bool(std::string_view)> add_to(std::vector<std::string>& list) {
  return [&list](std::string_view value) {
    list.emplace_back(value);
    return !value.empty();
  };
}

bool set_base_path(std::string_view value, std::string& to) {
  if (value.empty()) return false;
  while (value.ends_with('/')) value.remove_suffix(1);
  const bool is_good = value.empty() || (value.starts_with('/') && value[1] != '/');
  const auto is_plain = [](char c) { return is_token({&c, 1}) || c == '/'; };
  to = value;
  return is_good && std::all_of(value.begin(), value.end(), is_plain);
}

std::vector<tool::Flag> access_flags(WebOptions& options) {
  return {
      {'l', "listen", "ADDR", "listening address; may be repeated (127.0.0.1:11380)",
       add_to(options.listen), "an address"},
      {0, "token-file", "PATH", "require the token in this file",
       [&options](std::string_view value) {
         options.token_file = value;
         return !value.empty();
       },
       "a path"},
      {0, "no-auth", "", "allow addresses beyond loopback without a token",
       tool::set(options.has_no_login)},
      {0, "allow-changes", "", "enable actions: kick, pause, bury, delete, move, flush, put",
       tool::set(options.allows_changes)},
      {0, "host", "NAME", "host name that browsers use; may be repeated",
       [&options](std::string_view value) {
         options.hosts.push_back(lower(value));
         return is_token(value);
       },
       "a host name without a port"},
      {0, "base-path", "PREFIX", "path prefix that a proxy adds, such as /queue",
       [&options](std::string_view value) { return set_base_path(value, options.base_path); },
       "a path such as /queue"},
      {0, "behind-proxy", "", "trust X-Forwarded-For, -Host and -Proto",
       tool::set(options.is_behind_proxy)},
      {0, "interval", "S", "sampling interval in seconds (2)",
       tool::set_milliseconds(options.interval_ms, 100), tool::kPositiveTimeWanted},
      {0, "tube-label", "RULE", "REGEX=NAME: sum tubes under one name; may be repeated",
       add_to(options.tube_labels), "REGEX=NAME"},
      {0, "probe-target", "ADDR", "server that /probe may query; may be repeated",
       add_to(options.probe_targets), "an address"},
  };
}

std::vector<tool::Flag> limit_flags(WebOptions& options) {
  WebLimits& limits = options.limits;
  const auto bytes = [](std::uint64_t& to) { return tool::set_count(to, 1024, 1U << 30); };
  return {
      {0, "connections-max", "N", "limit of connections (1000)",
       tool::set_count(limits.connections_max, 1, 100'000), "a number from 1 to 100000"},
      {0, "events-max", "N", "limit of event streams among these (100)",
       tool::set_count(limits.events_max, 0, 100'000), "a number up to 100000"},
      {0, "head-max", "BYTES", "limit of the line and headers of a request (8192)",
       bytes(limits.head_bytes_max), "a number of bytes from 1024"},
      {0, "body-max", "BYTES", "limit of the body of a request (1048576)",
       bytes(limits.body_bytes_max), "a number of bytes from 1024"},
      {0, "held-max", "BYTES", "memory limit of bodies and answers (67108864)",
       bytes(limits.held_bytes_max), "a number of bytes from 1024"},
      {0, "head-timeout", "S", "time limit for the head of a request (10)",
       tool::set_milliseconds(limits.head_ms, 1), tool::kPositiveTimeWanted},
      {0, "body-timeout", "S", "time limit for the body of a request (30)",
       tool::set_milliseconds(limits.body_ms, 1), tool::kPositiveTimeWanted},
      {0, "idle-timeout", "S", "time limit for an idle connection (60)",
       tool::set_milliseconds(limits.idle_ms, 1), tool::kPositiveTimeWanted},
      {0, "send-timeout", "S", "time limit for a peer that reads nothing (30)",
       tool::set_milliseconds(limits.send_ms, 1), tool::kPositiveTimeWanted},
  };
}

int mistake(const std::string& reason) {
  print_error(reason + "\nTry haricot web --help.");
  return tool::kExitUsage;
}

// Fills in defaults, and rejects options that exclude each other.
std::optional<int> complete(WebOptions& options, const std::vector<std::string_view>& operands) {
  options.servers.assign(operands.begin(), operands.end());
  if (options.servers.empty()) {
    const char* variable = std::getenv(kAddressVariable);
    std::string_view list = variable != nullptr ? variable : kDefaultServer;
    while (!list.empty()) options.servers.emplace_back(take_element(list));
  }
  std::string error;
  for (const auto* const list : {&options.servers, &options.probe_targets}) {
    for (const std::string& server : *list) {
      if (!tool::Address::check(server, error)) return mistake(error);
    }
  }
  if (options.listen.empty()) options.listen.emplace_back();
  for (const std::string& address : options.listen) {
    if (!address.empty() && !tool::Address::check(address, error)) return mistake(error);
  }
  if (options.has_no_login && !options.token_file.empty()) {
    return mistake("--token-file and --no-auth exclude each other");
  }
  return std::nullopt;
}

}  // namespace

void print_error(const std::string& line) {
  std::fprintf(stderr, "haricot web: %s\n", tool::safe_lines(line).c_str());
}

std::optional<int> read_web_options(tool::Words words, WebOptions& options) {
  bool help = false;
  std::vector<tool::Flag> flags = access_flags(options);
  for (tool::Flag& flag : limit_flags(options)) flags.push_back(std::move(flag));
  flags.push_back({0, "log-format", "FORMAT", "text or json (text)",
                   [&options](std::string_view value) {
                     const bool is_json = value == "json";
                     options.log_format = is_json ? os::LogFormat::json : os::LogFormat::text;
                     return is_json || value == "text";
                   },
                   "text or json"});
  flags.push_back({0, "no-sandbox", "", "keep unneeded privileges, for debugging",
                   [&options](std::string_view) {
                     options.has_sandbox = false;
                     return true;
                   }});
  flags.push_back({'h', "help", "", "show this help and exit", tool::set(help)});
  std::vector<std::string_view> operands;
  std::string error;
  if (!tool::read_flags(flags, words, operands, error)) return mistake(error);
  if (help) {
    tool::print(std::string(kUse) + "Options:\n" + tool::describe_flags(flags) + std::string(kEnd));
    return tool::kExitDone;
  }
  return complete(options, operands);
}

ListenAddress split_listen(const std::string& text) {
  if (text.starts_with(os::kUnixPrefix)) return {text, ""};
  const std::size_t colon = text.rfind(':');
  const bool in_brackets = text.starts_with('[');
  // An IPv6 address without brackets has several colons, and no port.
  const bool has_port = colon != std::string::npos &&
                        (in_brackets ? text[colon - 1] == ']' : text.find(':') == colon);
  std::string host = has_port ? text.substr(0, colon) : text;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return {host.empty() ? kDefaultHost : host, has_port ? text.substr(colon + 1) : kDefaultPort};
}

}  // namespace haricot::web
