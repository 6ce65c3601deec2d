#include "web/http/request.hpp"

#include "web/http/header_text.hpp"
#include "web/http/percent.hpp"

namespace haricot::web {

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
  for (const Header& header : headers) {
    if (is_same_word(header.name, name)) return header.value;
  }
  return {};
}

}  // namespace haricot::web
