// A hash table of elements that carry their own links, which grows and shrinks one bucket at a time
// (linear hashing): no insertion ever moves more than one bucket's elements, however many there
// are.
//
//   struct Entry { std::uint64_t hash; Entry* next_in_bucket; };
//   HashTable<Entry> table;
//
// With n buckets and 2^k <= n < 2^(k+1), an element is in bucket hash mod 2^(k+1) if there is one,
// else in bucket hash mod 2^k. Adding bucket n therefore splits bucket n - 2^k, and removing it
// merges the two.
//
// The table owns nothing. It needs memory for its buckets only; where that is refused, it goes on
// working with longer chains.

#pragma once

#include <bit>
#include <cstdint>

#include "haricot/base/check.hpp"
#include "haricot/base/paged_array.hpp"

namespace haricot {

template <typename T>
class HashTable {
 public:
  std::uint32_t size() const { return size_; }

  // The first element of that hash for which matches(element) is true; null if there is none.
  template <typename Matches>
  T* find(std::uint64_t hash, Matches matches) const {
    if (buckets_.empty()) return nullptr;
    for (T* element = buckets_[bucket_of(hash)]; element != nullptr;
         element = element->next_in_bucket) {
      if (element->hash == hash && matches(*element)) return element;
    }
    return nullptr;
  }

  // False: there is no memory for the first bucket, and nothing has changed.
  [[nodiscard]] bool insert(T& element) {
    if (size_ >= buckets_.size() && !add_bucket() && buckets_.empty()) return false;
    T*& bucket = buckets_[bucket_of(element.hash)];
    element.next_in_bucket = bucket;
    bucket = &element;
    ++size_;
    return true;
  }

  // Empties the table: each element is handed to dispose(T*), which may delete it.
  template <typename Dispose>
  void clear(Dispose dispose) {
    for (std::uint32_t i = 0; i < buckets_.size(); ++i) {
      for (T* element = buckets_[i]; element != nullptr;) {
        T* const next = element->next_in_bucket;
        dispose(element);
        element = next;
      }
    }
    buckets_.clear();
    size_ = 0;
  }

  // Requires: the element is in the table.
  void erase(T& element) {
    T** link = &buckets_[bucket_of(element.hash)];
    while (*link != &element) {
      CHECK(*link != nullptr);
      link = &(*link)->next_in_bucket;
    }
    *link = element.next_in_bucket;
    element.next_in_bucket = nullptr;
    --size_;
    if (size_ < buckets_.size() / 2 && buckets_.size() > 1) remove_bucket();
  }

 private:
  std::uint32_t bucket_of(std::uint64_t hash) const {
    const std::uint32_t buckets = buckets_.size();
    const std::uint32_t half = std::bit_floor(buckets);
    const auto wide = static_cast<std::uint32_t>(hash & (2 * std::uint64_t{half} - 1));
    return wide < buckets ? wide : wide - half;
  }

  bool add_bucket() {
    if (!buckets_.reserve_one()) return false;
    buckets_.push_back(nullptr);
    const std::uint32_t added = buckets_.size() - 1;
    if (added == 0) return true;
    T** from = &buckets_[added - std::bit_floor(added)];
    T** to = &buckets_[added];
    while (*from != nullptr) {
      if (bucket_of((*from)->hash) != added) {
        from = &(*from)->next_in_bucket;
        continue;
      }
      T* moved = *from;
      *from = moved->next_in_bucket;
      moved->next_in_bucket = nullptr;
      *to = moved;
      to = &moved->next_in_bucket;
    }
    return true;
  }

  void remove_bucket() {
    const std::uint32_t last = buckets_.size() - 1;
    T* chain = buckets_[last];
    buckets_.pop_back();
    T** to = &buckets_[last - std::bit_floor(last)];
    while (*to != nullptr) to = &(*to)->next_in_bucket;
    *to = chain;
  }

  PagedArray<T*> buckets_;
  std::uint32_t size_ = 0;
};

}  // namespace haricot
