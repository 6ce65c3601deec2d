// Rules of the operator: tags for puts into tubes whose names match a pattern.
//
// For each tag the first rule counts that matches the tube and has the tag. A put gets the tags
// that it does not name itself, and keeps them like its own. The tags that apply to a tube are
// decided at the first put into it, and stored as a number (Tube::rule), so the next puts do not
// search. New rules make all numbers invalid at once.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "haricot/base/job_tags.hpp"
#include "haricot/queue/queue_state.hpp"
#include "haricot/queue/tube.hpp"

namespace haricot {

// Maximum number of rules.
inline constexpr std::size_t kRulesMax = 256;

struct Rule {
  std::string pattern;  // A name of a tube, in which * is any text and ? is any byte.
  std::string tags;     // A text of tags.
};

// Parses `PATTERN TAG...`, separated by blanks and tabs. Returns false and sets `error` if the line
// is no rule. Throws std::bad_alloc.
[[nodiscard]] bool parse_rule(std::string_view line, Rule& rule, std::string& error);

// The tags that apply to the puts into a tube.
struct TubeRule {
  TagText text;
  ReadTags read;      // Of `text`.
  std::string shown;  // As the operator wrote the tags.
};

class Rules {
 public:
  explicit Rules(QueueState& state) : state_(state) {}
  Rules(const Rules&) = delete;
  Rules& operator=(const Rules&) = delete;

  // Replaces all rules. Throws std::bad_alloc; nothing has changed then. Requires: parse_rule() has
  // made them.
  void set(const std::vector<Rule>& rules);
  // Returns the tags that apply to the tube, or null. Valid until set(). Throws std::bad_alloc.
  const TubeRule* of(Tube& tube);
  // Returns the steps of of().
  std::uint32_t steps_of(const Tube& tube) const {
    return is_decided(tube) ? 0 : static_cast<std::uint32_t>(rules_.size());
  }

 private:
  struct ParsedRule {
    std::string pattern;
    TagText text;
    JobTags tags;  // Of `text`.
  };

  bool is_decided(const Tube& tube) const { return rules_.empty() || tube.rule >= first_; }
  std::uint32_t decide(const std::string& tube_name);

  QueueState& state_;
  std::vector<std::unique_ptr<ParsedRule>> rules_;
  // All combinations of tags that apply to a tube; `first_` is the number of the first one. Numbers
  // below are of earlier rules.
  std::vector<std::unique_ptr<TubeRule>> combinations_;
  std::unordered_map<std::string, std::uint32_t> by_text_;
  std::uint32_t first_ = 1;
};

}  // namespace haricot
