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

// Where flags may stand: in front of operands, behind them and between them, or only in front,
// because the operands are a command with flags of its own.
enum class FlagPlaces : bool { anywhere, in_front };

// Applies the flags in their order and collects the operands. On a mistake returns false, and
// `error` names the word.
[[nodiscard]] bool read_flags(std::span<const Flag> flags, Words words,
                              std::vector<std::string_view>& operands, std::string& error,
                              FlagPlaces places = FlagPlaces::anywhere);

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

// Times on the command line, all read by read_milliseconds(): 90, 2.5, 250ms, 5m, 1h30m, 2d.
inline constexpr std::string_view kTimeWanted = "a time, such as 90, 2.5, 250ms, 5m or 2d";
inline constexpr std::string_view kPositiveTimeWanted =
    "a time above 0, such as 90, 2.5, 250ms, 5m or 2d";
// Four months; what a timer and a calculation in nanoseconds can take.
inline constexpr std::uint64_t kMillisecondsMax = 10'000'000'000;
// What a command of the protocol takes: whole seconds. A part of a second counts as one, so nothing
// is shorter than it was meant. Nothing: it is no time, or too long.
inline constexpr std::uint64_t kSecondsMax = 4294967295;
std::optional<std::uint64_t> read_seconds(std::string_view text);

// What a flag usually does with its value. The variable has to outlive the flag.
std::function<bool(std::string_view)> set(bool& to);
std::function<bool(std::string_view)> set(std::string& to);
std::function<bool(std::string_view)> set_count(std::uint64_t& to, std::uint64_t min,
                                                std::uint64_t max);
// The flag --count: at least 1. `help` outlives it, and so does `to`.
Flag count_flag(std::string_view help, std::uint64_t& to, char letter = 'n');
// The flag --from of a list in the order of ids.
Flag from_flag(std::uint64_t& to);
std::function<bool(std::string_view)> set_milliseconds(std::uint64_t& to, std::uint64_t min,
                                                       std::uint64_t max = kMillisecondsMax);
std::function<bool(std::string_view)> set_seconds(std::uint64_t& to);
// A name that the protocol allows.
std::function<bool(std::string_view)> set_tube(std::string& to);

}  // namespace haricot::tool
