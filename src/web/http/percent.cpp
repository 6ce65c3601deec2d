#include "web/http/percent.hpp"

#include <cstddef>
#include <cstdint>

#include "haricot/base/number.hpp"

namespace haricot::web {

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
