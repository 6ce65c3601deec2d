// Plays a SessionInput against a complete server: service, engine and optionally a binlog on a
// simulated disk, with a clock that only the input moves.

#pragma once

#include <array>
#include <string>
#include <vector>

#include "session_input.hpp"

namespace haricot::fuzz {

// How the input of clients is cut into reads. If another client has commands behind an unfinished
// one, the cut may affect the order in which both continue; so input is not cut then.
enum class Cut : std::uint8_t {
  whole,   // All bytes; also those of several consecutive actions of a client.
  pieces,  // Some dozens of bytes, in varying numbers.
  bytes,   // Each byte alone.
};

// Received text of each client, for each of its connections.
using Heard = std::array<std::vector<std::string>, kClients>;

// Ends the program if a check fails: the invariants of the engine and the binlog hold after each
// action, answers match the grammar, there is one for each command, every connection ends, and a
// server that is started on the folder has all jobs.
Heard play(const SessionInput& input, Cut cut);

// Plays it with every cut, and ends the program if the received text differs.
void check_session(const SessionInput& input);

}  // namespace haricot::fuzz
