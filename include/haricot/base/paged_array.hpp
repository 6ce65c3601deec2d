// An array that grows and shrinks at its end a page at a time.
//
// A std::vector moves everything when it doubles: at five million elements other clients notice the
// pause, and half of the vector is empty. Here a full array gains a page, and its elements do not
// move. An almost empty array takes a few elements only, so that a hundred thousand tubes can each
// have one. Empty pages are freed, except one, so that an array whose size changes around the
// border of a page does not allocate at every step.

#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "haricot/base/check.hpp"

namespace haricot {

template <typename T>
class PagedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  static constexpr std::uint32_t kPageElements = 512;

  PagedArray() = default;
  ~PagedArray() { clear(); }
  PagedArray(PagedArray&& other) noexcept
      : pages_(std::exchange(other.pages_, nullptr)),
        directory_size_(std::exchange(other.directory_size_, 0)),
        page_count_(std::exchange(other.page_count_, 0)),
        capacity_(std::exchange(other.capacity_, 0)),
        size_(std::exchange(other.size_, 0)) {}
  PagedArray(const PagedArray&) = delete;
  PagedArray& operator=(const PagedArray&) = delete;
  // Moves the content; the other array gets the content of this one.
  PagedArray& operator=(PagedArray&& other) noexcept {
    std::swap(pages_, other.pages_);
    std::swap(directory_size_, other.directory_size_);
    std::swap(page_count_, other.page_count_);
    std::swap(capacity_, other.capacity_);
    std::swap(size_, other.size_);
    return *this;
  }

  std::uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Number of elements that it can hold without more memory.
  std::uint32_t capacity() const { return capacity_; }

  // Requires: index < size().
  T& operator[](std::uint32_t index) {
    return pages_[index / kPageElements][index % kPageElements];
  }
  const T& operator[](std::uint32_t index) const {
    return pages_[index / kPageElements][index % kPageElements];
  }
  T& back() { return (*this)[size_ - 1]; }

  // Allocates room for one more element, so that the next push_back cannot fail. Returns false
  // without memory; then nothing has changed.
  [[nodiscard]] bool allocate_one() {
    if (size_ < capacity_) return true;
    return capacity_ < kPageElements ? grow_first_page() : add_page();
  }

  // Allocates room for that many elements in all. Returns false if there is not enough memory. The
  // room stays until pop_back(), which may release it; pop_back_keeping_memory() does not.
  [[nodiscard]] bool allocate(std::uint32_t elements) {
    while (capacity_ < elements) {
      if (!(capacity_ < kPageElements ? grow_first_page() : add_page())) return false;
    }
    return true;
  }

  // Requires: allocate_one() returned true since the last push_back.
  void push_back(const T& value) {
    CHECK(size_ < capacity_);
    pages_[size_ / kPageElements][size_ % kPageElements] = value;
    ++size_;
  }

  // Requires: not empty.
  void pop_back() {
    CHECK(size_ > 0);
    --size_;
    // One page beyond the one in use is kept, so this does not undo allocate_one().
    if (page_count_ > 1 && size_ + 2 * kPageElements <= capacity_) drop_last_page();
  }

  // Requires: not empty.
  void pop_back_keeping_memory() {
    CHECK(size_ > 0);
    --size_;
  }

  // Releases the memory of an empty array, unless it is very small. Undoes allocate_one().
  void trim_if_empty() {
    if (size_ == 0 && capacity_ > kElementsWhenEmpty) clear();
  }

  // Frees memory that is not needed for the elements and `more` others: at most a page per call,
  // which keeps up with elements that are removed one by one.
  void trim(std::uint32_t more) {
    if (size_ + more == 0) {
      trim_if_empty();
    } else if (page_count_ > 1 && size_ + more + 2 * kPageElements <= capacity_) {
      drop_last_page();
    }
  }

  void clear() {
    for (std::uint32_t i = 0; i < page_count_; ++i) delete[] pages_[i];
    delete[] pages_;
    pages_ = nullptr;
    directory_size_ = page_count_ = capacity_ = size_ = 0;
  }

 private:
  // Most arrays have one or two elements: the tubes that a client watches, the jobs that it holds.
  static constexpr std::uint32_t kFirstElements = 2;
  static constexpr std::uint32_t kElementsWhenEmpty = 4;  // Capacity of an empty array with memory.

  bool grow_first_page() {
    if (directory_size_ == 0 && !grow_directory()) return false;
    const std::uint32_t wanted = capacity_ == 0 ? kFirstElements : capacity_ * 2;
    T* page = new (std::nothrow) T[wanted];
    if (page == nullptr) return false;
    if (page_count_ == 1) {
      std::memcpy(static_cast<void*>(page), pages_[0], size_ * sizeof(T));
      delete[] pages_[0];
    }
    pages_[0] = page;
    page_count_ = 1;
    capacity_ = wanted;
    return true;
  }

  bool add_page() {
    if (page_count_ == directory_size_ && !grow_directory()) return false;
    T* page = new (std::nothrow) T[kPageElements];
    if (page == nullptr) return false;
    pages_[page_count_++] = page;
    capacity_ += kPageElements;
    return true;
  }

  // The directory doubles, unlike the pages, but it is small, with 8 bytes per page of 512
  // elements: 160 KB for 10 million elements.
  bool grow_directory() {
    const std::uint32_t wanted = directory_size_ == 0 ? 1 : directory_size_ * 2;
    T** directory = new (std::nothrow) T*[wanted];
    if (directory == nullptr) return false;
    if (page_count_ > 0) std::memcpy(directory, pages_, page_count_ * sizeof(T*));
    delete[] pages_;
    pages_ = directory;
    directory_size_ = wanted;
    return true;
  }

  void drop_last_page() {
    delete[] pages_[--page_count_];
    capacity_ -= kPageElements;
  }

  T** pages_ = nullptr;
  std::uint32_t directory_size_ = 0;
  std::uint32_t page_count_ = 0;
  std::uint32_t capacity_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace haricot
