// Checks for --check whether a server could start, while another one runs. Binds no address that is
// in use, takes no lock, and writes nothing.

#pragma once

#include <string>

#include "os/options.hpp"

namespace haricot::os {

// Returns the status with which the start would end, and says why in `error`; 0 if it would serve.
// An address in use, and the lock of the folder, count as free: the server that is to be replaced
// has them. Changes the user of the process as the start does, so the process has to end then.
[[nodiscard]] int check_start(const Options& options, std::string& error);

}  // namespace haricot::os
