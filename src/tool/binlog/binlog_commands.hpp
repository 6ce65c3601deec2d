// What `haricot binlog` does. Each returns the exit status.

#pragma once

#include <string>

namespace haricot::tool {

// A line on stderr. Names of files may be anything: nothing in them steers a terminal.
void complain(const std::string& line);

// `is_quiet`: without progress on a terminal.
//
// 0 only if everything in the folder could be read and nothing is missing; kExitLocal if the folder
// itself cannot be read or written.
int check_binlog(const std::string& folder, bool is_quiet);
int dump_binlog(const std::string& folder, bool json);
// The target is made, or is there and empty. 1 if the source was damaged: what could be read is
// copied all the same.
int copy_binlog(const std::string& from, const std::string& to, bool is_quiet);
// The same with guesses where a server would guess nothing, and a line for each job that may be
// wrong. 1 if there is such a job, or the source was damaged.
int repair_binlog(const std::string& folder, const std::string& to, bool is_quiet);

}  // namespace haricot::tool
