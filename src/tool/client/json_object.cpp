#include "tool/client/json_object.hpp"

#include <array>
#include <cstddef>

#include "haricot/base/encoding.hpp"

namespace haricot::tool {
namespace {

void append_utf8(std::string& to, std::uint32_t code) {
  const auto tail = [&](unsigned shift) {
    to += static_cast<char>(0x80U | ((code >> shift) & 0x3fU));
  };
  if (code < 0x80) {
    to += static_cast<char>(code);
  } else if (code < 0x800) {
    to += static_cast<char>(0xc0U | (code >> 6U));
    tail(0);
  } else if (code < 0x10000) {
    to += static_cast<char>(0xe0U | (code >> 12U));
    tail(6);
    tail(0);
  } else {
    to += static_cast<char>(0xf0U | (code >> 18U));
    tail(12);
    tail(6);
    tail(0);
  }
}

constexpr std::uint32_t kNoDigit = 16;

std::uint32_t hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<std::uint32_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint32_t>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<std::uint32_t>(c - 'A') + 10;
  return kNoDigit;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Reads from the front of a text. Functions return false for invalid JSON.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool at_end() {
    skip_blanks();
    return rest_.empty();
  }
  // Takes the character if it is the next one after blanks.
  bool take(char c) {
    skip_blanks();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool read_string(std::string& to);
  bool read_value(JsonObject::Value& value);
  bool read_numbers(JsonObject::Value& value);
  bool skip_nested();
  bool read_escape(std::string& to);  // Requires: the backslash was taken.
  std::string_view rest() const { return rest_; }
  bool is_at(char c) {
    skip_blanks();
    return rest_.starts_with(c);
  }

 private:
  void skip_blanks() {
    while (!rest_.empty() &&
           (rest_[0] == ' ' || rest_[0] == '\t' || rest_[0] == '\r' || rest_[0] == '\n')) {
      rest_.remove_prefix(1);
    }
  }
  bool read_unit(std::uint32_t& unit);
  std::size_t digits_from(std::size_t at) const {
    std::size_t end = at;
    while (end < rest_.size() && is_digit(rest_[end])) ++end;
    return end - at;
  }
  bool read_number(JsonObject::Value& value);

  std::string_view rest_;
};

bool Reader::read_string(std::string& to) {
  if (!take('"')) return false;
  while (!rest_.empty()) {
    if (rest_[0] == '"') {
      rest_.remove_prefix(1);
      return true;
    }
    if (static_cast<unsigned char>(rest_[0]) < 0x20) return false;
    if (rest_[0] == '\\') {
      rest_.remove_prefix(1);
      if (!read_escape(to)) return false;
      continue;
    }
    const std::size_t bytes = first_character(rest_).bytes;
    if (bytes == 0) return false;
    to += rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
  }
  return false;
}

// Reads four hexadecimal digits.
bool Reader::read_unit(std::uint32_t& unit) {
  if (rest_.size() < 4) return false;
  unit = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::uint32_t digit = hex_digit(rest_[i]);
    if (digit == kNoDigit) return false;
    unit = unit * 16 + digit;
  }
  rest_.remove_prefix(4);
  return true;
}

bool Reader::read_escape(std::string& to) {
  constexpr std::string_view kWritten = "\"\\/bfnrt";
  constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  if (rest_.empty()) return false;
  const char c = rest_[0];
  rest_.remove_prefix(1);
  const std::size_t at = kWritten.find(c);
  if (at != std::string_view::npos) {
    to += kMeant[at];
    return true;
  }
  std::uint32_t code = 0;
  if (c != 'u' || !read_unit(code)) return false;
  if (code >= 0xdc00 && code < 0xe000) return false;  // A low surrogate without its high one.
  if (code >= 0xd800 && code < 0xdc00) {
    std::uint32_t low = 0;
    if (!rest_.starts_with("\\u")) return false;
    rest_.remove_prefix(2);
    if (!read_unit(low) || low < 0xdc00 || low >= 0xe000) return false;
    code = 0x10000 + ((code - 0xd800) << 10U) + (low - 0xdc00);
  }
  append_utf8(to, code);
  return true;
}

bool Reader::read_number(JsonObject::Value& value) {
  std::size_t size = rest_.starts_with('-') ? 1 : 0;
  const std::size_t whole = digits_from(size);
  if (whole == 0 || (whole > 1 && rest_[size] == '0')) return false;
  size += whole;
  if (size < rest_.size() && rest_[size] == '.') {
    const std::size_t decimals = digits_from(size + 1);
    if (decimals == 0) return false;
    size += 1 + decimals;
  }
  if (size < rest_.size() && (rest_[size] == 'e' || rest_[size] == 'E')) {
    ++size;
    if (size < rest_.size() && (rest_[size] == '+' || rest_[size] == '-')) ++size;
    const std::size_t exponent = digits_from(size);
    if (exponent == 0) return false;
    size += exponent;
  }
  value = {JsonObject::Value::Kind::number, std::string(rest_.substr(0, size))};
  rest_.remove_prefix(size);
  return true;
}

bool Reader::read_value(JsonObject::Value& value) {
  skip_blanks();
  if (rest_.starts_with('"')) {
    value.kind = JsonObject::Value::Kind::string;
    return read_string(value.text);
  }
  for (const std::string_view word : {"true", "false", "null"}) {
    if (!rest_.starts_with(word)) continue;
    value = {JsonObject::Value::Kind::word, std::string(word)};
    rest_.remove_prefix(word.size());
    return true;
  }
  return read_number(value);
}

bool Reader::read_numbers(JsonObject::Value& value) {
  if (!take('[')) return false;
  value.kind = JsonObject::Value::Kind::numbers;
  bool is_over = take(']');
  while (!is_over) {
    skip_blanks();
    JsonObject::Value item;
    if (!read_number(item)) return false;
    value.items.push_back(std::move(item.text));
    is_over = take(']');
    if (!is_over && !take(',')) return false;
  }
  return true;
}

// Skips an object or an array. Checks only that brackets and strings are closed.
bool Reader::skip_nested() {
  std::size_t depth = 0;
  std::string skipped;
  do {
    if (is_at('"')) {
      skipped.clear();
      if (!read_string(skipped)) return false;
      continue;
    }
    if (rest_.empty()) return false;
    const char c = rest_[0];
    rest_.remove_prefix(1);
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
  } while (depth > 0);
  return true;
}

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::optional<JsonObject> JsonObject::parse(std::string_view text, std::string& error,
                                            Nested nested) {
  Reader reader(text);
  const auto read = [&reader, nested](Value& value) {
    if (nested == Nested::arrays_of_numbers && reader.is_at('[')) return reader.read_numbers(value);
    if (nested != Nested::skipped || !(reader.is_at('[') || reader.is_at('{'))) {
      return reader.read_value(value);
    }
    value.kind = Value::Kind::nested;
    return reader.skip_nested();
  };
  JsonObject object;
  error = "not a JSON object";
  if (!reader.take('{')) return std::nullopt;
  bool is_over = reader.take('}');
  while (!is_over) {
    std::string name;
    Value value;
    if (!reader.read_string(name) || !reader.take(':')) return std::nullopt;
    if (!read(value)) {
      error = "the value of \"" + name + "\" must be a string, a number, true, false or null";
      return std::nullopt;
    }
    if (object.find(name) != nullptr) {
      error = "\"" + name + "\" appears twice";
      return std::nullopt;
    }
    object.members_.emplace_back(std::move(name), std::move(value));
    is_over = reader.take('}');
    if (!is_over && !reader.take(',')) return std::nullopt;
  }
  if (!reader.at_end()) return std::nullopt;
  error.clear();
  return object;
}

const JsonObject::Value* JsonObject::find(std::string_view name) const {
  for (const auto& [own, value] : members_) {
    if (own == name) return &value;
  }
  return nullptr;
}

std::string without_json_escapes(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const std::size_t escape = text.find('\\');
    plain += text.substr(0, escape);
    if (escape == std::string_view::npos) break;
    text.remove_prefix(escape);
    Reader reader(text.substr(1));
    if (reader.read_escape(plain)) {
      text = reader.rest();
    } else {
      plain += '\\';
      text.remove_prefix(1);
    }
  }
  return plain;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  std::array<std::uint8_t, 256> values{};
  values.fill(64);
  for (std::size_t i = 0; i < kBase64.size(); ++i) {
    values[static_cast<unsigned char>(kBase64[i])] = static_cast<std::uint8_t>(i);
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const std::uint8_t value = values[static_cast<unsigned char>(c)];
    if (value == 64) return std::nullopt;
    bits = (bits << 6U) | value;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>((bits >> count) & 0xffU);
  }
  return bytes;
}

}  // namespace haricot::tool
