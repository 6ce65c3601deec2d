// How a job that the server has sent is printed.

#pragma once

#include <optional>

#include "tool/client/errand.hpp"

namespace haricot::tool {

// Otherwise the body is printed: as it is, or so that a terminal can show it.
struct JobForm {
  bool only_id = false;
  bool raw = false;  // As it is, also to a terminal.
};

// The flags --id and --raw.
void add_form_flags(Errand& errand, JobForm& form);

// Prints the job; with --json its statistics, for which the server is asked, and its body.
// Something: that failed, the message is printed, and this is the exit status.
std::optional<int> print_job(Errand& errand, const Response& job, const JobForm& form);

}  // namespace haricot::tool
