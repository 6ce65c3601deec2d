#include "script.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "escaped_text.hpp"

namespace haricot::conformance {
namespace {

bool is_expectation(Verb verb) {
  return verb == Verb::expect_line || verb == Verb::expect_bytes || verb == Verb::expect_lines ||
         verb == Verb::expect_yaml || verb == Verb::expect_nothing || verb == Verb::expect_end;
}

std::optional<bool> word_means(std::string_view word, Target target) {
  if (word == "haricot") return target.server == ServerKind::haricot;
  if (word == "beanstalkd") return target.server == ServerKind::beanstalkd;
  // haricot has the reports of both versions: --compat.
  if (word == "1.12") return target.server == ServerKind::haricot || !target.is_1_13;
  if (word == "1.13") return target.server == ServerKind::haricot || target.is_1_13;
  if (word == "memory") return target.transport == Transport::memory;
  if (word == "tcp") return target.transport == Transport::tcp;
  return std::nullopt;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::string_view without_leading_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

// Blanks between single quotes do not end a word.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool is_in_quotes = false;
  while (!(text = without_leading_blanks(text)).empty()) {
    words.emplace_back();
    for (; !text.empty() && (is_in_quotes || text.front() != ' '); text.remove_prefix(1)) {
      if (text.front() == '\'') {
        is_in_quotes = !is_in_quotes;
      } else {
        words.back() += text.front();
      }
    }
  }
  return words;
}

// Reads "1.5s" or "300ms", with digits and at most one dot.
std::optional<std::chrono::nanoseconds> read_duration(std::string_view text) {
  std::int64_t unit = 0;
  if (text.ends_with("ms")) {
    unit = 1'000'000;
    text.remove_suffix(2);
  } else if (text.ends_with("s")) {
    unit = 1'000'000'000;
    text.remove_suffix(1);
  }
  const std::string_view whole = text.substr(0, text.find('.'));
  const std::string_view part =
      whole.size() < text.size() ? text.substr(whole.size() + 1) : std::string_view("0");
  const auto digits_only = [](std::string_view digits) {
    return !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (unit == 0 || !digits_only(whole) || !digits_only(part) || part.size() > 6) {
    return std::nullopt;
  }
  std::int64_t count = 0;
  const char* end = whole.data() + whole.size();
  if (std::from_chars(whole.data(), end, count).ec != std::errc{}) return std::nullopt;
  if (count > INT64_MAX / unit - 1) return std::nullopt;
  count *= unit;
  for (const char digit : part) count += (digit - '0') * (unit /= 10);
  return std::chrono::nanoseconds(count);
}

// Parses a script line by line. Every method returns the error, or an empty text.
class Parser {
 public:
  explicit Parser(Target target) : target_(target) {}

  std::string read_line(std::string_view line, int number);
  std::string finish();

  Script script;

 private:
  // Removes the prefixes `@word `; `applies_` then shows if the line is for the target.
  std::string read_targets(std::string_view& text);
  std::string read_flags(std::string_view text);
  std::string read_restart(std::string_view text);
  std::string read_directive(std::string_view text, bool& known);
  std::string read_yaml_item(std::string_view text);
  std::string read_step(std::string_view text);
  std::string read_send(std::string_view text, Step& step);
  std::string read_expectation(std::string_view text, Step& step);
  std::string read_yaml_words(std::string_view words, Step& step);
  std::string read_action(std::string_view text, Step& step);
  std::string add(Step step);

  Target target_;
  int line_ = 0;
  bool applies_ = true;
  bool has_comment_ = false;
  bool has_steps_ = false;
  bool expects_something_ = false;
  bool items_may_follow_ = false;     // The line before was `OK yaml` or one of its items.
  bool items_are_for_target_ = true;  // It was for the target.
  std::set<std::string, std::less<>> closed_;
  std::optional<std::vector<std::string>> flags_now_;  // Flags of the last restart that had some.
};

std::string Parser::read_line(std::string_view line, int number) {
  line_ = number;
  if (line.ends_with(' ') || line.ends_with('\t')) return "trailing blank (write \\x20)";
  if (line.find('\t') != std::string_view::npos) return "tab character (write \\t)";
  if (line.starts_with("#")) {
    has_comment_ = true;
    return {};
  }
  if (line.empty()) {
    items_may_follow_ = false;
    return {};
  }
  if (!has_comment_) return "a script begins with a comment that says what it pins";
  if (line.starts_with(' ')) return read_yaml_item(without_leading_blanks(line));

  items_may_follow_ = false;
  std::string error = read_targets(line);
  if (!error.empty()) return error;
  bool known = false;
  error = read_directive(line, known);
  return known ? error : read_step(line);
}

std::string Parser::finish() {
  if (!expects_something_) return "the script expects nothing, so it cannot fail";
  const bool checks = std::any_of(script.steps.begin(), script.steps.end(),
                                  [](const Step& step) { return is_expectation(step.verb); });
  if (script.applies && !checks)
    return "nothing is expected of this target: exclude it with `only`";
  return {};
}

std::string Parser::read_targets(std::string_view& text) {
  applies_ = true;
  while (take_prefix(text, "@")) {
    const std::string_view word = text.substr(0, text.find(' '));
    const std::optional<bool> meant = word_means(word, target_);
    if (!meant) return "unknown target @" + std::string(word);
    applies_ = applies_ && *meant;
    text = without_leading_blanks(text.substr(word.size()));
    if (text.empty()) return "nothing behind the target";
  }
  return {};
}

std::string Parser::read_directive(std::string_view text, bool& known) {
  known = true;
  if (take_prefix(text, "flags ")) return read_flags(text);
  if (text == "binlog") {
    if (has_steps_) return "`binlog` must come before the first step";
    if (applies_) script.keeps_binlog = true;
    return {};
  }
  if (take_prefix(text, "only ")) {
    const std::optional<bool> meant = word_means(text, target_);
    if (!meant) return "unknown target " + std::string(text);
    script.applies = script.applies && *meant;
    return {};
  }
  if (take_prefix(text, "advance ")) {
    const auto duration = read_duration(text);
    if (!duration || duration->count() == 0) return "expected a time such as 1.5s or 300ms";
    Step step;
    step.verb = Verb::advance;
    step.duration = *duration;
    return add(std::move(step));
  }
  if (text == "signal drain") {
    Step step;
    step.verb = Verb::drain;
    return add(std::move(step));
  }
  const std::string_view word = text.substr(0, text.find(' '));
  if (word == "restart" || word == "kill") return read_restart(text);
  known = false;
  return {};
}

std::string Parser::read_flags(std::string_view text) {
  if (has_steps_) return "`flags` must come before the first step";
  for (std::string& word : words_of(text)) {
    if (applies_) script.flags.push_back(std::move(word));
  }
  return {};
}

std::string Parser::read_restart(std::string_view text) {
  std::vector<std::string> words = words_of(text);
  if (applies_ && !script.keeps_binlog) return "without `binlog` there is nothing to restart with";
  Step step;
  step.verb = words.front() == "kill" ? Verb::kill : Verb::restart;
  if (applies_) {
    words.erase(words.begin());
    if (!words.empty()) flags_now_ = std::move(words);
    step.flags = flags_now_.value_or(script.flags);
    closed_.clear();  // Afterwards every connection is a new one.
  }
  return add(std::move(step));
}

std::string Parser::read_yaml_item(std::string_view text) {
  if (!items_may_follow_) return "an indented line must follow `OK yaml`";
  std::string error = read_targets(text);
  if (!error.empty()) return error;
  YamlItem item;
  item.line = line_;
  if (take_prefix(text, "- ")) {
    item.key = "-";
    item.value = text;
  } else if (const std::size_t colon = text.find(": "); colon != std::string_view::npos) {
    item.key = text.substr(0, colon);
    item.value = text.substr(colon + 2);
  }
  error = why_unusable(item);
  if (!error.empty()) return error;
  if (applies_ && items_are_for_target_) script.steps.back().yaml.items.push_back(std::move(item));
  return {};
}

std::string Parser::read_step(std::string_view text) {
  const auto in_name = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  std::size_t name_length = 0;
  while (name_length < text.size() && in_name(text[name_length])) ++name_length;
  Step step;
  step.connection = text.substr(0, name_length);
  text.remove_prefix(name_length);
  const bool named = name_length > 0 && step.connection[0] >= 'A' && step.connection[0] <= 'Z';
  if (!named || text.empty()) return "expected a directive, or a connection and > < or !";

  std::string error = "expected > < or ! behind the connection's name";
  if (take_prefix(text, ">"))
    error = read_send(text, step);
  else if (take_prefix(text, "<"))
    error = read_expectation(text, step);
  else if (take_prefix(text, "!"))
    error = read_action(text, step);
  return error.empty() ? add(std::move(step)) : error;
}

std::string Parser::read_send(std::string_view text, Step& step) {
  step.verb = Verb::send;
  const bool raw = take_prefix(text, ">");
  if (!text.empty() && !take_prefix(text, " ")) return "expected a blank behind >";
  Unescaped unescaped = unescape(text);
  step.bytes = std::move(unescaped.bytes);
  if (!raw) step.bytes += "\r\n";
  if (unescaped.error.empty() && step.bytes.empty()) return "sends nothing";
  return unescaped.error;
}

std::string Parser::read_expectation(std::string_view text, Step& step) {
  if (text == "nothing" || text == "eof") {
    step.verb = text == "eof" ? Verb::expect_end : Verb::expect_nothing;
    return {};
  }
  if (take_prefix(text, "lines ")) {
    step.verb = Verb::expect_lines;
    const char* end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, step.count);
    const bool counts = failure == std::errc{} && stop == end && step.count > 0;
    return counts ? "" : "expected a number of lines";
  }
  if (text == " OK yaml" || text.starts_with(" OK yaml ")) {
    return read_yaml_words(text.substr(8), step);
  }
  const bool raw = take_prefix(text, "<");
  if (!text.empty() && !take_prefix(text, " "))
    return "expected a blank, `nothing`, `eof` or `lines`";
  step.verb = raw ? Verb::expect_bytes : Verb::expect_line;
  Unescaped unescaped = unescape(text);
  step.bytes = std::move(unescaped.bytes);
  if (!unescaped.error.empty()) return unescaped.error;
  if (raw && step.bytes.empty()) return "expects nothing";
  if (!raw && step.bytes.find("\r\n") != std::string::npos) return "\\r\\n in a line: use <<";
  if (!raw) step.bytes += "\r\n";
  return {};
}

std::string Parser::read_yaml_words(std::string_view words, Step& step) {
  step.verb = Verb::expect_yaml;
  while (!(words = without_leading_blanks(words)).empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    if (word == "exactly")
      step.yaml.keys = YamlKeys::exactly;
    else if (word == "first")
      step.yaml.keys = YamlKeys::first;
    else if (word == "literally")
      step.yaml.literal = true;
    else
      return "unknown word behind `OK yaml`: " + std::string(word);
    words.remove_prefix(word.size());
  }
  return {};
}

std::string Parser::read_action(std::string_view text, Step& step) {
  if (text == "open")
    step.verb = Verb::open;
  else if (text == "shutdown")
    step.verb = Verb::half_close;
  else if (text == "close")
    step.verb = Verb::close;
  else if (text == "reset")
    step.verb = Verb::reset;
  else
    return "expected open, shutdown, close or reset behind !";
  return {};
}

std::string Parser::add(Step step) {
  if (closed_.contains(step.connection)) {
    return "connection " + step.connection + " is closed already: use a new name";
  }
  has_steps_ = true;
  expects_something_ = expects_something_ || is_expectation(step.verb);
  items_may_follow_ = step.verb == Verb::expect_yaml;
  items_are_for_target_ = applies_;
  if (!applies_) return {};
  if (step.verb == Verb::close || step.verb == Verb::reset) closed_.insert(step.connection);
  step.line = line_;
  script.steps.push_back(std::move(step));
  return {};
}

}  // namespace

ParsedScript parse_script(std::string_view text, std::string file, Target target) {
  Parser parser(target);
  parser.script.file = std::move(file);
  int number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string error = parser.read_line(text.substr(0, end), number);
    if (!error.empty()) {
      return {{}, parser.script.file + ":" + std::to_string(number) + ": " + error};
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const std::string error = parser.finish();
  if (!error.empty()) return {{}, parser.script.file + ": " + error};
  return {std::move(parser.script), {}};
}

Script pipelined(const Script& script) {
  Script result = script;
  result.steps.clear();
  const auto belongs = [](const Step& step, const std::string& connection) {
    const bool plain = step.verb == Verb::send || step.verb == Verb::expect_line ||
                       step.verb == Verb::expect_bytes || step.verb == Verb::expect_lines ||
                       step.verb == Verb::expect_yaml;
    return plain && step.connection == connection;
  };
  auto at = script.steps.begin();
  while (at != script.steps.end()) {
    auto end = at;
    while (end != script.steps.end() && belongs(*end, at->connection)) ++end;
    if (end == at) {
      result.steps.push_back(*at++);
      continue;
    }
    Step sends;
    sends.verb = Verb::send;
    sends.connection = at->connection;
    for (auto step = at; step != end; ++step) {
      if (step->verb != Verb::send) continue;
      if (sends.line == 0) sends.line = step->line;
      sends.bytes += step->bytes;
    }
    if (!sends.bytes.empty()) result.steps.push_back(std::move(sends));
    std::copy_if(at, end, std::back_inserter(result.steps),
                 [](const Step& step) { return step.verb != Verb::send; });
    at = end;
  }
  return result;
}

}  // namespace haricot::conformance
