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

}  // namespace
}  // namespace haricot::tool
