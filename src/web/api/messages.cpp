#include "web/api/messages.hpp"

#include <limits>

#include "haricot/base/encoding.hpp"
#include "haricot/base/name_bytes.hpp"
#include "haricot/base/number.hpp"
#include "tool/client/tube_stats.hpp"

namespace haricot::web {

void Parameters::reject(std::string_view what) {
  if (error_.empty()) error_ = what;
}

std::uint64_t Parameters::number(std::string_view name, std::uint64_t otherwise,
                                 std::uint64_t max) {
  const std::optional<std::string> value = request_.parameter(name);
  if (!value) return otherwise;
  const std::optional<std::uint64_t> number = read_number(*value);
  if (number && *number <= max) return *number;
  reject(std::string(name) + " is not a number up to " + std::to_string(max));
  return otherwise;
}

std::optional<std::uint64_t> Parameters::optional_number(std::string_view name) {
  if (!request_.parameter(name)) return std::nullopt;
  return number(name, 0, std::numeric_limits<std::uint64_t>::max());
}

std::string Parameters::text(std::string_view name) {
  return request_.parameter(name).value_or(std::string());
}

std::string Parameters::tube(std::string_view name) {
  std::string value = text(name);
  if (value.empty() || is_tube_name(value)) return value;
  reject(std::string(name) + " is not a tube name");
  return {};
}

std::string Parameters::wanted_tube(std::string_view name) {
  std::string value = tube(name);
  if (value.empty()) reject("missing " + std::string(name));
  return value;
}

std::string Parameters::state(std::string_view name) {
  std::string value = text(name);
  for (const std::string_view known : {"", "ready", "reserved", "delayed", "buried"}) {
    if (value == known) return value;
  }
  reject(std::string(name) + " is not ready, reserved, delayed or buried");
  return {};
}

JsonWriter& JsonWriter::add_json(std::string_view name, std::string_view json) {
  if (text_.size() > 1) text_ += ',';
  text_ += '"';
  text_ += name;
  text_ += "\":";
  text_ += json;
  return *this;
}

JsonWriter& JsonWriter::add(std::string_view name, std::string_view text) {
  return add_json(name, json_string(text));
}

JsonWriter& JsonWriter::add(std::string_view name, std::uint64_t number) {
  return add_json(name, std::to_string(number));
}

JsonWriter& JsonWriter::add(std::string_view name, std::optional<std::uint64_t> number) {
  return number ? add(name, *number) : add_null(name);
}

JsonWriter& JsonWriter::add(std::string_view name, std::optional<double> number) {
  return add_json(name, tool::json_rate(number));
}

JsonWriter& JsonWriter::add(std::string_view name, bool truth) {
  return add_json(name, truth ? "true" : "false");
}

}  // namespace haricot::web
