#include "tool/cli/job_line.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "haricot/base/encoding.hpp"
#include "haricot/base/job_tags.hpp"
#include "tool/cli/output.hpp"

namespace haricot::tool {
namespace {

constexpr std::string_view kCounterNames[] = {"reserves", "timeouts", "releases", "buries",
                                              "kicks"};

std::string quoted_for_eyes(std::string_view bytes) {
  std::string text = "\"";
  for (const char c : bytes) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c >= ' ' && c <= '~') {
      text += c;
    } else {
      text += "\\x";
      append_hex(text, static_cast<unsigned char>(c));
    }
  }
  return text += '"';
}

// Returns the value of the job's tag `idp:`.
std::string value_of(const TombstoneLine& tombstone) {
  return std::string(tombstone.key) + ":" + std::to_string(tombstone.seconds);
}

// Removes the first tag from a text and returns its word and value.
std::pair<std::string_view, std::string_view> take_tag(std::string_view& text) {
  const std::string_view tag = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(tag.size() + 1, text.size()));
  const std::size_t colon = tag.find(':');
  if (colon == std::string_view::npos) return {tag, {}};
  return {tag.substr(0, colon), tag.substr(colon + 1)};
}

}  // namespace

std::string to_text(const JobLine& job) {
  std::string text = "id=" + std::to_string(job.id) + " tube=" + std::string(job.tube) +
                     " state=" + std::string(job.state) + " pri=" + std::to_string(job.priority) +
                     " age=" + std::to_string(job.age_s) + " delay=" + std::to_string(job.delay_s) +
                     " ttr=" + std::to_string(job.ttr_s) +
                     " time-left=" + std::to_string(job.left_s);
  for (std::size_t i = 0; i < job.counters.size(); ++i) {
    text += ' ';
    text += kCounterNames[i];
    text += '=' + std::to_string(job.counters[i]);
  }
  for (std::string_view tags = job.tags; !tags.empty();) {
    const auto [word, value] = take_tag(tags);
    text += ' ' + safe_word(word) + '=' + safe_word(value);
  }
  if (job.is_held) text += " held=true";
  return text + " bytes=" + std::to_string(job.body.size()) + " body=" + quoted_for_eyes(job.body) +
         "\n";
}

std::string to_text(const TombstoneLine& tombstone) {
  return "id=" + std::to_string(tombstone.id) + " tube=" + std::string(tombstone.tube) +
         " state=deleted time-left=" + std::to_string(tombstone.left_s) +
         " idp=" + value_of(tombstone) + "\n";
}

std::string to_json(const TombstoneLine& tombstone) {
  return "{\"id\":" + std::to_string(tombstone.id) + ",\"tube\":" + json_string(tombstone.tube) +
         ",\"state\":\"deleted\",\"time-left\":" + std::to_string(tombstone.left_s) +
         ",\"idp\":" + json_string(value_of(tombstone)) + "}\n";
}

std::string to_json(const JobLine& job) {
  std::string text =
      "{\"id\":" + std::to_string(job.id) + ",\"tube\":" + json_string(job.tube) +
      ",\"state\":" + json_string(job.state) + ",\"pri\":" + std::to_string(job.priority) +
      ",\"age\":" + std::to_string(job.age_s) + ",\"delay\":" + std::to_string(job.delay_s) +
      ",\"ttr\":" + std::to_string(job.ttr_s) + ",\"time-left\":" + std::to_string(job.left_s);
  for (std::size_t i = 0; i < job.counters.size(); ++i) {
    text += ",\"" + std::string(kCounterNames[i]) + "\":" + std::to_string(job.counters[i]);
  }
  for (std::string_view tags = job.tags; !tags.empty();) {
    const auto [word, value] = take_tag(tags);
    // Only this value is always a number; a key may consist of digits.
    const TagRow* const row = find_tag(word);
    const bool is_number = row != nullptr && row->value.is_plain_number() && is_json_number(value);
    text += "," + json_string(word) + ":" + (is_number ? std::string(value) : json_string(value));
  }
  if (job.is_held) text += ",\"held\":true";
  text += ",\"bytes\":" + std::to_string(job.body.size());
  if (is_utf8(job.body)) {
    text += ",\"body\":" + json_string(job.body);
  } else {
    text += ",\"body_base64\":" + json_base64(job.body);
  }
  return text + "}\n";
}

std::vector<std::size_t> held_order(std::span<const HeldJob> jobs) {
  struct Group {
    std::size_t members = 0;  // Number of members that are not in the order yet.
    std::vector<std::size_t> waiting;
  };
  std::map<std::string_view, Group> groups;
  for (std::size_t index = 0; index < jobs.size(); ++index) {
    if (!jobs[index].group.empty()) ++groups[jobs[index].group].members;
    groups[jobs[index].after].waiting.push_back(index);
  }
  std::set<std::size_t> left;
  std::set<std::size_t> next;
  for (std::size_t index = 0; index < jobs.size(); ++index) {
    left.insert(index);
    if (groups[jobs[index].after].members == 0) next.insert(index);
  }
  std::vector<std::size_t> order;
  order.reserve(jobs.size());
  while (!left.empty()) {
    const std::size_t index = next.empty() ? *left.begin() : *next.begin();
    next.erase(index);
    left.erase(index);
    order.push_back(index);
    if (jobs[index].group.empty()) continue;
    Group& group = groups[jobs[index].group];
    if (--group.members > 0) continue;
    for (const std::size_t waiting : group.waiting) {
      if (left.count(waiting) != 0) next.insert(waiting);
    }
  }
  return order;
}

}  // namespace haricot::tool
