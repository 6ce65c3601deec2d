// A buffer of bytes that are appended at its end and consumed from its front.
//
// After release_if_empty(), an empty buffer takes only the 24 bytes of the object: each of ten
// thousand idle connections has two buffers. Growing fails without memory, or beyond 4 GiB; a
// failed call changes nothing.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/memory.hpp"

namespace haricot {

class ByteBuffer {
 public:
  ByteBuffer() = default;
  ~ByteBuffer() { Memory::free(memory_); }
  ByteBuffer(const ByteBuffer&) = delete;
  ByteBuffer& operator=(const ByteBuffer&) = delete;

  bool empty() const { return begin_ == end_; }
  std::size_t size() const { return end_ - begin_; }
  // Returns the number of allocated bytes.
  std::size_t memory_bytes() const { return capacity_; }
  // Returns the bytes in the buffer; valid until it changes.
  std::string_view view() const { return {memory_ + begin_, end_ - begin_}; }

  // Allocates room for that many more bytes. Write them, then call commit(). Null: no memory.
  [[nodiscard]] char* prepare(std::size_t bytes) {
    if (capacity_ - end_ < bytes && !make_room(bytes)) return nullptr;
    return memory_ + end_;
  }
  // Requires: at most as many bytes as prepared.
  void commit(std::size_t bytes) {
    CHECK(bytes <= capacity_ - end_);
    end_ += static_cast<std::uint32_t>(bytes);
  }

  [[nodiscard]] bool append(std::string_view bytes) {
    char* to = prepare(bytes.size());
    if (to == nullptr) return false;
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    commit(bytes.size());
    return true;
  }

  // Requires: bytes <= size().
  void consume(std::size_t bytes) {
    CHECK(bytes <= size());
    begin_ += static_cast<std::uint32_t>(bytes);
    if (begin_ == end_) begin_ = end_ = 0;
  }

  // Keeps only the first bytes. Requires: bytes <= size().
  void shorten(std::size_t bytes) {
    CHECK(bytes <= size());
    end_ = begin_ + static_cast<std::uint32_t>(bytes);
    if (begin_ == end_) begin_ = end_ = 0;
  }

  void release_if_empty() {
    if (!empty() || memory_ == nullptr) return;
    Memory::free(memory_);
    memory_ = nullptr;
    capacity_ = 0;
  }
  // Releases the memory of an empty buffer, or moves it to `spare` if `spare` has none and the
  // memory has the smallest size. Requires: `spare` is empty.
  void release_if_empty(ByteBuffer& spare) {
    if (empty() && capacity_ == kFirstBytes) take_or_give(spare);
    release_if_empty();
  }
  // Takes the memory of `spare` if this buffer has none. Requires: `spare` is empty.
  void take_memory(ByteBuffer& spare) {
    if (memory_ == nullptr) take_or_give(spare);
  }

 private:
  static constexpr std::size_t kFirstBytes = 512;
  static constexpr std::size_t kBytesMax = std::numeric_limits<std::uint32_t>::max();

  // Exchanges two empty buffers, of which at most one has memory.
  void take_or_give(ByteBuffer& other) {
    if (memory_ != nullptr && other.memory_ != nullptr) return;
    std::swap(memory_, other.memory_);
    std::swap(capacity_, other.capacity_);
  }

  [[gnu::noinline]] bool make_room(std::size_t bytes) {
    const std::uint32_t kept = end_ - begin_;
    // Moves the content to the front instead of growing if that frees at least as many bytes as it
    // moves.
    if (begin_ >= kept && capacity_ - kept >= bytes && memory_ != nullptr) {
      std::memmove(memory_, memory_ + begin_, kept);
      begin_ = 0;
      end_ = kept;
      return true;
    }
    if (bytes > kBytesMax - kept) return false;
    std::size_t wanted = capacity_ == 0 ? kFirstBytes : std::size_t{capacity_} * 2;
    while (wanted < kept + bytes) wanted *= 2;
    wanted = std::min(wanted, kBytesMax);
    char* memory = static_cast<char*>(Memory::allocate(wanted));
    if (memory == nullptr) return false;
    if (memory_ != nullptr) std::memcpy(memory, memory_ + begin_, kept);
    Memory::free(memory_);
    memory_ = memory;
    capacity_ = static_cast<std::uint32_t>(wanted);
    begin_ = 0;
    end_ = kept;
    return true;
  }

  char* memory_ = nullptr;
  std::uint32_t capacity_ = 0;
  std::uint32_t begin_ = 0;
  std::uint32_t end_ = 0;
};

}  // namespace haricot
