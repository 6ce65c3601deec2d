// A flag as --help shows it.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace haricot {

struct FlagText {
  char letter;  // 0: it has a long name only.
  std::string_view name;
  std::string_view value;  // Name of its value; empty: it takes none.
  std::string_view help;
};

// Returns the flag's line in --help, with its line end. `margin` is the beginning of the line. The
// help starts in column kHelpColumn, or one blank after a longer name. May throw std::bad_alloc.
inline constexpr std::size_t kHelpColumn = 30;
inline std::string to_line(const FlagText& flag, std::string_view margin) {
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
