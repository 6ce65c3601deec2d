// Declarations that the files of `haricot binlog` share.

#pragma once

#include <string>

namespace haricot::tool {

// Prints a line to stderr. Escapes it for a terminal, because names of files may contain anything.
void complain(const std::string& line);

// Copies the jobs into a folder that is new or empty, makes guesses where a server would not, and
// prints a line for each job that may be wrong. Returns kExitFailure if there is such a job or a
// guess, or if the source is damaged.
int repair_binlog(const std::string& folder, const std::string& to, bool is_quiet);

}  // namespace haricot::tool
