// The terminal of a program that draws on the whole screen and reads keys one by one.
//
// Plain escape sequences that every terminal of the last decades knows; no terminal database. While
// one is open it has the second screen, no cursor, no echo, and the signals of keyboard and window
// come through read(). Whatever ends the process, SIGKILL aside, the terminal is put back. A
// program has one Terminal, at its end: after it, SIGINT, SIGTERM, SIGHUP and SIGQUIT are ignored.

#pragma once

#include <signal.h>
#include <termios.h>

#include <string>
#include <string_view>
#include <vector>

#include "os/descriptor.hpp"
#include "tool/top/screen_line.hpp"

namespace haricot::tool {

class Terminal final {
 public:
  struct Events {
    std::string bytes;     // What was typed.
    bool is_over = false;  // Somebody wants the program to end, or the terminal is gone.
    bool is_lost = false;  // What stands on the screen is unknown: draw all of it.
  };

  Terminal() = default;
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  // Whether stdin and stdout are a terminal on which one can draw.
  static bool is_there();

  // Colours, unless NO_COLOR is set and not empty or the kind of terminal is known to have none;
  // UTF-8 if the locale says so. From the environment.
  static ScreenStyle style();

  // False: `error` says why.
  [[nodiscard]] bool open(std::string& error);

  // When one of them can be read there are events.
  std::vector<int> descriptors() const;
  // What is there now; does not wait, but where Ctrl-Z stops the process it returns when that goes
  // on.
  Events read();

  ScreenSize size() const;

  // False: the terminal is gone, or does not take the bytes while somebody wants the end.
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

}  // namespace haricot::tool
