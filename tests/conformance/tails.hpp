// Scripts about text after a command: every command with every kind of tail.
//
// The rules are few and the commands many, so a table generates these scripts. They are played like
// all others, as `tail/<name>`.
#pragma once

#include <string>
#include <vector>

namespace haricot::conformance {

struct TailScript {
  std::string name;
  std::string text;
};

[[nodiscard]] std::vector<TailScript> tail_scripts();

// Returns the lines to which the scripts add tails, one for each script, in the same order.
[[nodiscard]] std::vector<std::string> lines_with_tails();

}  // namespace haricot::conformance
