#include "tool/client/stats_text.hpp"

#include <algorithm>
#include <cstdlib>

#include "haricot/base/encoding.hpp"
#include "haricot/base/job_tags.hpp"
#include "haricot/base/name_bytes.hpp"
#include "haricot/base/number.hpp"
#include "haricot/protocol/command.hpp"
#include "tool/cli/output.hpp"
#include "tool/client/json_object.hpp"

namespace haricot::tool {
namespace {

constexpr std::string_view kOurVersionKey = "haricot-version";
constexpr std::string_view kNoteKey = "note";  // In double quotes, with the escapes of JSON.

// Keys whose values are text even if they look like numbers, besides tags with a key.
constexpr std::string_view kTextKeys[] = {"name",     "tube",    "state",    "version",
                                          "hostname", "os",      "platform", kOurVersionKey,
                                          "used",     "address", "note"};

bool is_text_key(std::string_view key) {
  const TagRow* const tag = find_tag(key);
  if (tag != nullptr) return !tag->value.is_plain_number();
  return std::find(std::begin(kTextKeys), std::end(kTextKeys), key) != std::end(kTextKeys);
}

}  // namespace

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::string_view without_quotes(std::string_view value) {
  if (value.size() < 2 || !value.starts_with('"') || !value.ends_with('"')) return value;
  return value.substr(1, value.size() - 2);
}

bool can_be_asked_for(std::string_view name) {
  return !name.empty() && name.size() <= kTubeNameBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
}

std::optional<StatsText> StatsText::parse(std::string_view answer) {
  if (!answer.starts_with(kYamlBegin)) return std::nullopt;
  answer.remove_prefix(kYamlBegin.size());
  StatsText stats;
  while (!answer.empty()) {
    const std::string_view line = take_line(answer);
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos || colon == 0) return std::nullopt;
    const std::string_view key = line.substr(0, colon);
    const std::string_view value = without_quotes(line.substr(colon + 2));
    stats.lines_.push_back(
        {std::string(key), key == kNoteKey ? without_json_escapes(value) : std::string(value)});
  }
  if (stats.lines_.empty()) return std::nullopt;
  return stats;
}

const std::string* StatsText::find(std::string_view key) const {
  const Line* line = find_line(key);
  return line == nullptr ? nullptr : &line->value;
}

const StatsText::Line* StatsText::find_line(std::string_view key) const {
  for (const Line& line : lines_) {
    if (line.key == key) return &line;
  }
  return nullptr;
}

void StatsText::remove(std::string_view key) {
  std::erase_if(lines_, [key](const Line& line) { return line.key == key; });
}

std::optional<std::uint64_t> StatsText::number(std::string_view key) const {
  const Line* line = find_line(key);
  return line == nullptr ? std::nullopt : read_number(line->value);
}

bool StatsText::is_true(std::string_view key) const {
  const std::string* value = find(key);
  return value != nullptr && (*value == "true" || *value == "1");
}

std::optional<double> StatsText::decimal(std::string_view key) const {
  const std::string* value = find(key);
  if (value == nullptr || !is_json_number(*value)) return std::nullopt;
  return std::strtod(value->c_str(), nullptr);
}

std::string StatsText::json_value(const Line& line) const {
  // The id of a job is a number and comes first; the id of a server is 16 hexadecimal digits.
  const bool is_text = is_text_key(line.key) || (line.key == "id" && &line != &lines_.front());
  const bool is_plain =
      !is_text && (is_json_number(line.value) || line.value == "true" || line.value == "false");
  return is_plain ? line.value : json_string(line.value);
}

std::string StatsText::json_members() const {
  std::string text;
  for (const Line& line : lines_) {
    if (!text.empty()) text += ',';
    text += json_string(line.key) + ':' + json_value(line);
  }
  return text;
}

std::string_view server_kind(const StatsText& stats) {
  return stats.find(kOurVersionKey) != nullptr ? "haricotd" : "beanstalkd";
}

std::string server_words(const StatsText& stats) {
  const std::string* version = stats.find("version");
  const std::string theirs =
      "beanstalkd " + (version == nullptr ? "of an unknown version" : safe_word(*version));
  const std::string* ours = stats.find(kOurVersionKey);
  return ours == nullptr ? theirs : "haricotd " + safe_word(*ours) + ", as " + theirs;
}

std::string short_server_words(const StatsText& stats) {
  if (const std::string* ours = stats.find(kOurVersionKey)) return "haricotd " + safe_word(*ours);
  const std::string* version = stats.find("version");
  return "version " + (version == nullptr ? "-" : safe_word(*version));
}

std::optional<std::vector<std::string>> parse_list(std::string_view answer) {
  if (!answer.starts_with(kYamlBegin)) return std::nullopt;
  answer.remove_prefix(kYamlBegin.size());
  std::vector<std::string> names;
  while (!answer.empty()) {
    std::string_view line = take_line(answer);
    if (!line.starts_with("- ")) return std::nullopt;
    line = without_quotes(line.substr(2));
    if (!can_be_asked_for(line)) return std::nullopt;
    names.emplace_back(line);
  }
  return names;
}

}  // namespace haricot::tool
