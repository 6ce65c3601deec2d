// What a subcommand of `haricot` is: a name, a line for --help, and a function.

#pragma once

#include <span>
#include <string_view>

namespace haricot::tool {

// The exit statuses of `haricot`, the same for all subcommands.
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 5;

// The words behind the subcommand's name.
using Words = std::span<const char* const>;

struct Subcommand {
  std::string_view name;
  std::string_view summary;
  int (*run)(Words words);  // Returns the exit status.
};

// haricot bench: measures a server under a load (bench.cpp).
int bench(Words words);
// haricot binlog: looks into the files of a server (binlog.cpp).
int binlog(Words words);

}  // namespace haricot::tool
