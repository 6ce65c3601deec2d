// Plays a script against a backend and compares the answers.
#pragma once

#include <chrono>
#include <string>

#include "backend.hpp"
#include "script.hpp"

namespace haricot::conformance {

// How the bytes of a script reach the server. The answers must be equal.
enum class Delivery { as_written, byte_by_byte, pipelined };

// Approximate slack of the times in scripts. If a run was delayed for longer, its failures mean
// nothing.
inline constexpr std::chrono::milliseconds kLatenessMax{150};

struct Outcome {
  bool passed = false;
  // For people: where the script failed, the expected and the received data, and the session until
  // then.
  std::string report;
  bool skipped = false;  // This server cannot do what the script requires.
};

// Requires: the backend's server is new, and script.applies.
[[nodiscard]] Outcome run_script(const Script& script, Delivery delivery, Backend& backend);

}  // namespace haricot::conformance
