// The command line of `haricot web` as a value.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "os/log.hpp"
#include "tool/cli/subcommand.hpp"
#include "web/serve/web_server.hpp"

namespace haricot::web {

struct WebOptions {
  std::vector<std::string> servers = {};  // At least one.
  std::vector<std::string> listen = {};   // At least one: HOST:PORT, [V6]:PORT or unix:PATH. An
                                          // empty text is the default.
  std::vector<std::string> hosts = {};    // In lower case.
  std::string base_path = {};             // Empty, or begins with '/' and does not end with it.
  bool is_behind_proxy = false;
  std::string token_file = {};  // Empty if there is none.
  bool has_no_login = false;    // --no-auth.
  bool allows_changes = false;
  std::uint64_t interval_ms = 2000;
  // Texts as given, parsed by their users: REGEX=NAME and HOST:PORT.
  std::vector<std::string> tube_labels = {};
  std::vector<std::string> probe_targets = {};
  WebLimits limits = {};
  os::LogFormat log_format = os::LogFormat::text;
  bool has_sandbox = true;
};

// Reads the words after the subcommand's name. Returns the exit status if the program ends here,
// because of --help or a mistake.
std::optional<int> read_web_options(tool::Words words, WebOptions& options);

// Prints a line to stderr.
void print_error(const std::string& line);

// Host, without brackets, and port of a listener's address. A missing part has its default.
struct ListenAddress {
  std::string host;
  std::string port;
};
ListenAddress split_listen(const std::string& text);

}  // namespace haricot::web
