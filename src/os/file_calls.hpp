// System calls on open files and folders. Each call is repeated if a signal interrupts it, and
// returns 0 or an errno. Sizes and offsets are in bytes. Descriptors stay the caller's.

#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "os/descriptor.hpp"

namespace haricot::os {

// Flags for opening files of the folder. Opening a pipe or a device must not block, nor make it the
// controlling terminal.
inline constexpr int kOpenFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
inline constexpr mode_t kFileMode = 0600;  // Jobs are private.

// Error of a name that is not a plain file; none of the kernel's errors.
inline constexpr int kNoPlainFile = -1;
// Returns the reason of an error as text.
const char* reason_of(int error);

// Writes all pieces in sequence, from that offset on. On failure some of them may be written.
[[nodiscard]] int write_all(int file, std::uint64_t offset,
                            std::span<const std::string_view> pieces);
[[nodiscard]] int size_of(int file, std::uint64_t& bytes);
// Truncates the file to that length.
int cut(int file, std::uint64_t bytes);
// Allocates the bytes from `from` to `to`, which read as zeros. On a file system that cannot do
// this, writes the zeros. On failure some of the space may be allocated.
[[nodiscard]] int take_space(int file, std::uint64_t from, std::uint64_t to);
// Renames a file of the folder, unless the new name exists. Not all file systems can do this in one
// step; a crash in between leaves the file with both names.
[[nodiscard]] int rename_to_free_name(int folder, const char* from, const char* to);
// Lists the names in a folder in no order, without . and .. .
[[nodiscard]] int list_names(Descriptor folder, std::vector<std::string>& names);

}  // namespace haricot::os
