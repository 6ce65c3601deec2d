// The bytes of a whole file. The next file is read into the same memory, because the kernel has to
// zero and map new memory first, and this takes as long as reading.

#pragma once

#include <cstddef>
#include <string_view>

#include "haricot/base/blob.hpp"

namespace haricot::binlog {

class FileBytes {
 public:
  // Makes room for so many bytes, which are undefined then; views of earlier ones end. False: no
  // memory, and there are none.
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
  // Whether the last resize() took new memory.
  bool is_new() const { return is_new_; }

  // Requires: resize() was true.
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
