#include "haricot/queue/rules.hpp"

#include <algorithm>
#include <utility>

#include "haricot/base/name_bytes.hpp"

namespace haricot {
namespace {

constexpr std::string_view kBlanks = " \t";

bool is_pattern(std::string_view text) {
  const auto is_good = [](char c) {
    return c == '*' || c == '?' || kNameBytes[static_cast<unsigned char>(c)];
  };
  return !text.empty() && text.size() <= kTubeNameBytesMax &&
         std::all_of(text.begin(), text.end(), is_good);
}

// Removes the first word of a text and returns it; empty: there is none.
std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
  text.remove_prefix(word.size());
  return word;
}

bool check_rule_tag(std::string_view word, std::string& error) {
  const TagRow* const row = find_tag(word.substr(0, word.find(':')));
  JobTags tags;
  if (row == nullptr) {
    error = "unknown tag: ";
  } else if (row->rules == TagRules::may_not_have) {
    error = "a rule cannot have this tag: ";
  } else if (!read_tags(word, tags)) {
    error = "invalid value of a tag: ";
  } else {
    return true;
  }
  error += word;
  return false;
}

// Returns true if the pattern matches the whole name. After a mismatch, the text of the last * gets
// one byte more.
bool matches(std::string_view pattern, std::string_view name) {
  std::size_t at = 0;
  std::size_t in_name = 0;
  std::size_t star = std::string_view::npos;
  std::size_t end_of_star = 0;
  while (in_name < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      end_of_star = in_name;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == name[in_name])) {
      ++at;
      ++in_name;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in_name = ++end_of_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

}  // namespace

bool parse_rule(std::string_view line, Rule& rule, std::string& error) {
  rule = Rule{std::string(next_word(line)), {}};
  if (!is_pattern(rule.pattern)) {
    error = "invalid pattern of a tube: " + rule.pattern;
    return false;
  }
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    if (!check_rule_tag(word, error)) return false;
    if (!rule.tags.empty()) rule.tags += ' ';
    rule.tags += word;
  }
  JobTags tags;
  if (read_tags(rule.tags, tags)) return true;
  error = rule.tags.empty() ? "no tags" : "a tag is named twice, or the tags are too long";
  return false;
}

void Rules::set(const std::vector<Rule>& rules) {
  std::vector<std::unique_ptr<ParsedRule>> parsed;
  parsed.reserve(rules.size());
  for (const Rule& rule : rules) {
    parsed.push_back(std::make_unique<ParsedRule>());
    parsed.back()->pattern = rule.pattern;
    parsed.back()->tags = parsed.back()->text.write(tags_in(rule.tags));
  }
  rules_ = std::move(parsed);
  first_ += static_cast<std::uint32_t>(combinations_.size());
  combinations_.clear();
  by_text_.clear();
  state_.set_put_check(QueueState::kRulesCheck, !rules_.empty());
}

const TubeRule* Rules::of(Tube& tube) {
  if (rules_.empty()) return nullptr;
  if (!is_decided(tube)) {
    state_.steps += steps_of(tube);
    tube.rule = decide(tube.name);
  }
  const TubeRule& rule = *combinations_[tube.rule - first_];
  return rule.text.empty() ? nullptr : &rule;
}

// Returns the number of the tags that apply to a tube.
std::uint32_t Rules::decide(const std::string& tube_name) {
  JobTags tags;
  for (const auto& rule : rules_) {
    if (matches(rule->pattern, tube_name)) tags = with_missing(tags, rule->tags);
  }
  auto made = std::make_unique<TubeRule>();
  // The tags of one of each kind fit into a text: a key of a lane, and numbers.
  made->text.write(tags);
  made->shown = made->text.view();
  // The clients do not know of the limit.
  tags.tries_are_quiet = tags.tries > 0;
  made->read.tags = made->text.write(tags);
  made->read.text = made->text.view();
  combinations_.reserve(combinations_.size() + 1);
  const auto number = first_ + static_cast<std::uint32_t>(combinations_.size());
  const auto [place, is_new] = by_text_.try_emplace(made->shown, number);
  if (is_new) combinations_.push_back(std::move(made));
  return place->second;
}

}  // namespace haricot
