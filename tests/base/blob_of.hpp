// Blobs with something in them.

#pragma once

#include <cstddef>
#include <string_view>

#include "haricot/base/blob.hpp"

namespace haricot::testing {

BlobRef blob_of(std::string_view bytes);
BlobRef blob_of(std::size_t bytes, char letter);

}  // namespace haricot::testing
