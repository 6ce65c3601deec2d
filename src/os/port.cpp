#include "os/port.hpp"

#include <cstdint>

#include "haricot/base/number.hpp"

namespace haricot::os {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

bool is_port(std::string_view text) {
  if (!text.empty() && is_letter(text.front())) return true;
  return read_number<std::uint16_t>(text).has_value();
}

}  // namespace haricot::os
