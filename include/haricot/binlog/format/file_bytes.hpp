// Buffer for the bytes of a whole file. The next file reuses the memory, because the kernel zeroes
// and maps new memory first, which takes as long as reading.

#pragma once

#include <cstddef>
#include <string_view>

#include "haricot/base/blob.hpp"

namespace haricot::binlog {

class FileBytes {
 public:
  // Makes room for that many bytes, which are undefined; views of earlier bytes become invalid.
  // Returns false if there is no memory; then the buffer is empty.
  [[nodiscard]] bool resize(std::size_t bytes) {
    size_ = 0;
    if (!memory_ || memory_.size() < bytes) {
      memory_ = {};
      memory_ = BlobRef::allocate(bytes);
      if (!memory_) return false;
      is_new_ = true;
    } else {
      is_new_ = false;
    }
    size_ = bytes;
    return true;
  }
  // Returns true if the last resize() allocated new memory.
  bool is_new() const { return is_new_; }

  // Requires: resize() returned true.
  char* data() { return memory_.data(); }
  std::size_t size() const { return size_; }
  std::string_view view() const {
    return size_ == 0 ? std::string_view() : memory_.view().substr(0, size_);
  }

 private:
  BlobRef memory_;
  std::size_t size_ = 0;
  bool is_new_ = false;
};

}  // namespace haricot::binlog
