#include "web/observe/tube_labels.hpp"

#include <regex.h>

#include <algorithm>
#include <utility>

#include "tool/client/stats_text.hpp"

namespace haricot::web {

struct NamePattern::Compiled {
  regex_t regex;
};

std::unique_ptr<NamePattern> NamePattern::make(std::string_view text, std::string& error) {
  // What a repetition of a repetition is compiled to has no bound, nor have references to groups,
  // which backtrack.
  if (text.empty() || text.size() > kBytesMax || text.find('\0') != std::string_view::npos ||
      text.find_first_of("{\\") != std::string_view::npos) {
    error = "a pattern has 1 to " + std::to_string(kBytesMax) + " bytes, without { and \\";
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
