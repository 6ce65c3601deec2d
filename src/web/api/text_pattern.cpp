#include "web/api/text_pattern.hpp"

#include <utility>

#include "haricot/base/utf8.hpp"

namespace haricot::web {
namespace {

// JSON in a string of JSON, and no deeper.
constexpr int kEscapeLevelsMax = 2;
// Above the last character of Unicode: invalid UTF-8 bytes, and the end of the body.
constexpr std::uint32_t kNoCharacter = 0x110000;
constexpr std::uint32_t kEnd = 0xffffffff;

// Every `step`-th code from first to last is an upper case; adding `delta` gives its lower case.
struct CaseRange {
  std::uint32_t first;
  std::uint32_t last;
  std::uint32_t step;
  std::int32_t delta;
};
constexpr CaseRange kCaseRanges[] = {
    {0x41, 0x5a, 1, 32},        {0xb5, 0xb5, 1, 775},    {0xc0, 0xd6, 1, 32},
    {0xd8, 0xde, 1, 32},        {0x100, 0x12e, 2, 1},    {0x132, 0x136, 2, 1},
    {0x139, 0x147, 2, 1},       {0x14a, 0x176, 2, 1},    {0x178, 0x178, 1, -121},
    {0x179, 0x17d, 2, 1},       {0x17f, 0x17f, 1, -268}, {0x1a0, 0x1a4, 2, 1},
    {0x1af, 0x1af, 1, 1},       {0x1cd, 0x1db, 2, 1},    {0x1de, 0x1ee, 2, 1},
    {0x1f8, 0x21e, 2, 1},       {0x222, 0x232, 2, 1},    {0x386, 0x386, 1, 38},
    {0x388, 0x38a, 1, 37},      {0x38c, 0x38c, 1, 64},   {0x38e, 0x38f, 1, 63},
    {0x391, 0x3a1, 1, 32},      {0x3a3, 0x3ab, 1, 32},   {0x3c2, 0x3c2, 1, 1},
    {0x400, 0x40f, 1, 80},      {0x410, 0x42f, 1, 32},   {0x460, 0x480, 2, 1},
    {0x48a, 0x4be, 2, 1},       {0x4c0, 0x4c0, 1, 15},   {0x4c1, 0x4cd, 2, 1},
    {0x4d0, 0x52e, 2, 1},       {0x531, 0x556, 1, 48},   {0x1e00, 0x1e94, 2, 1},
    {0x1e9e, 0x1e9e, 1, -7615}, {0x1ea0, 0x1efe, 2, 1},  {0x212a, 0x212a, 1, -8383},
    {0x212b, 0x212b, 1, -8262}, {0xff21, 0xff3a, 1, 32},
};

// Reads the characters of a body one by one. Level 0 has the characters as they stand; each higher
// level resolves the JSON escapes of the level below. A position in the bytes is the whole state,
// because an escape is consumed as a unit.
class Characters final {
 public:
  explicit Characters(std::string_view body, std::size_t at = 0) : body_(body), at_(at) {}

  std::size_t at() const { return at_; }
  bool is_at_end() const { return at_ >= body_.size(); }
  void skip_byte() { ++at_; }
  std::uint8_t byte() const { return static_cast<std::uint8_t>(body_[at_]); }

  // Returns true if the next byte may follow a backslash in an escape.
  bool may_end_escape() const {
    return !is_at_end() &&
           std::string_view("\"\\/bfnrtu").find(body_[at_]) != std::string_view::npos;
  }

  std::uint32_t next_byte() { return is_at_end() ? kEnd : static_cast<std::uint8_t>(body_[at_++]); }

  std::uint32_t next(int level) {
    if (level > 0) return next_unescaped(level - 1);
    if (is_at_end()) return kEnd;
    if (byte() < 0x80) return next_byte();
    const Utf8Character character = first_character(body_.substr(at_));
    if (character.bytes == 0) return kNoCharacter + next_byte();
    at_ += character.bytes;
    return character.code;
  }

 private:
  // A backslash that begins no escape stands for itself.
  std::uint32_t next_unescaped(int below) {
    const std::uint32_t code = next(below);
    if (code != '\\') return code;
    const std::size_t behind = at_;
    switch (const std::uint32_t letter = next(below)) {
      case '"':
      case '\\':
      case '/':
        return letter;
      case 'b':
        return '\b';
      case 'f':
        return '\f';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'u':
        if (const std::optional<std::uint32_t> unit = next_hex(below)) {
          return with_low_half(*unit, below);
        }
        break;
      default:
        break;
    }
    at_ = behind;
    return code;
  }

