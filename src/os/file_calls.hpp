// Calls of the system on files and folders that are open. Each goes on where a signal interrupted
// the call, and returns 0 or an errno. Sizes and offsets are in bytes. A number of a descriptor
// stays the caller's.

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

// How files of the folder are opened. A pipe or a device in the folder must not hold the server up
// when it is opened, nor become its terminal.
inline constexpr int kOpenFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
inline constexpr mode_t kFileMode = 0600;  // Jobs are nobody else's business.

// What kOpenFlags open that is no plain file: an error beside those of the kernel.
inline constexpr int kNoPlainFile = -1;
// Why it failed, in words.
const char* reason_of(int error);

// Writes all pieces, one after the other, from that offset on. On failure some of them may be
// written.
[[nodiscard]] int write_all(int file, std::uint64_t offset,
                            std::span<const std::string_view> pieces);
[[nodiscard]] int size_of(int file, std::uint64_t& bytes);
// Cuts the file to that length.
int cut(int file, std::uint64_t bytes);
// Allocates the bytes from `from` up to `to`, which read as zeros. On a file system that cannot do
// this it writes the zeros. On failure some of the space may be allocated.
[[nodiscard]] int take_space(int file, std::uint64_t from, std::uint64_t to);
// The names in a folder, in no order, without . and .. .
[[nodiscard]] int list_names(Descriptor folder, std::vector<std::string>& names);

}  // namespace haricot::os
