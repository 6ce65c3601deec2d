// A buffer of bytes that are appended at its end and taken from its front.
//
// An empty buffer holds no memory once release_if_empty() was called: ten thousand idle connections
// have two of these each. Growing can fail; a failed call changes nothing.

#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "haricot/base/check.hpp"

namespace haricot {

class ByteBuffer {
 public:
  ByteBuffer() = default;
  ~ByteBuffer() { std::free(memory_); }
  ByteBuffer(const ByteBuffer&) = delete;
  ByteBuffer& operator=(const ByteBuffer&) = delete;

  bool empty() const { return begin_ == end_; }
  std::size_t size() const { return end_ - begin_; }
  // The bytes held; valid until the buffer changes.
  std::string_view view() const { return {memory_ + begin_, end_ - begin_}; }

  // Room for that many more bytes, to be written and then told to commit(). Null: no memory.
  [[nodiscard]] char* prepare(std::size_t bytes) {
    if (capacity_ - end_ < bytes && !make_room(bytes)) return nullptr;
    return memory_ + end_;
  }
  // Requires: at most as many bytes as prepared.
  void commit(std::size_t bytes) {
    CHECK(bytes <= capacity_ - end_);
    end_ += bytes;
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
    begin_ += bytes;
    if (begin_ == end_) begin_ = end_ = 0;
  }

  // Drops what is behind the first so many bytes. Requires: bytes <= size().
  void shorten(std::size_t bytes) {
    CHECK(bytes <= size());
    end_ = begin_ + bytes;
    if (begin_ == end_) begin_ = end_ = 0;
  }

  void release_if_empty() {
    if (!empty() || memory_ == nullptr) return;
    std::free(memory_);
    memory_ = nullptr;
    capacity_ = 0;
  }

 private:
  static constexpr std::size_t kFirstBytes = 512;

  bool make_room(std::size_t bytes) {
    // Moving what is left to the front is enough if that frees as much as it moves.
    if (begin_ >= size() && capacity_ - size() >= bytes && memory_ != nullptr) {
      std::memmove(memory_, memory_ + begin_, size());
      end_ = size();
      begin_ = 0;
      return true;
    }
    std::size_t wanted = capacity_ == 0 ? kFirstBytes : capacity_ * 2;
    while (wanted < size() + bytes) wanted *= 2;
    char* memory = static_cast<char*>(std::malloc(wanted));
    if (memory == nullptr) return false;
    if (memory_ != nullptr) std::memcpy(memory, memory_ + begin_, size());
    std::free(memory_);
    memory_ = memory;
    capacity_ = wanted;
    end_ = size();
    begin_ = 0;
    return true;
  }

  char* memory_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace haricot
