#include "tool/top/terminal.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "os/descriptor.hpp"

namespace haricot::tool {
namespace {

// Runs in a child whose terminal `path` is. Never returns: the exit status says what went wrong.
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

}  // namespace
}  // namespace haricot::tool
