// The flags of a subcommand, and suggestions for mistyped words. The flags are a table: each row
// has a flag's name, its help and a function for its value.
//
// A flag has a long name (`--count=5`, `--count 5`) and perhaps a letter (`-n5`, `-n 5`; letters
// without a value can be joined). All other words are operands, and so is every word after `--`.

#pragma once

#include <cstddef>
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
  char letter;  // 0 if there is none.
  std::string_view name;
  std::string_view value;  // Placeholder of the value in --help; empty if the flag takes no value.
  std::string_view help;
  // Takes the value. Returns false if it is invalid; `wanted` describes a valid one.
  std::function<bool(std::string_view value)> apply;
  std::string_view wanted = {};
};

// Positions of flags: before, after and between operands, or only before them, because the operands
// are a command with flags of its own.
enum class FlagPlaces : bool { anywhere, in_front };

// Applies the flags in order and collects the operands. On a mistake returns false and sets
// `error`, which names the word.
[[nodiscard]] bool read_flags(std::span<const Flag> flags, Words words,
                              std::vector<std::string_view>& operands, std::string& error,
                              FlagPlaces places = FlagPlaces::anywhere);

// Flags of all subcommands that ask a server. They may also stand before the subcommand's name.
struct UsualFlag {
  char letter;
  std::string_view name;
  bool has_value;
};
inline constexpr UsualFlag kUsualFlags[] = {
    {'a', "address", true}, {'T', "timeout", true}, {'j', "json", false}, {'h', "help", false}};

// Returns kUsualFlags as a table that reads the flags and discards their values.
std::vector<Flag> usual_flags();

// Returns the number of leading words that are usual flags and their values. Stops at any other
// flag, and at a usual flag without its value.
std::size_t count_usual_flags(Words words);

// Returns the help of the flags, a line each, aligned.
std::string describe_flags(std::span<const Flag> flags);

// Descriptions of the times that read_milliseconds() reads: 90, 2.5, 250ms, 5m, 1h30m, 2d.
inline constexpr std::string_view kTimeWanted = "a time, such as 90, 2.5, 250ms, 5m or 2d";
inline constexpr std::string_view kPositiveTimeWanted =
    "a time above 0, such as 90, 2.5, 250ms, 5m or 2d";
// About 116 days. Fits into a timer, and in nanoseconds into 64 bits.
inline constexpr std::uint64_t kMillisecondsMax = 10'000'000'000;
// Longest time of a command of the protocol, which counts whole seconds.
inline constexpr std::uint64_t kSecondsMax = 4294967295;
// Reads a time in whole seconds. A part of a second counts as one, so that nothing is shorter than
// intended. Returns nothing if the text is no time, or exceeds kSecondsMax.
std::optional<std::uint64_t> read_seconds(std::string_view text);

// Setters for Flag::apply. The variable must outlive the flag.
std::function<bool(std::string_view)> set(bool& to);
std::function<bool(std::string_view)> set(std::string& to);
std::function<bool(std::string_view)> set_count(std::uint64_t& to, std::uint64_t min,
                                                std::uint64_t max);
// Returns the flag --count, which is at least 1. `help` and `to` must outlive it.
Flag count_flag(std::string_view help, std::uint64_t& to, char letter = 'n');
// Returns the flag --from of a list that is ordered by id. `to` must outlive it.
Flag from_flag(std::uint64_t& to);
std::function<bool(std::string_view)> set_milliseconds(std::uint64_t& to, std::uint64_t min,
                                                       std::uint64_t max = kMillisecondsMax);
std::function<bool(std::string_view)> set_seconds(std::uint64_t& to);
// Accepts any tube name that the protocol allows.
std::function<bool(std::string_view)> set_tube(std::string& to);

// Returns the number of letters to add, remove, replace, or exchange with the next letter, to turn
// one word into the other. O(product of both lengths).
std::size_t typing_distance(std::string_view from, std::string_view to);

// Returns the word nearest to the mistyped one, the first if there are several, or an empty string
// if none is near. A near word differs by one change, or by two if it has six letters or more;
// leading hyphens are not counted.
std::string_view nearest_word(std::string_view mistyped, std::span<const std::string_view> words);

// Returns the sentence for an error message: " (did you mean tubes?)"; empty if there is no
// suggestion. It suggests our word for a word of other tools (find: jobs --match TEXT), the only
// word that begins with the mistyped one, or the nearest word, in this order. `words` are all words
// that may stand there; flags include their hyphens.
std::string suggestion(std::string_view mistyped, std::span<const std::string_view> words);

}  // namespace haricot::tool
