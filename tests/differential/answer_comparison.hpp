// Whether two answers, of two servers to the same command, say the same.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace haricot::test {

// Byte for byte, except in YAML, where the process's own facts (pid, rusage, id) may differ and
// seconds (age, time left, uptime) may be one apart, because a second can end between the two
// servers' looks at the clock, and by `late_s` more, which is how far these looks may lie apart.
// The keys, their order and their form always count.
bool answers_agree(std::string_view left, std::string_view right, std::uint64_t late_s = 0);

// The lines of two YAML answers that answers_agree() finds different, for a report; empty for
// others.
std::string disagreeing_lines(std::string_view left, std::string_view right,
                              std::uint64_t late_s = 0);

}  // namespace haricot::test
