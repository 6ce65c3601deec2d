#include "os/path_sandbox.hpp"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "os/descriptor.hpp"

namespace haricot::os {
namespace {

// Additions of later kernels, by the version of the interface. The system's header may be older
// than the kernel.
struct Rules {
  std::uint64_t files;
  std::uint64_t network;  // From version 4 on.
  std::uint64_t scope;    // From version 6 on.
};
// The kernel reads as many bytes of it as rules_bytes() returns.
static_assert(offsetof(Rules, network) == 8 && offsetof(Rules, scope) == 16 && sizeof(Rules) == 24);

constexpr std::uint64_t bit(unsigned number) {
  return std::uint64_t{1} << number;
}

constexpr std::uint64_t kFilesOfVersion1 = bit(13) - 1;
constexpr std::uint64_t kRefer = bit(13);          // 2
constexpr std::uint64_t kTruncate = bit(14);       // 3
constexpr std::uint64_t kIoctlOfDevice = bit(15);  // 5
constexpr std::uint64_t kBind = bit(0);
constexpr std::uint64_t kBindAndConnect = kBind | bit(1);
constexpr std::uint64_t kSignals = bit(1);

constexpr std::uint64_t kOwnFiles = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                                    LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                                    LANDLOCK_ACCESS_FS_REMOVE_FILE | kTruncate;

// Forbids all that the kernel can forbid, except actions that a rule allows.
Rules all_rules(long version) {
  Rules rules{kFilesOfVersion1, 0, 0};
  if (version >= 2) rules.files |= kRefer;
  if (version >= 3) rules.files |= kTruncate;
  if (version >= 4) rules.network = kBindAndConnect;
  if (version >= 5) rules.files |= kIoctlOfDevice;
  if (version >= 6) rules.scope = kSignals;
  return rules;
}

std::size_t rules_bytes(long version) {
  if (version >= 6) return sizeof(Rules);
  return version >= 4 ? offsetof(Rules, scope) : offsetof(Rules, network);
}

bool allow(int ruleset, int folder, std::uint64_t access) {
  landlock_path_beneath_attr rule{};
  rule.allowed_access = access;
  rule.parent_fd = folder;
  return ::syscall(__NR_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

// Omits a folder that cannot be opened.
bool allow_below(int ruleset, const std::string& path, std::uint64_t access) {
  const Descriptor folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return !folder || allow(ruleset, folder.get(), access);
}

}  // namespace

bool enter_path_sandbox(const PathSandboxOptions& options, std::string& error) {
  const long version =
      ::syscall(__NR_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) {
    error = std::strerror(errno);
    return false;
  }
  Rules rules = all_rules(version);
  if (options.connects) rules.network &= kBind;
  const Descriptor ruleset(
      static_cast<int>(::syscall(__NR_landlock_create_ruleset, &rules, rules_bytes(version), 0)));
  bool good = static_cast<bool>(ruleset);
  if (good && options.folder >= 0) {
    good = allow(ruleset.get(), options.folder, kOwnFiles & rules.files);
  }
  for (const std::string& path : options.removal_folders) {
    good = good && allow_below(ruleset.get(), path, LANDLOCK_ACCESS_FS_REMOVE_FILE);
  }
  for (const std::string& path : options.reading_folders) {
    good = good && allow_below(ruleset.get(), path, LANDLOCK_ACCESS_FS_READ_FILE);
  }
  good = good && ::syscall(__NR_landlock_restrict_self, ruleset.get(), 0) == 0;
  if (!good) error = std::strerror(errno);
  return good;
}

}  // namespace haricot::os
