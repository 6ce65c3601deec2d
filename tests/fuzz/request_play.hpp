// Plays inputs of the fuzz target for HTTP: bytes of a peer of `haricot web`.

#pragma once

#include <cstddef>
#include <string_view>

namespace haricot::fuzz {

// Reads the bytes as requests in one piece, in pieces and byte by byte: the results must be equal,
// and valid requests. Each request is judged by a site, and answered with its own words in headers,
// which must not become more headers. Returns the number of requests.
std::size_t check_requests(std::string_view bytes);

}  // namespace haricot::fuzz
