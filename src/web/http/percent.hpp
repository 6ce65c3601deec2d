// Percent-encoding of URLs (RFC 3986, 2.1), read.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace haricot::web {

// Whether a '+' is a blank, as in the query of a form.
enum class Plus : bool { is_plus, is_blank };

// Nothing: a '%' is not followed by two hex digits. Any bytes may come out.
std::optional<std::string> decode_percent(std::string_view text, Plus plus);

}  // namespace haricot::web
