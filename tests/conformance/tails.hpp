// Scripts about what follows a command: every command with every kind of tail.
//
// The rules are few and the commands many, so these scripts are written by a table instead of by
// hand. They are played as all others are, as `tail/<name>`.
#pragma once

#include <string>
#include <vector>

namespace haricot::conformance {

struct TailScript {
  std::string name;
  std::string text;
};

[[nodiscard]] std::vector<TailScript> tail_scripts();

// The lines that the scripts add tails to, one for each script, in the same order.
[[nodiscard]] std::vector<std::string> lines_with_tails();

}  // namespace haricot::conformance
