// The terminal of a program that draws on the whole screen and reads single keys.
//
// It uses plain escape sequences that all terminals know, and no terminal database. While it is
// open, the terminal shows the alternate screen without cursor and echo, and signals of keyboard
// and window arrive through read(). It restores the terminal however the process ends, except by
// SIGKILL. A program creates one Terminal and exits after it: SIGINT, SIGTERM, SIGHUP and SIGQUIT
// are then ignored.

#pragma once

#include <signal.h>
#include <termios.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "os/descriptor.hpp"
#include "tool/top/screen_text.hpp"

namespace haricot::tool {

class Terminal final {
 public:
  struct Events {
    std::string bytes;     // Typed bytes.
    bool is_over = false;  // A signal asks to exit, or the terminal is gone.
    bool is_lost = false;  // The contents of the screen are unknown, so draw all of it.
  };

  Terminal() = default;
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  // Returns true if stdin and stdout are a terminal that can be drawn on.
  static bool is_there();

  // Returns the style from the environment. There are colours unless NO_COLOR is set and not empty,
  // or the kind of terminal has none. There is UTF-8 if the locale uses it.
  static ScreenStyle style();

  // Returns false and sets `error` on failure.
  [[nodiscard]] bool open(std::string& error);

  // Returns descriptors; one of them is readable when there are events.
  std::vector<int> descriptors() const;
  // Returns the pending events without waiting, except after Ctrl-Z: then it returns when the
  // process is continued.
  Events read();

  ScreenSize size() const;

  // Returns false if the terminal is gone, or does not accept the bytes while a signal asks to
  // exit.
  [[nodiscard]] bool write(std::string_view bytes);

 private:
  void enter();
  void leave();
  void read_signals(Events& events);

  bool is_open_ = false;
  bool is_leaving_ = false;
  termios before_{};
  sigset_t mask_before_{};
  os::Descriptor signals_;
};

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
