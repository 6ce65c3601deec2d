#include "os/sandbox.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace haricot::os {
namespace {

// Sanitizers make system calls of their own, read /proc and write reports.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif
#else
constexpr bool kIsSanitized = false;
#endif

bool is_in_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

}  // namespace

bool wants_sandbox(const Options& options) {
  switch (options.confinement) {
    case Options::Confinement::always:
      return true;
    case Options::Confinement::never:
      return false;
    case Options::Confinement::automatic:
      break;
  }
  // systemd gives every service an INVOCATION_ID.
  return (::geteuid() == 0 && !options.user.empty()) || is_in_environment("NOTIFY_SOCKET") ||
         is_in_environment("INVOCATION_ID");
}

std::string Sandbox::enter() const {
  if (kIsSanitized) return "this build contains a sanitizer";
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return std::string("new privileges cannot be dropped: ") + std::strerror(errno);
  }
  // In this order, because the call filter rejects the calls that Landlock needs.
  std::string missing;
  std::string error;
  if (!enter_path_sandbox(paths, error)) missing = "files (Landlock: " + error + ")";
  if (!enter_call_filter(
          {.program = program, .self = ::getpid(), .notifies = notifies, .hands_over = hands_over},
          error)) {
    if (!missing.empty()) missing += " and ";
    missing += "system calls (seccomp: " + error + ")";
  }
  return missing.empty() ? missing : "the kernel does not limit " + missing;
}

}  // namespace haricot::os
