// The actions of `haricot binlog`. Each returns the exit status.

#pragma once

#include <string>

namespace haricot::tool {

// Prints a line to stderr. Escapes it for a terminal, because names of files may contain anything.
void complain(const std::string& line);

// Lists and checks a folder. `is_quiet` suppresses progress on a terminal.
//
// Returns 0 if everything was read and nothing is missing, kExitTorn if only records are lost that
// were not durable, kExitFailure after damage, and kExitLocal if the folder cannot be read.
int check_binlog(const std::string& folder, bool is_quiet);
int dump_binlog(const std::string& folder, bool json);
// Copies the jobs into a folder that is new or empty. Returns kExitFailure if the source is
// damaged; all readable jobs are copied nevertheless.
int copy_binlog(const std::string& from, const std::string& to, bool is_quiet);
// Copies the jobs like copy_binlog(), makes guesses where a server would not, and prints a line for
// each job that may be wrong. Returns kExitFailure if there is such a job or a guess, or if the
// source is damaged.
int repair_binlog(const std::string& folder, const std::string& to, bool is_quiet);

}  // namespace haricot::tool
