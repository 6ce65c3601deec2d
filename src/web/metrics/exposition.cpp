#include "web/metrics/exposition.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>

#include "haricot/base/utf8.hpp"

namespace haricot::web {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD.

}  // namespace

std::string label(std::string_view name, std::string_view value) {
  std::string text(name);
  text += "=\"";
  while (!value.empty()) {
    const Utf8Character character = first_character(value);
    // A single byte of invalid UTF-8 would make a reader reject the whole scrape.
    const bool is_good = character.bytes > 0 && is_plain(character.code);
    const std::size_t bytes = std::max<std::size_t>(character.bytes, 1);
    if (value[0] == '\\' || value[0] == '"') text += '\\';
    text += is_good ? value.substr(0, bytes) : kReplacement;
    value.remove_prefix(bytes);
  }
  text += '"';
  return text;
}

std::string_view Exposition::content_type() const {
  return is_openmetrics_ ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                         : "text/plain; version=0.0.4; charset=utf-8";
}

void Exposition::begin(const Family& family) {
  family_ = family;
  has_begun_ = false;
}

void Exposition::add(std::string_view labels, std::uint64_t value) {
  add_text(labels, std::to_string(value));
}

void Exposition::add(std::string_view labels, double value) {
  char text[40];
  const std::to_chars_result end = std::to_chars(text, text + sizeof text, value);
  add_text(labels, {text, static_cast<std::size_t>(end.ptr - text)});
}

void Exposition::add_text(std::string_view labels, std::string_view value) {
  const bool is_counter = family_.type == MetricType::counter;
  if (!has_begun_) {
    has_begun_ = true;
    // The name of a counter includes _total for Prometheus, and omits it for OpenMetrics.
    const std::string_view suffix = is_counter && !is_openmetrics_ ? "_total " : " ";
    for (const bool is_help : {true, false}) {
      text_ += is_help ? "# HELP " : "# TYPE ";
      text_ += family_.name;
      text_ += suffix;
      text_ += is_help ? family_.help : (is_counter ? "counter" : "gauge");
      text_ += '\n';
    }
  }
  text_ += family_.name;
  if (is_counter) text_ += "_total";
  if (!labels.empty()) {
    text_ += '{';
    text_ += labels;
    text_ += '}';
  }
  text_ += ' ';
  text_ += value;
  text_ += '\n';
}

void Exposition::end() {
  if (is_openmetrics_) text_ += "# EOF\n";
}

std::string Exposition::take() {
  return std::exchange(text_, {});
}

}  // namespace haricot::web
