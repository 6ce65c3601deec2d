#include "haricot/base/blob.hpp"

#include <algorithm>
#include <new>

#include "haricot/base/turn_limits.hpp"

namespace haricot {
namespace {

// What one reclaim_retired() frees: this much, or the share if that is more.
constexpr std::size_t kReclaimBytesMin = turn_limits::kFreedBytes;
constexpr std::size_t kReclaimShare = turn_limits::kFreedShare;

}  // namespace

BlobRef::Retired* BlobRef::retired_ = nullptr;
std::size_t BlobRef::retired_bytes_ = 0;

BlobRef BlobRef::allocate(std::size_t bytes) {
  BlobRef ref;
  void* memory = Memory::allocate(sizeof(Header) + bytes);
  if (memory == nullptr && retired_bytes_ > 0) {
    reclaim_all_retired();
    memory = Memory::allocate(sizeof(Header) + bytes);
  }
  if (memory != nullptr) ref.blob_ = new (memory) Header{bytes, 1};
  return ref;
}

void BlobRef::reclaim_retired() {
  if (retired_ != nullptr) reclaim(std::max(kReclaimBytesMin, retired_bytes_ / kReclaimShare));
  Memory::give_back(kReclaimBytesMin, kReclaimShare);
}

void BlobRef::reclaim_all_retired() {
  reclaim(retired_bytes_);
  Memory::give_back(Memory::bytes_to_go(), 1);
}

void BlobRef::retire(Header* blob) {
  const std::size_t bytes = sizeof(Header) + blob->bytes;
  retired_ = new (static_cast<void*>(blob)) Retired{retired_, bytes};
  retired_bytes_ += bytes;
}

// Frees so many bytes. What is left of the last blob stays by shrinking it, which gives its end
// back and moves nothing, as the pieces that malloc maps are cut where they stand.
void BlobRef::reclaim(std::size_t bytes) {
  while (retired_ != nullptr && bytes > 0) {
    const Retired retired = *retired_;
    const std::size_t freed = std::min(bytes, retired.bytes);
    void* rest = nullptr;
    if (retired.bytes - freed > kFreedAtOnceBytesMax) {
      rest = Memory::shrink(retired_, retired.bytes - freed);
    }
    if (rest != nullptr) {
      retired_ = new (rest) Retired{retired.next, retired.bytes - freed};
      retired_bytes_ -= freed;
      return;
    }
    Memory::free(retired_);
    retired_ = retired.next;
    retired_bytes_ -= retired.bytes;
    bytes -= freed;
  }
}

}  // namespace haricot
