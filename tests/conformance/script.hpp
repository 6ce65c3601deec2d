// A conformance script: a protocol session with its expected answers.
//
// README.md beside this file describes the language. The result of parsing is a list of steps for
// one target: lines for other targets were checked and omitted.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "yaml_check.hpp"

namespace haricot::conformance {

// Targets that a script can name for a line.
enum class ServerKind { haricot, beanstalkd };
enum class Transport { memory, tcp };

struct Target {
  ServerKind server = ServerKind::haricot;
  Transport transport = Transport::memory;
  bool is_1_13 = false;  // Version of a beanstalkd; otherwise it is 1.12.
};

inline constexpr Target kMemory{ServerKind::haricot, Transport::memory, false};
inline constexpr Target kHaricotd{ServerKind::haricot, Transport::tcp, false};
inline constexpr Target kBeanstalkd{ServerKind::beanstalkd, Transport::tcp, false};

enum class Verb {
  open,            // A!open      connect, send nothing
  send,            // A> A>>      `bytes` unchanged
  expect_line,     // A<          `bytes` with CR LF, and nothing else up to that CR LF
  expect_bytes,    // A<<         exactly `bytes`
  expect_lines,    // A<lines 50   any `count` lines
  expect_yaml,     // A< OK yaml  an OK answer whose body matches `yaml`
  expect_nothing,  // A<nothing   nothing has arrived
  expect_end,      // A<eof       the server has closed the connection
  half_close,      // A!shutdown  the client sends no more
  close,           // A!close
  reset,           // A!reset     close like a crashed host
  advance,         // advance     `duration` passes
  drain,           // signal drain
  restart,         // restart     stop the server and start it again, with `flags`
  kill,            // kill        as restart, with a sudden end
};

struct Step {
  int line = 0;
  Verb verb = Verb::advance;
  std::string connection;  // Empty for advance, drain, restart and kill.
  std::string bytes;
  YamlExpectation yaml;
  std::size_t count = 0;
  std::chrono::nanoseconds duration{};
  std::vector<std::string> flags;  // Flags of the server from then on.
};

struct Script {
  std::string file;
  bool applies = true;             // False: an `only` line excludes the target.
  std::vector<std::string> flags;  // Additional words of the server's command line.
  bool keeps_binlog = false;       // The server has a binlog, in a folder that is empty at first.
  std::vector<Step> steps;
};

struct ParsedScript {
  Script script;
  std::string error;  // Empty, or "file:line: error".
};

// Parses a script. `file` is used in messages only. Rejects scripts that cannot fail: those without
// expectations, also for only one of their targets.
[[nodiscard]] ParsedScript parse_script(std::string_view text, std::string file, Target target);

// Returns the session with its sends moved before the answers and joined, wherever consecutive
// steps concern one connection only, so that only the server's parser can notice the difference.
[[nodiscard]] Script pipelined(const Script& script);

}  // namespace haricot::conformance
