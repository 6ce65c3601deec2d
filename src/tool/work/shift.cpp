#include "tool/work/shift.hpp"

#include "tool/cli/safe_text.hpp"

namespace haricot::tool {

void Shift::say(const std::string& line) {
  error.add("haricot work: " + safe_lines(line) + "\n");
}

}  // namespace haricot::tool
