// What a subcommand writes to stdout, and how it ends if that cannot be written.
//
// There is one stdout, so these are functions. A write that fails is remembered, and end_output()
// says it: the subcommands need not look at each of their lines. main() calls it for all of them.

#pragma once

#include <string_view>

namespace haricot::tool {

void print(std::string_view text);
[[gnu::format(printf, 1, 2)]] void print_format(const char* format, ...);
void flush();

// Flushes, and returns the status of subcommand `name`. If stdout could not be written, a status of
// 0 becomes kExitLocal, and the first call says so on stderr; but not if it was a pipe that its
// reader has closed (head, say), who has seen enough. May be called before the end, by who has to
// know whether everything was written so far.
int end_output(std::string_view name, int status);

}  // namespace haricot::tool
