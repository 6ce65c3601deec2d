#include "web/metrics/exposition.hpp"

#include <charconv>
#include <utility>

namespace haricot::web {

std::string label(std::string_view name, std::string_view value) {
  std::string text(name);
  text += "=\"";
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
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
    // OpenMetrics calls a counter by its name without _total, Prometheus with it.
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
