// Starts servers on a hurt folder and says what of the reader's promises was not kept.

#pragma once

#include <cstdint>
#include <string>

#include "hurt_folder.hpp"
#include "model.hpp"
#include "server.hpp"

namespace haricot::damage {

enum class Depth : std::uint8_t {
  check,   // The folder is read, as by the operator's tool.
  starts,  // And two servers are started on it, with deletes and compaction in between.
};

struct Verdict {
  std::string wrong;  // Empty: all is as it has to be.
  Reading reading;    // What the check saw.
  Image after;        // Depth::starts: the folder at the end.
};

// `choice` decides what is deleted and how the first server ends: any number.
Verdict judge(const HurtFolder& folder, Depth depth, std::uint64_t choice = 0);

}  // namespace haricot::damage
