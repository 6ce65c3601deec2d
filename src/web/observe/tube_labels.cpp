#include "web/observe/tube_labels.hpp"

#include <regex.h>

#include <algorithm>
#include <utility>

#include "tool/client/stats_text.hpp"

namespace haricot::web {
namespace {

// Whether * or + stands behind anything but a character or [...]. What may be nothing, as in (a*)*,
// doubles the time to compile the pattern each time.
bool repeats_no_character(std::string_view text) {
  const std::string padded = "^" + std::string(text);
  for (std::size_t i = 1; i < padded.size(); ++i) {
    const bool is_repeated = padded[i] == '*' || padded[i] == '+';
    if (is_repeated && std::string_view("^$()|*+?").find(padded[i - 1]) != std::string_view::npos) {
      return true;
    }
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
  if (repeats_no_character(text)) {
    error = "a pattern has * and + behind a character or [...] only, not as in (a*)*";
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
