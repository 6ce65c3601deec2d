#include "web/api/job_json.hpp"

#include "haricot/base/json.hpp"
#include "tool/client/put_tags.hpp"

namespace haricot::web {
namespace {

void add_text(JsonWriter& json, const tool::StatsText& stats, std::string_view key) {
  const std::string* value = stats.find(key);
  json.add_json(key, value == nullptr ? "null" : json_string(*value));
}

}  // namespace

void add_job(JsonWriter& json, const tool::StatsText& stats, std::optional<std::uint64_t> bytes) {
  json.add("id", stats.number("id"));
  for (const std::string_view key : {"tube", "state"}) add_text(json, stats, key);
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
  for (const TagRow& row : kTagTable) {
    const tool::StatsText::Line* line = stats.find_line(row.word);
    if (line == nullptr) continue;
    tags.add_json(row.word, stats.json_value(*line));
    has_tags = true;
  }
  json.add_json("tags", has_tags ? tags.take() : "null");
  // Reports that contain the size of the body contain these members, too.
  if (told) {
    json.add("is_held", tool::is_held(stats));
  } else {
    json.add_null("is_held");
  }
  json.add("holder", stats.number("holder"));
}

std::string client_json(const tool::StatsText& stats) {
  JsonWriter json;
  json.add("id", stats.number("id"));
  for (const std::string_view key : {"address", "used", "state"}) add_text(json, stats, key);
  for (const std::string_view key : {"age", "idle", "watching", "jobs", "commands"}) {
    json.add(key, stats.number(key));
  }
  return json.take();
}

}  // namespace haricot::web
