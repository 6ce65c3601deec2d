#include "web/observe/name_pattern.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <optional>
#include <utility>

#include "haricot/base/number.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::web {
namespace {

using Positions = std::bitset<NamePattern::kPositionsMax>;
using Bytes = std::bitset<256>;

constexpr std::uint64_t kTimesMax = NamePattern::kPositionsMax;
constexpr int kDepthMax = 50;

bool is_digit(int c) {
  return c >= '0' && c <= '9';
}
bool is_lower(int c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(int c) {
  return c >= 'A' && c <= 'Z';
}
bool is_alpha(int c) {
  return is_lower(c) || is_upper(c);
}
bool is_alnum(int c) {
  return is_alpha(c) || is_digit(c);
}
bool is_word(int c) {
  return is_alnum(c) || c == '_';
}
bool is_space(int c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_punct(int c) {
  return c > ' ' && c < 0x7f && !is_alnum(c);
}
bool is_xdigit(int c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

struct NamedClass {
  std::string_view name;
  bool (*has)(int);
};
constexpr std::array<NamedClass, 9> kClasses = {{{"digit", is_digit},
                                                 {"lower", is_lower},
                                                 {"upper", is_upper},
                                                 {"alpha", is_alpha},
                                                 {"alnum", is_alnum},
                                                 {"word", is_word},
                                                 {"space", is_space},
                                                 {"punct", is_punct},
                                                 {"xdigit", is_xdigit}}};

Bytes bytes_of(bool (*has)(int)) {
  Bytes bytes;
  for (int c = 0; c < 256; ++c) bytes[static_cast<std::size_t>(c)] = has(c);
  return bytes;
}

Bytes byte(char c) {
  return Bytes().set(static_cast<unsigned char>(c));
}

}  // namespace

// Builds the automaton while reading. A part that repeats n times is read n times.
class PatternParser final {
 public:
  PatternParser(std::string_view text, std::string& error) : text_(text), error_(error) {}

  std::unique_ptr<NamePattern> parse() {
    const Fragment whole = read_choice(true, 0);
    if (at_ < text_.size()) fail("unmatched )");
    if (!error_.empty()) return nullptr;
    std::unique_ptr<NamePattern> pattern(new NamePattern);
    pattern->positions_ = accepts_.size();
    pattern->words_ = std::max<std::size_t>(1, (accepts_.size() + 63) / 64);
    pattern->matches_empty_ = whole.is_nullable;
    append(pattern->first_, whole.first, pattern->words_);
    append(pattern->last_, whole.last, pattern->words_);
    for (const Positions& each : follow_) append(pattern->follow_, each, pattern->words_);
    for (std::size_t c = 0; c < 256; ++c) {
      Positions positions;
      for (std::size_t i = 0; i < accepts_.size(); ++i) positions[i] = accepts_[i][c];
      append(pattern->accepts_, positions, pattern->words_);
    }
    return pattern;
  }

 private:
  // Part of the expression in Glushkov's construction.
  struct Fragment {
    Positions first;
    Positions last;
    bool is_nullable = true;
    bool is_at_end = false;  // Ends with $.
  };

  static void append(std::vector<std::uint64_t>& to, const Positions& positions,
                     std::size_t words) {
    for (std::size_t word = 0; word < words; ++word) {
      std::uint64_t bits = 0;
      for (std::size_t i = 0; i < 64; ++i) {
        bits |= std::uint64_t{positions[word * 64 + i]} << i;
      }
      to.push_back(bits);
    }
  }

  Fragment fail(std::string_view reason) {
    if (error_.empty()) error_ = "invalid pattern: " + std::string(reason);
    at_ = text_.size();
    return {};
  }

  bool is_at(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  bool take(std::string_view what) {
    if (!is_at(what)) return false;
    at_ += what.size();
    return true;
  }

  Fragment read_choice(bool is_at_begin, int depth) {
    if (depth > kDepthMax) return fail("groups are nested too deeply");
    Fragment all = read_sequence(is_at_begin, depth);
    while (take("|")) {
      const Fragment next = read_sequence(is_at_begin, depth);
      all.first |= next.first;
      all.last |= next.last;
      all.is_nullable = all.is_nullable || next.is_nullable;
      all.is_at_end = all.is_at_end || next.is_at_end;
    }
    return all;
  }

  Fragment read_sequence(bool is_at_begin, int depth) {
    Fragment all;
    bool is_begin = is_at_begin;
    while (at_ < text_.size() && !is_at("|") && !is_at(")")) {
      if (all.is_at_end && !is_at("$")) return fail("$ is not at the end");
      if (take("^")) {
        if (!is_begin) return fail("^ is not at the beginning");
        continue;
      }
      if (take("$")) {
        all.is_at_end = true;
        continue;
      }
      all = joined(all, read_repeated(is_begin, depth));
      is_begin = false;
    }
    return all;
  }

  Fragment joined(const Fragment& a, const Fragment& b) {
    for (std::size_t i = 0; i < accepts_.size(); ++i) {
      if (a.last[i]) follow_[i] |= b.first;
    }
    return {.first = a.is_nullable ? a.first | b.first : a.first,
            .last = b.is_nullable ? a.last | b.last : b.last,
            .is_nullable = a.is_nullable && b.is_nullable,
            .is_at_end = b.is_at_end};
  }

  // Lets the part follow itself.
  void loop(const Fragment& part) { static_cast<void>(joined(part, part)); }

  struct Times {
    std::uint64_t least = 1;
    std::optional<std::uint64_t> most = 1;  // Empty if there is no limit.
  };

  // Reads a repetition after an atom. Returns nothing if there is none.
  std::optional<Times> read_times() {
    Times times;
    if (take("*")) {
      times = {0, std::nullopt};
    } else if (take("+")) {
      times = {1, std::nullopt};
    } else if (take("?")) {
      times = {0, 1};
    } else if (take("{")) {
      times = read_braces();
    } else {
      return std::nullopt;
    }
    // For whole names, lazy and greedy repetitions match alike.
    take("?");
    if (is_at("*") || is_at("+") || is_at("?") || is_at("{")) fail("two repetitions in a row");
    return times;
  }

  Times read_braces() {
    const std::size_t end = text_.find('}', at_);
    std::string_view inner = text_.substr(at_, end == std::string_view::npos ? end : end - at_);
    const std::optional<std::uint64_t> least = take_number(inner);
    std::optional<std::uint64_t> most = least;
    bool is_good = least && end != std::string_view::npos;
    if (is_good && inner == ",") {
      most.reset();
    } else if (is_good && !inner.empty()) {
      most = inner[0] == ',' ? read_number(inner.substr(1)) : std::nullopt;
      is_good = most && *most >= *least;
    }
    if (!is_good) {
      fail("{ needs {n}, {n,} or {n,m}");
      return {};
    }
    if (std::max(*least, most.value_or(0)) > kTimesMax) {
      fail("a repetition exceeds " + std::to_string(kTimesMax));
      return {};
    }
    at_ = end + 1;
    return {*least, most};
  }

  Fragment read_repeated(bool is_at_begin, int depth) {
    const std::size_t begin = at_;
    const std::size_t positions = accepts_.size();
    Fragment atom = read_atom(is_at_begin, depth);
    const bool is_empty = accepts_.size() == positions;
    const std::optional<Times> times = read_times();
    if (!times || !error_.empty()) return atom;
    if (atom.is_at_end) return fail("$ is not at the end");
    const std::size_t behind = at_;
    const std::uint64_t copies = std::max(times->least, times->most.value_or(1));
    if (copies == 0 || is_empty) {
      return {};  // Its positions are not reachable.
    }
    Fragment all;
    for (std::uint64_t i = 0; i < copies && error_.empty(); ++i) {
      if (i > 0) {
        at_ = begin;
        atom = read_atom(false, depth);
      }
      if (!times->most && i + 1 == copies) loop(atom);
      if (i >= times->least) atom.is_nullable = true;
      all = joined(all, atom);
    }
    if (error_.empty()) at_ = behind;
    return all;
  }

  Fragment read_atom(bool is_at_begin, int depth) {
    if (take("(")) {
      if (is_at("?") && !take("?:")) return fail("of groups with (? only (?: is supported");
      Fragment group = read_choice(is_at_begin, depth + 1);
      if (!take(")") && error_.empty()) return fail("missing )");
      return group;
    }
    if (take("[")) return position(read_class());
    if (take("\\")) return position(read_escape());
    if (take(".")) return position(Bytes().set());
    if (is_at("*") || is_at("+") || is_at("?") || is_at("{")) {
      return fail("a repetition has nothing to repeat");
    }
    return position(byte(text_[at_++]));
  }

  Fragment position(const Bytes& bytes) {
    if (!error_.empty()) return {};
    if (accepts_.size() == NamePattern::kPositionsMax) {
      return fail("it has more than " + std::to_string(NamePattern::kPositionsMax) +
                  " characters after repetitions are expanded");
    }
    Fragment part{.first = {}, .last = {}, .is_nullable = false};
    part.first.set(accepts_.size());
    part.last = part.first;
    accepts_.push_back(bytes);
    follow_.emplace_back();
    return part;
  }

  Bytes read_escape() {
    if (at_ == text_.size()) {
      fail("it ends with a backslash");
      return {};
    }
    const char c = text_[at_++];
    for (const auto& [letter, has] :
         {std::pair('d', &is_digit), std::pair('w', &is_word), std::pair('s', &is_space)}) {
      if (c == letter) return bytes_of(has);
      if (c == letter - 'a' + 'A') return ~bytes_of(has);
    }
    if (!is_punct(static_cast<unsigned char>(c))) {
      fail("unknown escape \\" + std::string(1, is_alnum(c) ? c : '?'));
    }
    return byte(c);
  }

  // Reads one element of [...]; sets `low` for a single character.
  Bytes read_element(std::optional<char>& low) {
    if (take("[:")) {
      const bool is_negated = take("^");
      for (const NamedClass& each : kClasses) {
        if (!take(std::string(each.name) + ":]")) continue;
        return is_negated ? ~bytes_of(each.has) : bytes_of(each.has);
      }
      fail("unknown class in [: :]");
      return {};
    }
    const bool is_escaped = take("\\");
    if (at_ == text_.size()) {
      fail("missing ]");
      return {};
    }
    if (is_escaped) {
      const Bytes bytes = read_escape();
      if (bytes.count() == 1) low = text_[at_ - 1];
      return bytes;
    }
    low = text_[at_++];
    return byte(*low);
  }

  Bytes read_class() {
    const bool is_negated = take("^");
    Bytes bytes;
    for (bool is_first = true; is_first || !is_at("]"); is_first = false) {
      std::optional<char> low;
      bytes |= read_element(low);
      const bool is_range = low && is_at("-") && !is_at("-]");
      if (is_range && error_.empty()) {
        ++at_;
        std::optional<char> high;
        read_element(high);
        const auto from = static_cast<unsigned char>(*low);
        if (!high || static_cast<unsigned char>(*high) < from) fail("bad range in [...]");
        for (int c = from; high && c <= static_cast<unsigned char>(*high); ++c) {
          bytes.set(static_cast<std::size_t>(c));
        }
      }
      if (at_ == text_.size()) {
        fail("missing ]");
        return {};
      }
    }
    ++at_;
    return is_negated ? ~bytes : bytes;
  }

  std::string_view text_;
  std::string& error_;
  std::size_t at_ = 0;
  std::vector<Bytes> accepts_;     // By position.
  std::vector<Positions> follow_;  // By position.
};

std::unique_ptr<NamePattern> NamePattern::make(std::string_view text, std::string& error) {
  error.clear();
  if (text.empty() || text.size() > kBytesMax) {
    error = "a pattern has 1 to " + std::to_string(kBytesMax) + " bytes";
    return nullptr;
  }
  return PatternParser(text, error).parse();
}

bool NamePattern::matches(std::string_view name) const {
  if (name.empty()) return matches_empty_;
  std::array<std::uint64_t, kWordsMax> now{};
  std::array<std::uint64_t, kWordsMax> next{};
  std::copy(first_.begin(), first_.end(), next.begin());
  for (const char c : name) {
    const std::uint64_t* accepted = &accepts_[static_cast<unsigned char>(c) * words_];
    std::uint64_t any = 0;
    for (std::size_t word = 0; word < words_; ++word) {
      now[word] = next[word] & accepted[word];
      next[word] = 0;
      any |= now[word];
    }
    if (any == 0) return false;
    for (std::size_t word = 0; word < words_; ++word) {
      for (std::uint64_t left = now[word]; left != 0; left &= left - 1) {
        const std::size_t position = word * 64 + static_cast<std::size_t>(std::countr_zero(left));
        for (std::size_t i = 0; i < words_; ++i) next[i] |= follow_[position * words_ + i];
      }
    }
  }
  std::uint64_t ends = 0;
  for (std::size_t word = 0; word < words_; ++word) ends |= now[word] & last_[word];
  return ends != 0;
}

// TubeLabels --------------------------------------------------------------------------------------

bool TubeLabels::add(std::string_view text, std::string& error) {
  const std::size_t equals = text.rfind('=');
  const std::string_view name = equals == std::string_view::npos ? "" : text.substr(equals + 1);
  if (!tool::can_be_asked_for(name) || name == kRest || rows_.size() == kLabelsMax) {
    error = "must be REGEX=NAME; at most " + std::to_string(kLabelsMax) + " labels";
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
  // A tube with the name of a label belongs to it, so that each name has one series.
  const auto known = std::find(names_.begin(), names_.end(), tube);
  return known == names_.end() ? std::uint8_t{0} : label_at(known);
}

}  // namespace haricot::web
