#include "web/api/job_json.hpp"

#include "haricot/base/json.hpp"
#include "tool/client/put_tags.hpp"

namespace haricot::web {

void add_job(JsonWriter& json, const tool::StatsText& stats, std::optional<std::uint64_t> bytes) {
  const auto text = [&stats](std::string_view key) {
    const std::string* value = stats.find(key);
    return value == nullptr ? std::string("null") : json_string(*value);
  };
  json.add("id", stats.number("id"));
  json.add_json("tube", text("tube")).add_json("state", text("state"));
  json.add("priority", stats.number("pri")).add("age", stats.number("age"));
  json.add("delay", stats.number("delay")).add("ttr", stats.number("ttr"));
  json.add("time_left", stats.number("time-left"));
  for (const std::string_view key : {"reserves", "timeouts", "releases", "buries", "kicks"}) {
    json.add(key, stats.number(key));
  }
  const std::optional<std::uint64_t> told = stats.number("bytes");
  json.add("bytes", told ? told : bytes);
  JsonWriter tags;
  bool has_tags = false;
  for (const std::string_view word : tool::kTagWords) {
    const tool::StatsText::Line* line = stats.find_line(word);
    if (line == nullptr) continue;
    tags.add_json(word, stats.json_value(*line));
    has_tags = true;
  }
  json.add_json("tags", has_tags ? tags.take() : "null");
}

}  // namespace haricot::web
