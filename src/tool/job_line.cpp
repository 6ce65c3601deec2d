#include "tool/job_line.hpp"

namespace haricot::tool {
namespace {

constexpr std::string_view kCounterNames[] = {"reserves", "timeouts", "releases", "buries",
                                              "kicks"};
constexpr std::string_view kHexDigits = "0123456789abcdef";

void append_hex(std::string& text, unsigned char byte) {
  text += kHexDigits[byte >> 4];
  text += kHexDigits[byte & 15];
}

std::string quoted_for_eyes(std::string_view bytes) {
  std::string text = "\"";
  for (const char c : bytes) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c >= ' ' && c <= '~') {
      text += c;
    } else {
      text += "\\x";
      append_hex(text, static_cast<unsigned char>(c));
    }
  }
  return text += '"';
}

// The bytes of the UTF-8 character at the begin; 0 if there is none that is well-formed: too short,
// longer than it need be, half of a surrogate pair, or beyond the last character.
std::size_t utf8_length(std::string_view bytes) {
  const auto at = [&bytes](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  if (first >= 0xc2 && first <= 0xdf) length = 2;
  if (first >= 0xe0 && first <= 0xef) length = 3;
  if (first >= 0xf0 && first <= 0xf4) length = 4;
  if (length == 0 || bytes.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = at(1);
  const bool is_bad = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return is_bad ? 0 : length;
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

// Requires: UTF-8.
std::string quoted_for_json(std::string_view bytes) {
  std::string text = "\"";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      text += "\\u00";
      append_hex(text, byte);
    } else {
      text += c;
    }
  }
  return text += '"';
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (k < group.size() ? static_cast<unsigned char>(group[k]) : 0);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= group.size() ? kDigits[(bits >> (18 - 6 * k)) & 63] : '=';
    }
  }
  return text;
}

}  // namespace

std::string to_text(const JobLine& job) {
  std::string text = "id=" + std::to_string(job.id) + " tube=" + std::string(job.tube) +
                     " state=" + std::string(job.state) + " pri=" + std::to_string(job.priority) +
                     " age=" + std::to_string(job.age_s) + " delay=" + std::to_string(job.delay_s) +
                     " ttr=" + std::to_string(job.ttr_s) +
                     " time-left=" + std::to_string(job.left_s);
  for (std::size_t i = 0; i < job.counters.size(); ++i) {
    text += ' ';
    text += kCounterNames[i];
    text += '=' + std::to_string(job.counters[i]);
  }
  return text + " bytes=" + std::to_string(job.body.size()) + " body=" + quoted_for_eyes(job.body) +
         "\n";
}

std::string to_json(const JobLine& job) {
  std::string text =
      "{\"id\":" + std::to_string(job.id) + ",\"tube\":" + quoted_for_json(job.tube) +
      ",\"state\":" + quoted_for_json(job.state) + ",\"pri\":" + std::to_string(job.priority) +
      ",\"age\":" + std::to_string(job.age_s) + ",\"delay\":" + std::to_string(job.delay_s) +
      ",\"ttr\":" + std::to_string(job.ttr_s) + ",\"time-left\":" + std::to_string(job.left_s);
  for (std::size_t i = 0; i < job.counters.size(); ++i) {
    text += ",\"" + std::string(kCounterNames[i]) + "\":" + std::to_string(job.counters[i]);
  }
  text += ",\"bytes\":" + std::to_string(job.body.size());
  if (is_utf8(job.body)) {
    text += ",\"body\":" + quoted_for_json(job.body);
  } else {
    text += ",\"body_base64\":\"" + base64(job.body) + "\"";
  }
  return text + "}\n";
}

}  // namespace haricot::tool
