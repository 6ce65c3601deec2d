// The keys that somebody types, from the bytes of a terminal.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::tool {

enum class Key : std::uint8_t {
  none,  // Only a character.
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
  erase,      // The character before.
  erase_all,  // The line.
  filter,
  pause,
  kick,
  flush
};

// A key, and the character that it is where text is typed; 0: it is none.
struct Keystroke {
  Key key = Key::none;
  char character = 0;

  friend bool operator==(const Keystroke&, const Keystroke&) = default;
};

// Makes keys of bytes. An escape sequence may come in pieces; what means nothing is dropped, and
// never taken for the keys that its bytes would be.
class KeyReader {
 public:
  std::vector<Keystroke> read(std::string_view bytes);

  // Whether the last byte was an ESC. It is the key Esc if no more comes soon.
  bool may_be_escape() const { return state_ == State::escape; }
  // Nothing more has come: an ESC is the key.
  std::vector<Keystroke> take_escape();

 private:
  enum class State : std::uint8_t { plain, escape, sequence };

  State state_ = State::plain;
  std::string sequence_;
};

}  // namespace haricot::tool
