// What the fuzzer of states and the test of its corpus have in common: bytes that stand for what a
// server has left to the next one, and everything that has to hold whatever they are.

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace haricot::fuzz {

// As bytes:
//
//   u8      bit 0: the server has a binlog with the jobs of known_state(); bit 1: the first
//           connection has gone; bit 2: it takes small bodies only, and no extended commands
//   bytes   the state, without its sum
inline constexpr char kHasBinlog = 1;
inline constexpr char kFirstIsGone = 2;
inline constexpr char kIsNarrow = 4;

// The state of a server that has some of all that there is. `in_binlog`: its jobs are there.
std::string known_state(bool in_binlog);
std::vector<std::pair<std::string, std::string>> transfer_seeds();

// Has a server go on with it, be used, and leave its own state, which the next one has to take.
// Ends the program if anything is not as it has to be. True: the state was taken, and the jobs
// of the binlog are those of the state.
bool check_transfer(std::string_view input);

}  // namespace haricot::fuzz
