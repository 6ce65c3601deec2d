#include "traced_faults.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "persistence_fixture.hpp"

namespace haricot::test {
namespace {

bool is_traced(const std::filesystem::path& thread) {
  std::ifstream status(thread / "status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("TracerPid:")) return line.find_first_of("123456789") != line.npos;
  }
  return false;
}

bool all_threads_are_traced(pid_t server) {
  std::error_code error;
  const std::string threads = "/proc/" + std::to_string(server) + "/task";
  for (const auto& thread : std::filesystem::directory_iterator(threads, error)) {
    if (!is_traced(thread.path())) return false;
  }
  return !error;
}

}  // namespace

bool TracedFaults::are_possible() {
  const pid_t child = ::fork();
  if (child == 0) {
    const int nothing = ::open("/dev/null", O_WRONLY);
    ::dup2(nothing, 1);
    ::dup2(nothing, 2);
    ::execlp("strace", "strace", "-o", "/dev/null", "true", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

bool TracedFaults::begin(pid_t server, const std::string& injection) {
  const std::string number = std::to_string(server);
  const std::string inject = "inject=" + injection;
  const std::string trace = "trace=" + injection.substr(0, injection.find(':'));
  tracer_ = ::fork();
  if (tracer_ < 0) return false;
  if (tracer_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    const int nothing = ::open("/dev/null", O_WRONLY);
    ::dup2(nothing, 2);
    ::execlp("strace", "strace", "-f", "-o", "/dev/null", "-e", trace.c_str(), "-e", inject.c_str(),
             "-p", number.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  return eventually([&] { return all_threads_are_traced(server); });
}

void TracedFaults::end() {
  if (tracer_ < 0) return;
  ::kill(tracer_, SIGINT);
  ::waitpid(tracer_, nullptr, 0);
  tracer_ = -1;
}

}  // namespace haricot::test
