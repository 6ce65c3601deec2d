#include "tool/top/terminal.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/descriptor.hpp"

namespace haricot::tool {
namespace {

// Runs in a child with the terminal `path`. Never returns; the exit status is the failed step.
[[noreturn]] void open_and_leave(const char* path, int signal_after) {
  ::setsid();
  const int terminal_end = ::open(path, O_RDWR);
  if (terminal_end < 0) ::_exit(10);
  ::dup2(terminal_end, STDIN_FILENO);
  ::dup2(terminal_end, STDOUT_FILENO);
  {
    Terminal terminal;
    std::string error;
    if (!terminal.open(error)) ::_exit(11);
  }
  ::raise(signal_after);
  ::_exit(0);
}

TEST(Terminal, ASignalThatComesLateDoesNotEndTheProgram) {
  for (const int number : {SIGHUP, SIGTERM, SIGINT, SIGQUIT}) {
    const os::Descriptor master(::posix_openpt(O_RDWR | O_NOCTTY));
    ASSERT_TRUE(master);
    ASSERT_EQ(::grantpt(master.get()), 0);
    ASSERT_EQ(::unlockpt(master.get()), 0);
    const std::string path = ::ptsname(master.get());
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) open_and_leave(path.c_str(), number);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << number;
    EXPECT_EQ(WEXITSTATUS(status), 0) << "signal " << number;
  }
}

// Sets variables of the environment, and restores them.
class Environment {
 public:
  explicit Environment(std::vector<std::pair<const char*, const char*>> variables) {
    for (const char* name : {"TERM", "NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG"}) {
      const char* value = ::getenv(name);
      before_.emplace_back(name,
                           value == nullptr ? std::nullopt : std::optional<std::string>(value));
      ::unsetenv(name);
    }
    for (const auto& [name, value] : variables) ::setenv(name, value, 1);
  }
  ~Environment() {
    for (const auto& [name, value] : before_) {
      if (value) {
        ::setenv(name, value->c_str(), 1);
      } else {
        ::unsetenv(name);
      }
    }
  }

 private:
  std::vector<std::pair<const char*, std::optional<std::string>>> before_;
};

ScreenStyle style_with(std::vector<std::pair<const char*, const char*>> variables) {
  const Environment environment(std::move(variables));
  return Terminal::style();
}

TEST(Terminal, ColoursCanBeTurnedOff) {
  EXPECT_TRUE(style_with({{"TERM", "xterm"}}).colours);
  EXPECT_TRUE(style_with({{"TERM", "xterm"}, {"NO_COLOR", ""}}).colours);
  EXPECT_FALSE(style_with({{"TERM", "xterm"}, {"NO_COLOR", "1"}}).colours);
  EXPECT_FALSE(style_with({{"TERM", "vt100"}}).colours);
  EXPECT_FALSE(style_with({{"TERM", "xterm-mono"}}).colours);
}

TEST(Terminal, TheLocaleDeterminesUtf8) {
  EXPECT_FALSE(style_with({}).utf8);
  EXPECT_TRUE(style_with({{"LANG", "de_DE.UTF-8"}}).utf8);
  EXPECT_TRUE(style_with({{"LC_CTYPE", "C.utf8"}, {"LANG", "C"}}).utf8);
  EXPECT_FALSE(style_with({{"LC_ALL", "C"}, {"LANG", "de_DE.UTF-8"}}).utf8);
}

using Keys = std::vector<Key>;

Keys keys_of(const std::vector<Keystroke>& strokes) {
  Keys keys;
  for (const Keystroke& stroke : strokes) keys.push_back(stroke.key);
  return keys;
}

Keys read(std::string_view bytes) {
  return keys_of(KeyReader().read(bytes));
}

TEST(KeyReader, LettersAreKeysAndCharacters) {
  EXPECT_EQ(read("q>r"), (Keys{Key::quit, Key::next_column, Key::reverse}));
  const std::vector<Keystroke> strokes = KeyReader().read("qx\x03");
  EXPECT_EQ(strokes,
            (std::vector<Keystroke>{{Key::quit, 'q'}, {Key::none, 'x'}, {Key::quit, '\0'}}));
}

TEST(KeyReader, ArrowsComeInBothForms) {
  EXPECT_EQ(read("\x1b[A\x1bOB"), (Keys{Key::up, Key::down}));
  EXPECT_EQ(read("\x1b[5~\x1b[6~\x1b[H\x1b[4~"),
            (Keys{Key::page_up, Key::page_down, Key::first, Key::last}));
}

TEST(KeyReader, ASequenceMayComeInPieces) {
  KeyReader reader;
  EXPECT_EQ(keys_of(reader.read("\x1b")), Keys{});
  EXPECT_EQ(keys_of(reader.read("[")), Keys{});
  EXPECT_EQ(keys_of(reader.read("Aq")), (Keys{Key::up, Key::quit}));
}

TEST(KeyReader, TheBytesOfAnUnknownSequenceAreNoKeys) {
  EXPECT_EQ(read("\x1b[1;5q"), Keys{});
  EXPECT_EQ(read("\x1bq"), Keys{});
  EXPECT_EQ(read("\x1b[24~j"), Keys{Key::down});
}

TEST(KeyReader, ASequenceWithoutEndIsGivenUp) {
  EXPECT_EQ(read("\x1b[0000000000000000q"), Keys{Key::quit});
}

TEST(KeyReader, AnEscWithoutMoreIsAKey) {
  KeyReader reader;
  EXPECT_FALSE(reader.may_be_escape());
  EXPECT_EQ(keys_of(reader.read("j\x1b")), Keys{Key::down});
  EXPECT_TRUE(reader.may_be_escape());
  EXPECT_EQ(keys_of(reader.take_escape()), Keys{Key::escape});
  EXPECT_FALSE(reader.may_be_escape());
  EXPECT_EQ(keys_of(reader.take_escape()), Keys{});
  // The key has not begun a sequence.
  EXPECT_EQ(keys_of(reader.read("[q")), (Keys{Key::none, Key::quit}));
}

TEST(KeyReader, AnEscBeforeASequenceIsAKey) {
  EXPECT_EQ(read("\x1b\x1b[A"), (Keys{Key::escape, Key::up}));
}

TEST(KeyReader, KeysThatEditAreNoCharacters) {
  EXPECT_EQ(
      KeyReader().read("\r\x7f\x15"),
      (std::vector<Keystroke>{{Key::enter, '\0'}, {Key::erase, '\0'}, {Key::erase_all, '\0'}}));
  EXPECT_EQ(read("\xc3\xa4"), Keys{});
}

}  // namespace
}  // namespace haricot::tool
