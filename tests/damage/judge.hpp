// Starts servers on a damaged folder and reports violations of the reader's guarantees. If the
// server refuses the folder, what `haricot binlog repair` makes of it has to keep them.

#pragma once

#include <cstdint>
#include <string>

#include "hurt_folder.hpp"
#include "model.hpp"
#include "server.hpp"

namespace haricot::damage {

enum class Depth : std::uint8_t {
  check,   // Reads the folder like the operator's tool.
  starts,  // Also starts two servers on it, or on its repaired copy, with deletes and compaction
           // between them.
};

struct Verdict {
  std::string wrong;  // The violations. Empty: none.
  Reading reading;    // Result of the check; of a refused folder, what `repair` reads.
  Reading refused;    // Result of the check, if the folder is refused.
  Image after;        // Depth::starts: the folder at the end.
};

// `choice` is any number; it selects the deleted jobs and the end of the first server.
Verdict judge(const HurtFolder& folder, Depth depth, std::uint64_t choice = 0);

}  // namespace haricot::damage
