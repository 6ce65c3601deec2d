// Bytes that several owners hold and nobody copies: the bodies of large jobs.
//
// A blob is filled once, by the one who allocated it, and is read-only as soon as it is shared: a
// job and any number of answers that wait in front of slow clients may hold the same one. The count
// of its owners is not atomic; blobs stay in one thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string_view>
#include <utility>

namespace haricot {

class BlobRef {
 public:
  BlobRef() = default;
  ~BlobRef() { release(); }
  BlobRef(const BlobRef& other) : blob_(other.blob_) {
    if (blob_ != nullptr) ++blob_->owners;
  }
  BlobRef(BlobRef&& other) noexcept : blob_(std::exchange(other.blob_, nullptr)) {}
  BlobRef& operator=(BlobRef other) noexcept {
    std::swap(blob_, other.blob_);
    return *this;
  }

  // A blob of that size, its bytes undefined; null if there is no memory for it. The pages of a
  // large one take no memory until they are written.
  static BlobRef allocate(std::size_t bytes) {
    BlobRef ref;
    void* memory = std::malloc(sizeof(Header) + bytes);
    if (memory != nullptr) ref.blob_ = new (memory) Header{bytes, 1};
    return ref;
  }

  // For owners that keep a reference in raw memory: detach() gives the share up as a pointer that
  // adopt() later makes a reference again, and share() another one of.
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

  // Requires: not null, for all of these, which the analyzer cannot follow through a copy.
  // NOLINTBEGIN(clang-analyzer-core.NullDereference)
  // Valid as long as any owner exists.
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

  void release() {
    if (blob_ != nullptr && --blob_->owners == 0) std::free(blob_);
    blob_ = nullptr;
  }

  Header* blob_ = nullptr;
};

}  // namespace haricot
