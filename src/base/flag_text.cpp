#include "haricot/base/flag_text.hpp"

namespace haricot {

std::string to_line(const FlagText& flag, std::string_view margin) {
  std::string line(margin);
  line += flag.letter != 0 ? std::string("-") + flag.letter + ", " : "    ";
  line += "--";
  line += flag.name;
  if (!flag.value.empty()) {
    line += ' ';
    line += flag.value;
  }
  line.append(line.size() < kHelpColumn ? kHelpColumn - line.size() : 1, ' ');
  line += flag.help;
  line += '\n';
  return line;
}

}  // namespace haricot
