// Compares the answers of two servers to the same command.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace haricot::test {

// Compares byte for byte, except in YAML: there, facts of the process (pid, rusage, id) may differ,
// and seconds (age, time left, uptime) may differ by one, because a second can end between the two
// servers' readings of the clock, plus `late_s`, the maximum time between these readings. The keys,
// their order and their form must be equal.
bool answers_agree(std::string_view left, std::string_view right, std::uint64_t late_s = 0);

// Returns the lines of two YAML answers that answers_agree() finds different, for a report; empty
// for other answers.
std::string disagreeing_lines(std::string_view left, std::string_view right,
                              std::uint64_t late_s = 0);

}  // namespace haricot::test
