#include "tool/top/terminal.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace haricot::tool {
namespace {

// Switch to the alternate screen and hide the cursor, and back.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?25h\x1b[?1049l";

constexpr int kEndSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr int kCrashSignals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

// Global, because a signal handler has no argument of ours.
termios crash_settings;

void put_back_and_crash(int number) {
  [[maybe_unused]] const ssize_t ignored = ::write(STDOUT_FILENO, kLeave.data(), kLeave.size());
  ::tcsetattr(STDIN_FILENO, TCSANOW, &crash_settings);
  ::raise(number);  // The default action is restored, and ends the process.
}

void handle_crashes(const termios& settings) {
  crash_settings = settings;
  struct sigaction action {};
  action.sa_handler = put_back_and_crash;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int number : kCrashSignals) ::sigaction(number, &action, nullptr);
}

sigset_t watched_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : kEndSignals) ::sigaddset(&set, number);
  for (const int number : {SIGWINCH, SIGTSTP, SIGCONT}) ::sigaddset(&set, number);
  return set;
}

// Returns a variable of the environment; empty if it is not set.
std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : value;
}

bool is_asked_to_end() {
  sigset_t pending;
  ::sigpending(&pending);
  return std::any_of(std::begin(kEndSignals), std::end(kEndSignals),
                     [&pending](int number) { return ::sigismember(&pending, number) == 1; });
}

}  // namespace

bool Terminal::is_there() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0 && kind != nullptr &&
         *kind != '\0' && std::strcmp(kind, "dumb") != 0;
}

ScreenStyle Terminal::style() {
  constexpr std::string_view kWithoutColours[] = {"vt52",  "vt100", "vt102",
                                                  "vt220", "vt320", "vt420"};
  const std::string_view kind = variable("TERM");
  const bool has_none = std::find(std::begin(kWithoutColours), std::end(kWithoutColours), kind) !=
                            std::end(kWithoutColours) ||
                        kind.ends_with("-m") || kind.ends_with("-mono");
  // The first variable that is set decides.
  std::string_view locale;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (locale.empty()) locale = variable(name);
  }
  std::string lower(locale);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return {
      .colours = variable("NO_COLOR").empty() && !has_none,
      .utf8 = lower.find("utf-8") != std::string::npos || lower.find("utf8") != std::string::npos};
}

bool Terminal::open(std::string& error) {
  const sigset_t set = watched_signals();
  if (::tcgetattr(STDIN_FILENO, &before_) != 0) {
    error = std::string("cannot use the terminal: ") + std::strerror(errno);
    return false;
  }
  ::sigprocmask(SIG_BLOCK, &set, &mask_before_);
  signals_ = os::Descriptor(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!signals_) {
    error = std::string("cannot watch signals: ") + std::strerror(errno);
    ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
    return false;
  }
  is_open_ = true;
  handle_crashes(before_);
  enter();
  return true;
}

Terminal::~Terminal() {
  if (!is_open_) return;
  leave();
  // The program is exiting, so ignore further signals that ask for it. One may still arrive: the
  // end of a terminal is noticed before its SIGHUP, and write() gives up for a signal that is still
  // pending. With the old action, such a signal would set the exit status.
  for (const int number : kEndSignals) ::signal(number, SIG_IGN);
  signalfd_siginfo signal{};
  while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
  }
  ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

void Terminal::enter() {
  termios raw = before_;
  // Keys arrive one by one without echo. Ctrl-C and Ctrl-Z still raise signals.
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  [[maybe_unused]] const bool ignored = write(kEnter);
}

void Terminal::leave() {
  ::tcflow(STDOUT_FILENO, TCOON);  // Ctrl-S may have stopped the output, and the rest must get
                                   // through.
  is_leaving_ = true;
  [[maybe_unused]] const bool ignored = write(kLeave);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  is_leaving_ = false;
}

std::vector<int> Terminal::descriptors() const {
  return {STDIN_FILENO, signals_.get()};
}

Terminal::Events Terminal::read() {
  Events events;
  read_signals(events);
  pollfd wanted{STDIN_FILENO, POLLIN, 0};
  if (::poll(&wanted, 1, 0) <= 0) return events;
  char bytes[256];
  const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (count > 0) events.bytes.assign(bytes, static_cast<std::size_t>(count));
  // poll() reported input, so this is the end of the terminal.
  if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) events.is_over = true;
  return events;
}

void Terminal::read_signals(Events& events) {
  signalfd_siginfo signal{};
  while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
    const auto number = static_cast<int>(signal.ssi_signo);
    if (number == SIGTSTP) {
      leave();
      ::raise(SIGSTOP);
      enter();
      events.is_lost = true;
    } else if (number == SIGWINCH || number == SIGCONT) {
      events.is_lost = true;
    } else {
      events.is_over = true;
    }
  }
}

