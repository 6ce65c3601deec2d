// Plays a script against a backend and compares.
#pragma once

#include <chrono>
#include <string>

#include "backend.hpp"
#include "script.hpp"

namespace haricot::conformance {

// How the bytes of a script reach the server. The answers must be the same.
enum class Delivery { as_written, byte_by_byte, pipelined };

// Times in scripts have about this much slack. What fails in a run that was held up longer says
// nothing about the server.
inline constexpr std::chrono::milliseconds kLatenessMax{150};

struct Outcome {
  bool passed = false;
  // For people: where the script failed, what was expected, what came, and the session until then.
  std::string report;
  bool skipped = false;  // This server cannot do what the script asks for.
};

// Requires: the backend's server is fresh, and script.applies.
[[nodiscard]] Outcome run_script(const Script& script, Delivery delivery, Backend& backend);

}  // namespace haricot::conformance
