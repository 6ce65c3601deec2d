// Reference-counted bytes that are never copied: the bodies of large jobs.
//
// The owner that allocated a blob fills it once. It is read-only as soon as it is shared: a job and
// any number of answers to slow clients may share one. The count is not atomic; blobs stay in one
// thread.
//
// A large blob is freed in O(1): Memory returns it to the system over some turns.

#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <utility>

#include "haricot/base/memory.hpp"

namespace haricot {

class BlobRef {
 public:
  BlobRef() = default;
  ~BlobRef() {
    if (blob_ != nullptr) [[unlikely]]
      release(blob_);
  }
  BlobRef(const BlobRef& other) : blob_(other.blob_) {
    if (blob_ != nullptr) ++blob_->owners;
  }
  BlobRef(BlobRef&& other) noexcept : blob_(std::exchange(other.blob_, nullptr)) {}
  BlobRef& operator=(BlobRef other) noexcept {
    std::swap(blob_, other.blob_);
    return *this;
  }

  // Returns a blob of that size with undefined bytes; null if there is no memory. The pages of a
  // large blob take no memory until they are written.
  static BlobRef allocate(std::size_t bytes) {
    BlobRef ref;
    void* const memory = Memory::allocate(sizeof(Header) + bytes);
    if (memory != nullptr) ref.blob_ = new (memory) Header{bytes, 1};
    return ref;
  }

  // For owners that store a reference in raw memory: detach() turns it into a pointer, adopt()
  // makes it a reference again, and share() makes another reference.
  void* detach() { return std::exchange(blob_, nullptr); }
  static BlobRef adopt(void* detached) {
    BlobRef ref;
    ref.blob_ = static_cast<Header*>(detached);
    return ref;
  }
  static BlobRef share(void* detached) {
    BlobRef ref = adopt(detached);
    ++ref.blob_->owners;
    return ref;
  }

  explicit operator bool() const { return blob_ != nullptr; }

  // Requires: not null. The analyzer cannot follow that through a copy.
  // NOLINTBEGIN(clang-analyzer-core.NullDereference)
  // Valid while any owner exists.
  char* data() { return reinterpret_cast<char*>(blob_ + 1); }
  std::size_t size() const { return blob_->bytes; }
  std::string_view view() const { return {reinterpret_cast<const char*>(blob_ + 1), blob_->bytes}; }
  std::uint64_t owners() const { return blob_->owners; }
  // NOLINTEND(clang-analyzer-core.NullDereference)

 private:
  struct Header {
    std::size_t bytes;
    std::uint64_t owners;
  };

  // Not inlined: most references are null, because most bodies are small.
  [[gnu::noinline]] static void release(Header* blob) {
    if (--blob->owners == 0) Memory::free(blob);
  }

  Header* blob_ = nullptr;
};

}  // namespace haricot