  std::optional<std::uint32_t> next_hex(int below) {
    std::uint32_t value = 0;
    for (int digit = 0; digit < 4; ++digit) {
      const std::uint32_t code = next(below);
      const std::uint32_t small = code | 0x20;
      if (code >= '0' && code <= '9') {
        value = value * 16 + (code - '0');
      } else if (small >= 'a' && small <= 'f') {
        value = value * 16 + (small - 'a' + 10);
      } else {
        return std::nullopt;
      }
    }
    return value;
  }

  // Characters above U+FFFF are two escapes.
  std::uint32_t with_low_half(std::uint32_t unit, int below) {
    if (unit < 0xd800 || unit > 0xdbff) return unit;
    const std::size_t behind = at_;
    if (next(below) == '\\' && next(below) == 'u') {
      const std::optional<std::uint32_t> low = next_hex(below);
      if (low && *low >= 0xdc00 && *low <= 0xdfff) {
        return 0x10000 + ((unit - 0xd800) << 10) + (*low - 0xdc00);
      }
    }
    at_ = behind;
    return unit;
  }

  std::string_view body_;
  std::size_t at_;
};

}  // namespace

std::uint32_t fold_case(std::uint32_t code) {
  if (code < 0x80) return code - 'A' < 26 ? code + 32 : code;
  for (const CaseRange& range : kCaseRanges) {
    if (code < range.first) break;
    if (code > range.last || (code - range.first) % range.step != 0) continue;
    return fold_case(code + static_cast<std::uint32_t>(range.delta));
  }
  return code;
}

TextPattern::TextPattern(std::vector<std::uint32_t> codes, bool is_text)
    : codes_(std::move(codes)), borders_(codes_.size()), is_text_(is_text) {
  for (std::uint32_t i = 1, length = 0; i < codes_.size(); ++i) {
    while (length > 0 && codes_[i] != codes_[length]) length = borders_[length - 1];
    if (codes_[i] == codes_[length]) ++length;
    borders_[i] = length;
  }
  for (std::uint32_t byte = 0; byte < may_begin_.size() && !codes_.empty(); ++byte) {
    // Bytes from 0x80 on belong to characters that may match.
    may_begin_[byte] = is_text ? byte >= 0x80 || fold_case(byte) == codes_[0] : byte == codes_[0];
  }
}

TextPattern TextPattern::of_text(std::string_view text) {
  std::vector<std::uint32_t> codes;
  Characters characters(text);
  while (!characters.is_at_end()) codes.push_back(fold_case(characters.next(0)));
  return {std::move(codes), true};
}

TextPattern TextPattern::of_bytes(std::string_view bytes) {
  std::vector<std::uint32_t> codes;
  for (const char byte : bytes) codes.push_back(static_cast<std::uint8_t>(byte));
  return {std::move(codes), false};
}

std::optional<TextPattern::Match> TextPattern::find(std::string_view body) const {
  if (codes_.empty()) return Match{};
  bool has_escapes = is_text_ && body.find('\\') != std::string_view::npos;
  for (int level = 0; level <= kEscapeLevelsMax; ++level) {
    if (level > 0 && !has_escapes) break;
    const std::optional<Match> match = find_at(body, level, has_escapes);
    if (match) return match;
  }
  return std::nullopt;
}

// Above level 0, also sets `has_escapes` to whether the next level has escapes to resolve.
std::optional<TextPattern::Match> TextPattern::find_at(std::string_view body, int level,
                                                       bool& has_escapes) const {
  if (level > 0) has_escapes = false;
  Characters characters(body);
  std::size_t length = 0;  // Length of the longest prefix of the pattern that ends here.
  std::size_t clean = 0;   // No match begins before this offset.
  std::size_t read = 0;    // Characters read since that offset.
  while (true) {
    if (length == 0) {
      while (!characters.is_at_end() && !may_begin_[characters.byte()] &&
             (level == 0 || characters.byte() != '\\')) {
        characters.skip_byte();
      }
      clean = characters.at();
      read = 0;
    }
    const std::uint32_t code = is_text_ ? characters.next(level) : characters.next_byte();
    if (code == kEnd) return std::nullopt;
    ++read;
    if (level > 0 && code == '\\') has_escapes = has_escapes || characters.may_end_escape();
    const std::uint32_t folded = is_text_ ? fold_case(code) : code;
    while (length > 0 && folded != codes_[length]) length = borders_[length - 1];
    if (folded == codes_[length]) ++length;
    if (length == codes_.size()) break;
  }
  Characters begin(body, clean);
  for (std::size_t i = read - length; i > 0; --i) {
    static_cast<void>(is_text_ ? begin.next(level) : begin.next_byte());
  }
  return Match{.offset = begin.at(), .bytes = characters.at() - begin.at()};
}

}  // namespace haricot::web
