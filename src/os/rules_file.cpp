#include "os/rules_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "os/descriptor.hpp"

namespace haricot::os {
namespace {

constexpr std::size_t kFileBytesMax = 64 * 1024;

// Opened without waiting, in case the path is a pipe.
bool read_text(const std::string& path, std::string& text, std::string& error) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    error = "cannot read " + path + ": " + std::strerror(errno);
    return false;
  }
  if (!S_ISREG(status.st_mode)) {
    error = path + " is not a file";
    return false;
  }
  std::array<char, 4096> buffer;
  while (text.size() <= kFileBytesMax) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got == 0) return true;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      error = "cannot read " + path + ": " + std::strerror(errno);
      return false;
    }
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  error = path + " has more than " + std::to_string(kFileBytesMax) + " bytes";
  return false;
}

bool is_comment(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  return begin == std::string_view::npos || line[begin] == '#';
}

}  // namespace

bool read_rules_file(const std::string& path, std::vector<Rule>& rules, std::string& error) {
  std::string text;
  if (!read_text(path, text, error)) return false;
  std::string_view left = text;
  for (std::size_t number = 1; !left.empty(); ++number) {
    std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(line.size() + 1, left.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (is_comment(line)) continue;
    rules.emplace_back();
    if (parse_rule(line, rules.back(), error)) continue;
    std::string where = path;
    where.append(":").append(std::to_string(number)).append(": ");
    error.insert(0, where);
    return false;
  }
  return true;
}

bool read_rules(const Options& options, std::vector<Rule>& rules, std::string& error) {
  rules = options.rules;
  if (!options.rules_file.empty() && !read_rules_file(options.rules_file, rules, error)) {
    return false;
  }
  if (rules.size() <= kRulesMax) return true;
  error = "more than " + std::to_string(kRulesMax) + " rules";
  return false;
}

void log_rules(Log& log, const std::vector<Rule>& rules) {
  std::string text;
  for (const Rule& rule : rules) {
    if (!text.empty()) text += "; ";
    text += rule.pattern + " " + rule.tags;
  }
  log.event(Level::info, "rules", {{"count", rules.size()}, {"rules", text}});
}

}  // namespace haricot::os
