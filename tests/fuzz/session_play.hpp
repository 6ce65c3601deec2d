// Plays what a SessionInput says against a whole server: service, engine and, if it says so, a
// binlog on a simulated disk, under a clock that only the input moves.

#pragma once

#include <array>
#include <string>
#include <vector>

#include "session_input.hpp"

namespace haricot::fuzz {

// How what clients send is cut into reads. Where another client has commands waiting behind one
// that is not done, the order in which both go on depends on it, and may; so what comes then is
// never cut.
enum class Cut : std::uint8_t {
  whole,   // As much as is there; what a client sends in several actions in a row, together.
  pieces,  // Some dozens of bytes, never the same number.
  bytes,   // Each byte alone.
};

// What each client heard, a text for each of its connections.
using Heard = std::array<std::vector<std::string>, kClients>;

// Ends the program if anything is not as it has to be: the engine and the binlog fit together after
// each action, answers are in the grammar, there is one for each command, every connection comes to
// its end, and a server that is started on the folder has all jobs.
Heard play(const SessionInput& input, Cut cut);

// Plays it in every way, and ends the program if what clients hear depends on how their bytes came.
void check_session(const SessionInput& input);

}  // namespace haricot::fuzz
