// A backend with a server process of its own, over TCP, in real time.
#pragma once

#include <string>
#include <vector>

#include "backend.hpp"
#include "script.hpp"

namespace haricot::conformance {

// Starts haricotd or beanstalkd with the given flags, its address, and a folder for its binlog if
// it keeps one; the folder is removed with the backend. The server ends with the backend, and with
// the thread that started it.
[[nodiscard]] Started start_process(ServerKind kind, const std::vector<std::string>& flags,
                                    bool keeps_binlog);

// Returns true if there is a binary of this kind.
[[nodiscard]] bool has_binary(ServerKind kind);

// Returns true if the binary of this kind shows the version 1.13.
bool is_1_13(ServerKind kind);

}  // namespace haricot::conformance
