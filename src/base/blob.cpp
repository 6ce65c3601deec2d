#include "haricot/base/blob.hpp"

#include <new>

namespace haricot {

BlobRef BlobRef::allocate(std::size_t bytes) {
  BlobRef ref;
  void* const memory = Memory::allocate(sizeof(Header) + bytes);
  if (memory != nullptr) ref.blob_ = new (memory) Header{bytes, 1};
  return ref;
}

}  // namespace haricot
