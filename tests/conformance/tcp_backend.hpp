// A backend that is a server process of its own, spoken to over TCP, in real time.
#pragma once

#include <string>
#include <vector>

#include "backend.hpp"
#include "script.hpp"

namespace haricot::conformance {

// Starts haricotd or beanstalkd with the given flags besides its address and, if it is to keep a
// binlog, a folder for it, which goes with the backend. The server ends with the backend, and with
// the thread that started it.
[[nodiscard]] Started start_process(ServerKind kind, const std::vector<std::string>& flags,
                                    bool keeps_binlog);

// Whether there is a binary of this kind to start.
[[nodiscard]] bool has_binary(ServerKind kind);

// Returns whether the binary of this kind shows the version 1.13.
bool is_1_13(ServerKind kind);

}  // namespace haricot::conformance
