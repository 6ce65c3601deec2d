// The command line of haricotd, as a value.
//
// Short flags are beanstalkd's, in its notations: joined (`-VVp11301`), or with the value as the
// next word. Each has a long name too: `--port=11301` or `--port 11301`.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/protocol/command.hpp"
#include "haricot/queue/rules.hpp"
#include "haricot/service/server_info.hpp"
#include "os/log.hpp"

namespace haricot::os {

struct Options {
  enum class Action : std::uint8_t { serve, check, show_version, show_help, show_state_versions };

  Action action = Action::serve;
  std::string listen = "0.0.0.0";  // A host name, an address, or `unix:` and a path.
  std::string port = "11300";      // A number or a service's name; the same for all addresses.
  std::vector<std::string> listen_also;  // Further addresses.
  bool listen_given = false;             // -l, -p or --listen-also.
  std::string user;                      // Empty: keep the current user.
  std::uint32_t job_bytes_max = kJobBytesMaxDefault;
  int verbosity = 0;
  LogFormat log_format = LogFormat::text;
  Compat compat = Compat::v1_13;
  CommandSet commands = CommandSet::extended;
  Limits limits;

  // Privileges of the process after its start: see Sandbox.
  enum class Confinement : std::uint8_t { automatic, always, never };
  Confinement confinement = Confinement::automatic;

  // Hand connections and jobs to a service manager at the end, for the next start.
  bool hands_over = true;
  std::string take_over_socket;  // Socket on which the successor asks; empty: none.
  std::string take_over;         // Socket of the predecessor; empty: none.

  std::string binlog_folder;  // Empty: none.
  bool binlog_sync = true;
  std::uint64_t binlog_sync_ms = 50;
  std::uint64_t binlog_bytes_max = 10485760;
  std::uint32_t fence_after_s = 0;  // 0: no fence.
  bool binlog_strict = false;       // Start only if nothing in the binlog is lost or in doubt.

  std::vector<Rule> rules;  // The rules of --rule, in their order.
  std::string rules_file;   // The file of --rules; empty: none.

  std::vector<std::string> warnings;  // To be logged.
};

// Parses the words after the program's name. Returns false and sets `error` if they are wrong.
[[nodiscard]] bool parse_options(std::span<const char* const> words, Options& options,
                                 std::string& error);

// Returns the text of --help, for a program that was started by this name.
std::string help_text(std::string_view program = "haricotd");

}  // namespace haricot::os
