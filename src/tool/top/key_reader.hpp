// Reads keys from the bytes of a terminal.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::tool {

enum class Key : std::uint8_t {
  none,  // No command, only a character.
  quit,
  help,
  refresh,
  redraw,
  next_column,
  previous_column,
  by_name,
  reverse,
  idle,
  next_server,
  clients,
  faster,
  slower,
  up,
  down,
  page_up,
  page_down,
  first,
  last,
  enter,
  escape,
  erase,      // The previous character.
  erase_all,  // The whole line.
  filter,
  pause,
  kick,
  flush
};

// A key, and the character that it enters into a text; 0 if none.
struct Keystroke {
  Key key = Key::none;
  char character = 0;

  friend bool operator==(const Keystroke&, const Keystroke&) = default;
};

// Turns bytes into keys. An escape sequence may arrive in pieces. Unknown sequences are dropped,
// and their bytes are never taken for keys.
class KeyReader {
 public:
  std::vector<Keystroke> read(std::string_view bytes);

  // Returns true if the last byte was an ESC, which is the key Esc if no more bytes follow soon.
  bool may_be_escape() const { return state_ == State::escape; }
  // Returns the key Esc for a pending ESC, because no more bytes have arrived.
  std::vector<Keystroke> take_escape();

 private:
  enum class State : std::uint8_t { plain, escape, sequence };

  State state_ = State::plain;
  std::string sequence_;
};

}  // namespace haricot::tool
