// Checks for --check whether a server could start, while another one runs. Does not bind an address
// that is in use, takes no lock, and writes nothing.

#pragma once

#include <string>

#include "os/options.hpp"

namespace haricot::os {

// Returns the exit status of a start, and the reason in `error`; 0 if the server would serve.
// Addresses in use and the lock of the folder count as free, because the server to be replaced has
// them. Changes the user of the process as a start does, so the process has to end afterwards.
[[nodiscard]] int check_start(const Options& options, std::string& error);

}  // namespace haricot::os
