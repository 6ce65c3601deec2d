// What the fuzz target of HTTP does with its input: bytes of a peer of `haricot web`.

#pragma once

#include <cstddef>
#include <string_view>

namespace haricot::fuzz {

// Reads the bytes as requests in one piece, in pieces and byte by byte: what comes out has to be
// the same, and has to be what a request may be. Each request is judged by a site, and answered
// with its own words in headers, which must not become more of them. Returns how many requests
// there were.
std::size_t check_requests(std::string_view bytes);

}  // namespace haricot::fuzz
