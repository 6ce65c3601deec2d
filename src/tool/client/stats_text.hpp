// Answers of stats, stats-tube, stats-job and list-tubes of any beanstalk server: with or without
// quotes around strings (1.13 has them), with more keys or fewer.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace haricot::tool {

// The beginning of the body of such an answer.
inline constexpr std::string_view kYamlBegin = "---\n";

// Removes the first line from the text and returns it without its end.
std::string_view take_line(std::string_view& text);
// Removes the quotes that 1.13 puts around strings.
std::string_view without_quotes(std::string_view value);
// Returns true if the name can be sent in a command. The protocol may still forbid some of its
// characters.
bool can_be_asked_for(std::string_view name);

class StatsText {
 public:
  struct Line {
    std::string key;
    std::string value;  // Without quotes.
  };

  // Returns nothing if the text is no such answer.
  static std::optional<StatsText> parse(std::string_view answer);

  const std::vector<Line>& lines() const { return lines_; }
  // Adds a line that the server has not sent.
  void add(Line line) { lines_.push_back(std::move(line)); }
  // Removes a line; does nothing if there is no such key.
  void remove(std::string_view key);
  // Returns null if there is no such key.
  const std::string* find(std::string_view key) const;
  const Line* find_line(std::string_view key) const;
  // Return the number of a key, or nothing if there is no such key or its value is no number.
  std::optional<std::uint64_t> number(std::string_view key) const;
  std::optional<double> decimal(std::string_view key) const;
  // Returns true if the value is "true" or "1"; false if there is no such key.
  bool is_true(std::string_view key) const;

  // Returns the members of a JSON object in their order, without the braces.
  std::string json_members() const;
  // Returns the value as JSON: a number or a boolean if it looks like one, unless the key holds
  // text: a tube called 12 is "12". Requires: the line is one of lines().
  std::string json_value(const Line& line) const;

 private:
  std::vector<Line> lines_;
};

// Returns "haricotd" if `stats` has haricot-version, which --no-extensions omits; otherwise
// "beanstalkd".
std::string_view server_kind(const StatsText& stats);

// Returns, for example, "haricotd 0.1.0, as beanstalkd 1.13" or "beanstalkd 1.12". Safe to print.
std::string server_words(const StatsText& stats);
// Returns a short form, such as "haricotd 0.1.0" or "version 1.12". Safe to print.
std::string short_server_words(const StatsText& stats);

// Returns the names of list-tubes. Returns nothing if the text is no such answer, or has a name
// that no command can have.
std::optional<std::vector<std::string>> parse_list(std::string_view answer);

}  // namespace haricot::tool
