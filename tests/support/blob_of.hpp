// Blobs with content.

#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include "haricot/base/blob.hpp"
#include "haricot/base/check.hpp"

namespace haricot::test {

inline BlobRef blob_of(std::string_view bytes) {
  BlobRef blob = BlobRef::allocate(bytes.size());
  CHECK(blob);
  if (!bytes.empty()) std::memcpy(blob.data(), bytes.data(), bytes.size());
  return blob;
}

inline BlobRef blob_of(std::size_t bytes, char letter) {
  BlobRef blob = BlobRef::allocate(bytes);
  CHECK(blob);
  std::memset(blob.data(), letter, bytes);
  return blob;
}

}  // namespace haricot::test
