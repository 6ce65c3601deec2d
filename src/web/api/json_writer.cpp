#include "web/api/json_writer.hpp"

#include "haricot/base/json.hpp"
#include "tool/client/tube_stats.hpp"

namespace haricot::web {

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
