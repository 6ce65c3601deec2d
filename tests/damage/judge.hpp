// Starts servers on a damaged folder and reports violations of the reader's guarantees.

#pragma once

#include <cstdint>
#include <string>

#include "hurt_folder.hpp"
#include "model.hpp"
#include "server.hpp"

namespace haricot::damage {

enum class Depth : std::uint8_t {
  check,   // Reads the folder like the operator's tool.
  starts,  // Also starts two servers on it, with deletes and compaction between them.
};

struct Verdict {
  std::string wrong;  // The violations. Empty: none.
  Reading reading;    // Result of the check.
  Image after;        // Depth::starts: the folder at the end.
};

// `choice` is any number; it selects the deleted jobs and the end of the first server.
Verdict judge(const HurtFolder& folder, Depth depth, std::uint64_t choice = 0);

}  // namespace haricot::damage
