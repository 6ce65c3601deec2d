// Writes to stdout, and the exit status after a failed write.
//
// These are functions, because there is one stdout. They remember a failed write, and end_output()
// reports it, so subcommands need not check each line. main() calls end_output() for all of them.

#pragma once

#include <string_view>

namespace haricot::tool {

void print(std::string_view text);
[[gnu::format(printf, 1, 2)]] void print_format(const char* format, ...);
void flush();

// Flushes stdout and returns the exit status of subcommand `name`. If stdout could not be written,
// a status of 0 becomes kExitLocal. The first call also reports the failure on stderr, unless the
// reader closed the pipe (`| head`). May be called early by a caller that has to know whether its
// output was written.
int end_output(std::string_view name, int status);

}  // namespace haricot::tool
