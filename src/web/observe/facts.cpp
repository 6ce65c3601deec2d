#include "web/observe/facts.hpp"

#include <algorithm>

#include "haricot/base/number.hpp"

namespace haricot::web {

bool Facts::is_haricot() const {
  return sample && sample->server.find("haricot-version") != nullptr;
}

bool Facts::can(std::string_view word) const {
  return std::find(capabilities.begin(), capabilities.end(), word) != capabilities.end();
}

bool Facts::has_reserve_job() const {
  if (!capabilities.empty()) return true;
  const std::string* version = sample ? sample->server.find("version") : nullptr;
  if (version == nullptr) return false;
  std::string_view text = *version;
  const std::optional<std::uint64_t> major = take_number(text);
  if (!major || !text.starts_with('.')) return false;
  text.remove_prefix(1);
  const std::uint64_t minor = take_number(text).value_or(0);
  return *major > 1 || (*major == 1 && minor >= 12);
}

std::string Facts::software() const {
  if (!sample) return {};
  const std::string* ours = sample->server.find("haricot-version");
  if (ours != nullptr) return "haricot " + *ours;
  const std::string* version = sample->server.find("version");
  return version == nullptr ? std::string() : "beanstalkd " + *version;
}

bool Facts::is_refusing() const {
  if (!sample) return false;
  const tool::StatsText& stats = sample->server;
  return stats.is_true("binlog-refusing") || stats.is_true("binlog-no-space") ||
         stats.is_true("memory-full");
}

std::string process_of(const tool::StatsText& stats) {
  std::string text;
  for (const char* key : {"id", "pid"}) {
    const std::string* value = stats.find(key);
    text += value == nullptr ? "-" : *value;
    text += ' ';
  }
  return text;
}

}  // namespace haricot::web
