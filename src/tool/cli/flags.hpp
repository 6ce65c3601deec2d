// The flags of a subcommand, as a table: one row has a flag's name, its help, and what its value
// does.
//
// A flag has a long name (`--count=5`, `--count 5`) and perhaps a letter (`-n5`, `-n 5`; letters
// without a value can be joined). What is no flag is an operand; after `--` everything is.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tool/cli/subcommand.hpp"

namespace haricot::tool {

struct Flag {
  char letter;  // 0: none.
  std::string_view name;
  std::string_view value;  // What its value is called in --help; empty: it takes none.
  std::string_view help;
  // Takes the value. False: the value is wrong; `wanted` says what a good value is.
  std::function<bool(std::string_view value)> apply;
  std::string_view wanted = {};
};

// Applies the flags in their order and collects the operands. On a mistake returns false, and
// `error` names the word.
[[nodiscard]] bool read_flags(std::span<const Flag> flags, Words words,
                              std::vector<std::string_view>& operands, std::string& error);

// The flags of all subcommands that ask a server. They may also stand before the subcommand's name.
struct UsualFlag {
  char letter;
  std::string_view name;
  bool has_value;
};
inline constexpr UsualFlag kUsualFlags[] = {
    {'a', "address", true}, {'T', "timeout", true}, {'j', "json", false}, {'h', "help", false}};

// Their table, for reading: the values go nowhere.
std::vector<Flag> usual_flags();

// How many of the words, from the first one on, are usual flags and their values. A word that is
// another flag, or a usual flag whose value is missing, ends them.
std::size_t count_usual_flags(Words words);

// One line a flag, aligned.
std::string describe_flags(std::span<const Flag> flags);

// Four months; what a timer and a calculation in nanoseconds can take.
inline constexpr std::uint64_t kMillisecondsMax = 10'000'000'000;

// What a flag usually does with its value. The variable has to outlive the flag.
std::function<bool(std::string_view)> set(bool& to);
std::function<bool(std::string_view)> set(std::string& to);
std::function<bool(std::string_view)> set_count(std::uint64_t& to, std::uint64_t min,
                                                std::uint64_t max);
std::function<bool(std::string_view)> set_milliseconds(std::uint64_t& to, std::uint64_t min,
                                                       std::uint64_t max = kMillisecondsMax);
// A whole number of seconds, which a command of the protocol takes: 300 or 5m.
inline constexpr std::uint64_t kSecondsMax = 4294967295;
inline constexpr std::string_view kSecondsWanted = "a number of seconds up to 4294967295";
std::optional<std::uint64_t> read_seconds(std::string_view text);
std::function<bool(std::string_view)> set_seconds(std::uint64_t& to);
// A name that the protocol allows.
std::function<bool(std::string_view)> set_tube(std::string& to);

}  // namespace haricot::tool
