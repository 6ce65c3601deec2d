#include "web/http/message.hpp"

#include <algorithm>
#include <cstddef>

#include "haricot/base/encoding.hpp"
#include "haricot/base/number.hpp"

namespace haricot::web {
namespace {

constexpr std::string_view kBlanks = " \t";

bool is_token_character(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kMarks.find(c) != std::string_view::npos;
}

bool is_value_character(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return c == '\t' || (byte >= 0x20 && byte != 0x7f);
}

}  // namespace

const std::string* find_header(const std::vector<Header>& headers, std::string_view name) {
  for (const Header& header : headers) {
    if (is_same_word(header.name, name)) return &header.value;
  }
  return nullptr;
}

std::optional<std::string> find_parameter(std::string_view form, std::string_view name) {
  while (!form.empty()) {
    std::string_view value = take_element(form, '&');
    const std::optional<std::string> found =
        decode_percent(take_element(value, '='), Plus::is_blank);
    if (found == name) return decode_percent(value, Plus::is_blank);
  }
  return std::nullopt;
}

std::optional<std::string> Request::parameter(std::string_view name) const {
  return find_parameter(query, name);
}

std::string_view Request::header(std::string_view name) const {
  const std::string* value = find_header(headers, name);
  return value == nullptr ? std::string_view{} : *value;
}

Response refusal(const Request& request, std::uint16_t status, std::string_view reason) {
  if (request.path.starts_with("/api/")) {
    return {.status = status,
            .type = std::string(kJsonType),
            .body = "{\"error\":" + json_string(reason) + "}"};
  }
  return {
      .status = status, .type = "text/plain; charset=utf-8", .body = std::string(reason) + "\n"};
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_character);
}

bool is_field_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), is_value_character);
}

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

bool is_same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = lower(c);
  return result;
}

std::string_view take_element(std::string_view& list, char separator) {
  const std::size_t end = std::min(list.find(separator), list.size());
  const std::string_view element = trim(list.substr(0, end));
  list.remove_prefix(std::min(end + 1, list.size()));
  return element;
}

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    if (is_same_word(take_element(list), word)) return true;
  }
  return false;
}

std::optional<std::string> decode_percent(std::string_view text, Plus plus) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus == Plus::is_blank) {
      result += ' ';
    } else if (text[i] != '%') {
      result += text[i];
    } else {
      constexpr std::size_t kDigits = 2;
      const std::string_view digits = text.substr(i + 1, kDigits);
      const std::optional<std::uint8_t> byte = read_number<std::uint8_t>(digits, 16);
      if (!byte || digits.size() != kDigits) return std::nullopt;
      result += static_cast<char>(*byte);
      i += kDigits;
    }
  }
  return result;
}

}  // namespace haricot::web
