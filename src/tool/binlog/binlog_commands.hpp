// Declarations that the files of `haricot binlog` share.

#pragma once

#include <string>

namespace haricot::tool {

// Prints a line to stderr. Escapes it for a terminal, because names of files may contain anything.
void complain(const std::string& line);

// Copies the jobs into a folder that is new or empty, also from a folder that a server refuses:
// sorts the files, makes guesses, and prints a line for each decision and each job that may be
// wrong. Returns kExitFailure if there is a decision, a guess or such a job, or if the source is
// damaged.
int repair_binlog(const std::string& folder, const std::string& to, bool is_quiet);

}  // namespace haricot::tool
