// A conformance script: a protocol session written down, with what must come back.
//
// README.md beside this file describes the language. Parsing one gives a plain list of steps for
// one target: lines for other targets have been checked and left out.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "yaml_check.hpp"

namespace haricot::conformance {

// What a script can say a line is for.
enum class ServerKind { haricot, beanstalkd };
enum class Transport { memory, tcp };

struct Target {
  ServerKind server = ServerKind::haricot;
  Transport transport = Transport::memory;
  bool is_1_13 = false;  // Of a beanstalkd: its version, which is 1.12 otherwise.
};

inline constexpr Target kMemory{ServerKind::haricot, Transport::memory, false};
inline constexpr Target kHaricotd{ServerKind::haricot, Transport::tcp, false};
inline constexpr Target kBeanstalkd{ServerKind::beanstalkd, Transport::tcp, false};

enum class Verb {
  open,            // A!open      connect, send nothing
  send,            // A> A>>      `bytes` as they are
  expect_line,     // A<          `bytes`, CR LF included, and up to that CR LF nothing else
  expect_bytes,    // A<<         exactly `bytes`
  expect_lines,    // A<lines 50   any `count` lines
  expect_yaml,     // A< OK yaml  an OK answer whose body fits `yaml`
  expect_nothing,  // A<nothing   nothing has arrived
  expect_end,      // A<eof       the server has closed the connection
  half_close,      // A!shutdown  the client will send no more
  close,           // A!close
  reset,           // A!reset     close without a farewell, as a crashed host does
  advance,         // advance     `duration` goes by
  drain,           // signal drain
  restart,         // restart     the server is stopped and started again, with `flags`
  kill,            // kill        the same, but it ends without a chance to do anything
};

struct Step {
  int line = 0;
  Verb verb = Verb::advance;
  std::string connection;  // Empty for advance, drain, restart and kill.
  std::string bytes;
  YamlExpectation yaml;
  std::size_t count = 0;
  std::chrono::nanoseconds duration{};
  std::vector<std::string> flags;  // Of the server from here on.
};

struct Script {
  std::string file;
  bool applies = true;             // False: an `only` line excludes the target.
  std::vector<std::string> flags;  // Extra words for the server's command line.
  bool keeps_binlog = false;       // The server has a binlog, in a folder that begins empty.
  std::vector<Step> steps;
};

struct ParsedScript {
  Script script;
  std::string error;  // Empty, or "file:line: what is wrong".
};

// Reads a script. `file` is only for messages. What cannot fail is refused: a script that expects
// nothing, or expects nothing of a target it does not exclude.
[[nodiscard]] ParsedScript parse_script(std::string_view text, std::string file, Target target);

// The same session with the sends moved ahead of the answers and joined into one, wherever a run
// of steps concerns one connection only, so that nobody can tell the difference but the parser.
[[nodiscard]] Script pipelined(const Script& script);

}  // namespace haricot::conformance