ScreenSize Terminal::size() const {
  constexpr std::size_t kMax = 2000;  // Bound, because the screen is kept in memory.
  winsize found{};
  ScreenSize size;
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0) return size;
  if (found.ws_row > 0) size.rows = std::min<std::size_t>(found.ws_row, kMax);
  if (found.ws_col > 0) size.columns = std::min<std::size_t>(found.ws_col, kMax);
  return size;
}

bool Terminal::write(std::string_view bytes) {
  // Writes small pieces, each only if there is room, so that a stopped terminal (Ctrl-S) cannot
  // keep the program from exiting.
  constexpr std::size_t kPieceBytes = 256;
  constexpr int kPollMs = 200;
  constexpr int kPollsWhileLeaving = 10;
  int polls = 0;
  while (!bytes.empty()) {
    pollfd wanted{STDOUT_FILENO, POLLOUT, 0};
    if (::poll(&wanted, 1, kPollMs) <= 0) {
      if (is_leaving_ ? ++polls >= kPollsWhileLeaving : is_asked_to_end()) return false;
      continue;
    }
    const ssize_t count = ::write(STDOUT_FILENO, bytes.data(), std::min(bytes.size(), kPieceBytes));
    if (count < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

namespace {

constexpr char kEscape = '\x1b';
constexpr std::size_t kSequenceBytesMax = 16;

Key key_of(char c) {
  constexpr struct {
    char character;
    Key key;
  } kKeys[] = {
      {'q', Key::quit},
      {'Q', Key::quit},
      {'\x03', Key::quit},  // Ctrl-C, if the terminal does not turn it into a signal.
      {'h', Key::help},
      {'?', Key::help},
      {' ', Key::refresh},
      {'\x0c', Key::redraw},  // Ctrl-L
      {'>', Key::next_column},
      {'s', Key::next_column},
      {'<', Key::previous_column},
      {'n', Key::by_name},
      {'r', Key::reverse},
      {'i', Key::idle},
      {'v', Key::next_server},
      {'c', Key::clients},
      {'+', Key::faster},
      {'-', Key::slower},
      {'k', Key::up},
      {'j', Key::down},
      {'g', Key::first},
      {'G', Key::last},
      {'\r', Key::enter},
      {'\n', Key::enter},
      {'\x7f', Key::erase},
      {'\b', Key::erase},
      {'\x15', Key::erase_all},  // Ctrl-U
      {'/', Key::filter},
      {'p', Key::pause},
      {'K', Key::kick},
      {'F', Key::flush},
  };
  for (const auto& each : kKeys) {
    if (each.character == c) return each.key;
  }
  return Key::none;
}

// Returns the key of the bytes after ESC [ or ESC O.
Key key_of_sequence(std::string_view sequence) {
  constexpr struct {
    std::string_view bytes;
    Key key;
  } kKeys[] = {{"A", Key::up},          {"B", Key::down},
               {"C", Key::next_column}, {"D", Key::previous_column},
               {"5~", Key::page_up},    {"6~", Key::page_down},
               {"H", Key::first},       {"1~", Key::first},
               {"F", Key::last},        {"4~", Key::last}};
  for (const auto& each : kKeys) {
    if (each.bytes == sequence) return each.key;
  }
  return Key::none;
}

bool is_printable(char c) {
  return c >= ' ' && c <= '~';
}

}  // namespace

std::vector<Keystroke> KeyReader::read(std::string_view bytes) {
  std::vector<Keystroke> strokes;
  for (const char c : bytes) {
    Keystroke stroke;
    if (c == kEscape) {
      if (state_ == State::escape) stroke.key = Key::escape;  // Pressed twice.
      state_ = State::escape;
    } else if (state_ == State::escape) {
      state_ = c == '[' || c == 'O' ? State::sequence : State::plain;
      sequence_.clear();
    } else if (state_ == State::sequence) {
      sequence_ += c;
      const bool is_end = c >= '@' && c <= '~';
      if (is_end) stroke.key = key_of_sequence(sequence_);
      if (is_end || sequence_.size() >= kSequenceBytesMax) state_ = State::plain;
    } else {
      stroke = {key_of(c), is_printable(c) ? c : '\0'};
    }
    if (stroke != Keystroke{}) strokes.push_back(stroke);
  }
  return strokes;
}

std::vector<Keystroke> KeyReader::take_escape() {
  if (state_ != State::escape) return {};
  state_ = State::plain;
  return {{Key::escape, '\0'}};
}

}  // namespace haricot::tool
