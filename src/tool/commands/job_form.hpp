// Prints a job that the server has sent.

#pragma once

#include <optional>

#include "tool/client/errand.hpp"

namespace haricot::tool {

// Form of the output. By default the body is printed: unchanged, or on a terminal with escapes.
struct JobForm {
  bool only_id = false;
  bool raw = false;  // Unchanged, also on a terminal.
};

// Adds the flags --id and --raw.
void add_form_flags(Errand& errand, JobForm& form);

// Prints the job. With --json asks the server for its statistics, and prints them with the body. On
// failure prints a message and returns the exit status.
std::optional<int> print_job(Errand& errand, const Response& job, const JobForm& form);

}  // namespace haricot::tool
