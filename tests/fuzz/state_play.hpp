// Shared by the fuzzer of states and the test of its corpus: bytes that encode the state that a
// server has left to the next one, and the checks that hold for any state.

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace haricot::fuzz {

// As bytes:
//
//   u8      bit 0: the server has a binlog with the jobs of known_state(); bit 1: the first
//           connection is gone; bit 2: it accepts small bodies only, and no extended commands
//   bytes   the state, without its checksum
inline constexpr char kHasBinlog = 1;
inline constexpr char kFirstIsGone = 2;
inline constexpr char kIsNarrow = 4;

// Returns the state of a server with all kinds of data. `in_binlog`: its jobs are there.
std::string known_state(bool in_binlog);
std::vector<std::pair<std::string, std::string>> state_seeds();

// Lets a server take over the state, be used, and write its own state, which the next one has to
// take. Ends the program if a check fails. Returns true if the state was taken, and the jobs of the
// binlog are those of the state.
bool check_state(std::string_view input);

}  // namespace haricot::fuzz
