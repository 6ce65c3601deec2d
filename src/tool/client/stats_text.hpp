// What stats, stats-tube, stats-job and list-tubes answer, read from any beanstalk server: with
// quotes around strings (1.13) or without, with more keys or fewer.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace haricot::tool {

// What the body of such an answer begins with.
inline constexpr std::string_view kYamlBegin = "---\n";

// Takes the first line off the text, and returns it without its end.
std::string_view take_line(std::string_view& text);
// A value as the server means it: 1.13 puts quotes around strings.
std::string_view without_quotes(std::string_view value);
// Whether the protocol allows the name of a tube, or at least every server can be asked for it.
bool can_be_asked_for(std::string_view name);

class StatsText {
 public:
  struct Line {
    std::string key;
    std::string value;  // Without quotes.
  };

  // Nothing: it is no such answer.
  static std::optional<StatsText> parse(std::string_view answer);

  const std::vector<Line>& lines() const { return lines_; }
  // Adds a line that the server has not said.
  void add(Line line) { lines_.push_back(std::move(line)); }
  // Null: there is no such key.
  const std::string* find(std::string_view key) const;
  const Line* find_line(std::string_view key) const;
  // The number after a key; nothing if there is no such key or it is no number.
  std::optional<std::uint64_t> number(std::string_view key) const;
  std::optional<double> decimal(std::string_view key) const;
  // False also if there is no such key.
  bool is_true(std::string_view key) const;

  // The members of a JSON object, in their order, without the braces.
  std::string json_members() const;
  // What is a number or a truth value is one in JSON, but for what is a string by its nature: a
  // tube called 12 is "12". Requires: the line is one of ours.
  std::string json_value(const Line& line) const;

 private:
  std::vector<Line> lines_;
};

// Whose program the server is, as far as its `stats` tell: "haricotd" if they have the version of
// haricot, which they have unless there is --no-extensions; otherwise "beanstalkd".
std::string_view server_kind(const StatsText& stats);

// For people, and safe to print: "haricotd 0.1.0, as beanstalkd 1.13", or "beanstalkd 1.12".
std::string server_words(const StatsText& stats);
// The same in few columns: "haricotd 0.1.0", or "version 1.12".
std::string short_server_words(const StatsText& stats);

// The names of list-tubes. Nothing: it is no such answer, or a name is in it that nobody could ask
// for.
std::optional<std::vector<std::string>> parse_list(std::string_view answer);

}  // namespace haricot::tool
