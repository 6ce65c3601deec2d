#include "web/observe/tube_labels.hpp"

#include <regex.h>

#include <algorithm>
#include <utility>

#include "tool/client/stats_text.hpp"

namespace haricot::web {
namespace {

// How many bytes the brackets at the front take: "[^]a[:digit:]]", say.
std::size_t bracket_bytes(std::string_view text) {
  std::size_t at = text.starts_with("[^") ? 2 : 1;
  if (text.substr(at).starts_with(']')) ++at;
  for (; at < text.size() && text[at] != ']'; ++at) {
    const std::string_view inner = text.substr(at, 2);
    if (inner != "[:" && inner != "[." && inner != "[=") continue;
    const std::size_t end = text.find(std::string{inner[1], ']'}, at + 2);
    if (end != std::string_view::npos) at = end + 1;
  }
  return std::min(at + 1, text.size());
}

// Whether something is repeated that may be nothing, as in (a*)*: each of these doubles the time
// to compile the pattern.
bool repeats_nothing(std::string_view text) {
  struct Group {
    bool is_nothing = true;    // Its branch, as far as that is read, may be nothing.
    bool has_nothing = false;  // So may one of those before.
  };
  std::vector<Group> groups(1);
  bool is_nothing = true;  // What was read last may be nothing.
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(c == '[' ? bracket_bytes(text) : 1);
    if ((c == '*' || c == '+') && is_nothing) return true;
    if (c == '(') groups.emplace_back();
    Group& group = groups.back();
    if (c == '|') group = {.has_nothing = group.has_nothing || group.is_nothing};
    is_nothing = std::string_view("*?(|^$").find(c) != std::string_view::npos ||
                 (c == ')' && (group.has_nothing || group.is_nothing));
    if (c == ')' && groups.size() > 1) groups.pop_back();
    // What stands behind it decides whether it is more than nothing.
    const std::string_view behind = text.substr(0, text.find_first_not_of("*+?"));
    const bool may_go = behind.find_first_of("*?") != std::string_view::npos;
    if (!is_nothing && !may_go) groups.back().is_nothing = false;
  }
  return false;
}

}  // namespace

struct NamePattern::Compiled {
  regex_t regex;
};

std::unique_ptr<NamePattern> NamePattern::make(std::string_view text, std::string& error) {
  // What {9} is compiled to has no bound, and references to groups backtrack.
  if (text.empty() || text.size() > kBytesMax || text.find('\0') != std::string_view::npos ||
      text.find_first_of("{\\") != std::string_view::npos) {
    error = "a pattern has 1 to " + std::to_string(kBytesMax) + " bytes, without { and \\";
    return nullptr;
  }
  if (repeats_nothing(text)) {
    error = "a pattern has no * and no + behind what may be nothing, as in (a*)*";
    return nullptr;
  }
  auto compiled = std::make_unique<Compiled>();
  const std::string whole = "^(" + std::string(text) + ")$";
  const int status = ::regcomp(&compiled->regex, whole.c_str(), REG_EXTENDED | REG_NOSUB);
  if (status != 0) {
    char reason[100];
    ::regerror(status, &compiled->regex, reason, sizeof reason);
    error = std::string("this is no regular expression: ") + reason;
    return nullptr;
  }
  std::unique_ptr<NamePattern> pattern(new NamePattern);
  pattern->compiled_ = std::move(compiled);
  return pattern;
}

NamePattern::~NamePattern() {
  if (compiled_) ::regfree(&compiled_->regex);
}

bool NamePattern::matches(std::string_view name) const {
  return ::regexec(&compiled_->regex, std::string(name).c_str(), 0, nullptr, 0) == 0;
}

bool TubeLabels::add(std::string_view text, std::string& error) {
  const std::size_t equals = text.rfind('=');
  const std::string_view name = equals == std::string_view::npos ? "" : text.substr(equals + 1);
  if (!tool::can_be_asked_for(name) || name == kRest || rows_.size() == kLabelsMax) {
    error = "it has to be REGEX=NAME, " + std::to_string(kLabelsMax) + " at most";
    return false;
  }
  std::unique_ptr<NamePattern> pattern = NamePattern::make(text.substr(0, equals), error);
  if (!pattern) return false;
  const auto known = std::find(names_.begin(), names_.end(), name);
  const std::uint8_t label = label_at(known);
  if (known == names_.end()) names_.emplace_back(name);
  rows_.push_back({std::move(pattern), label});
  return true;
}

std::uint8_t TubeLabels::label_of(std::string_view tube) const {
  for (const Row& row : rows_) {
    if (row.pattern->matches(tube)) return row.label;
  }
  // There is one series of a name.
  const auto known = std::find(names_.begin(), names_.end(), tube);
  return known == names_.end() ? std::uint8_t{0} : label_at(known);
}

}  // namespace haricot::web
