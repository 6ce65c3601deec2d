#include "os/port.hpp"

#include <charconv>
#include <cstdint>
#include <system_error>

namespace haricot::os {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

bool is_port(std::string_view text) {
  if (!text.empty() && is_letter(text.front())) return true;
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace haricot::os
