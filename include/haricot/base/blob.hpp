// Bytes that several owners hold and nobody copies: the bodies of large jobs.
//
// A blob is filled once, by the one who allocated it, and is read-only as soon as it is shared: a
// job and any number of answers that wait in front of slow clients may hold the same one. The count
// of its owners is not atomic; blobs stay in one thread.
//
// Giving back the memory of a large one takes long: some 10 ms for 100 MB. So it is not freed with
// its last owner but retired, and reclaim_retired() frees what is retired a piece at a time. What
// is retired belongs to the process, as what malloc keeps does.
//
// Smaller ones, and all else that is kept for a while when it is free, are for Memory to give back:
// age() and reclaim_retired() have it do so.

#pragma once

#include <cstddef>
#include <cstdint>
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

  // Larger blobs are retired.
  static constexpr std::size_t kFreedAtOnceBytesMax = 192 * 1024;

  // A blob of that size, its bytes undefined; null if there is no memory for it. The pages of a
  // large one take no memory until they are written.
  static BlobRef allocate(std::size_t bytes);

  // Frees a piece of what is retired, or all of it if it is little. To be called again and again:
  // each time it frees a share of what there is, so that what is retired cannot pile up however
  // fast it comes.
  static void reclaim_retired();
  // Frees all of it, for those who hold up nobody.
  static void reclaim_all_retired();
  static std::size_t retired_bytes() { return retired_bytes_ + Memory::bytes_to_go(); }
  // Retires what Memory has kept and was not needed since the last call. To be called
  // about once a second, as long as there is something: kept_bytes().
  static void age() { Memory::age(); }
  static std::size_t kept_bytes() { return Memory::kept_bytes(); }

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

  // What becomes of a blob's memory until it is freed.
  struct Retired {
    Retired* next;
    std::size_t bytes;  // Of the memory that is left.
  };

  // Most are null, as most bodies are small: no call for those.
  [[gnu::noinline]] static void release(Header* blob) {
    if (--blob->owners == 0) free_or_retire(blob);
  }
  static void free_or_retire(Header* blob) {
    if (blob->bytes <= kFreedAtOnceBytesMax) {
      Memory::free(blob);
    } else {
      retire(blob);
    }
  }
  static void retire(Header* blob);
  static void reclaim(std::size_t bytes);

  static Retired* retired_;  // The last one first.
  static std::size_t retired_bytes_;

  Header* blob_ = nullptr;
};

}  // namespace haricot
