// Decoding of percent-encoded URLs (RFC 3986, section 2.1).

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace haricot::web {

// Meaning of '+': a blank in the query of a form, otherwise itself.
enum class Plus : bool { is_plus, is_blank };

// Returns the decoded bytes, which may be any. Returns nothing if a '%' is not followed by two
// hexadecimal digits.
std::optional<std::string> decode_percent(std::string_view text, Plus plus);

}  // namespace haricot::web
