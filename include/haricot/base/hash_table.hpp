// A hash table of elements that carry their own links. It grows and shrinks one bucket at a time
// (linear hashing): an insertion moves the elements of at most one bucket, and a removal those of
// at most two, however many there are.
//
//   struct Entry { std::uint64_t hash; Entry* next_in_bucket; };
//   HashTable<Entry> table;
//
// With n buckets and 2^k <= n < 2^(k+1), an element is in bucket hash mod 2^(k+1) if that bucket
// exists, else in bucket hash mod 2^k. So adding bucket n splits bucket n - 2^k, and removing it
// merges the two.
//
// The table owns nothing. It allocates memory for its buckets only; without memory it works with
// longer chains.

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

  // Returns the first element of that hash for which matches(element) is true; null if none.
  template <typename Matches>
  T* find(std::uint64_t hash, Matches matches) const {
    if (buckets_.empty()) return nullptr;
    for (T* element = buckets_[bucket_of(hash)]; element != nullptr;
         element = element->next_in_bucket) {
      if (element->hash == hash && matches(*element)) return element;
    }
    return nullptr;
  }

  // Returns the first element in hash order for which is_after(element) is true; null if none. Hash
  // order compares the hashes with their bits reversed, so it does not change when the table grows
  // or shrinks; `precedes(a, b)` orders elements of equal hashes. Requires: in hash order, is_after
  // is first false and then true, and it is false for all elements before `hash`.
  template <typename IsAfter, typename Precedes>
  T* first_from(std::uint64_t hash, IsAfter is_after, Precedes precedes) const {
    if (buckets_.empty()) return nullptr;
    for (std::uint64_t at = mirrored(hash);;) {
      const std::uint32_t bucket = bucket_of(mirrored(at));
      T* first = nullptr;
      for (T* element = buckets_[bucket]; element != nullptr; element = element->next_in_bucket) {
        if (!is_after(*element)) continue;
        if (first == nullptr || comes_before(*element, *first, precedes)) first = element;
      }
      if (first != nullptr) return first;
      // Elements of a bucket have its lowest bits in common.
      const std::uint32_t bits = common_bits(bucket);
      if (bits == 0) return nullptr;
      const std::uint64_t stride = std::uint64_t{1} << (64 - bits);
      at = (at & ~(stride - 1)) + stride;
      if (at == 0) return nullptr;
    }
  }
  // Returns true if hash `a` comes before hash `b` in hash order.
  static bool hash_precedes(std::uint64_t a, std::uint64_t b) { return mirrored(a) < mirrored(b); }

  // Returns false if there is no memory for the first bucket; then nothing has changed.
  [[nodiscard]] bool insert(T& element) {
    if (size_ >= buckets_.size() && !add_bucket() && buckets_.empty()) return false;
    T*& bucket = buckets_[bucket_of(element.hash)];
    element.next_in_bucket = bucket;
    bucket = &element;
    ++size_;
    return true;
  }

  // Empties the table: passes each element to dispose(T*), which may delete it.
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
    wide_mask_ = 0;
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
    if (!has_too_many_buckets()) return;
    // Removes up to two: one bucket per erasure could not keep up with a table that is emptied.
    remove_bucket();
    if (has_too_many_buckets()) remove_bucket();
  }

 private:
  // Number of buckets that are never removed, so that a small table does not shrink and grow again
  // with each batch of elements.
  static constexpr std::uint32_t kBucketsKept = 64;

  bool has_too_many_buckets() const {
    return size_ < buckets_.size() / 2 && buckets_.size() > kBucketsKept;
  }

  std::uint32_t bucket_of(std::uint64_t hash) const {
    const std::uint32_t wide = static_cast<std::uint32_t>(hash) & wide_mask_;
    return wide < buckets_.size() ? wide : wide & (wide_mask_ >> 1);
  }

  template <typename Precedes>
  static bool comes_before(const T& a, const T& b, Precedes& precedes) {
    return a.hash != b.hash ? hash_precedes(a.hash, b.hash) : precedes(a, b);
  }

  static std::uint64_t mirrored(std::uint64_t bits) {
    constexpr std::uint64_t kOdd = 0x5555555555555555;
    constexpr std::uint64_t kOddPairs = 0x3333333333333333;
    constexpr std::uint64_t kOddFours = 0x0F0F0F0F0F0F0F0F;
    bits = (bits >> 1 & kOdd) | (bits & kOdd) << 1;
    bits = (bits >> 2 & kOddPairs) | (bits & kOddPairs) << 2;
    bits = (bits >> 4 & kOddFours) | (bits & kOddFours) << 4;
    return __builtin_bswap64(bits);
  }

  std::uint32_t common_bits(std::uint32_t bucket) const {
    const std::uint32_t buckets = buckets_.size();
    const std::uint32_t half = std::bit_floor(buckets);
    const bool is_split = (bucket & (half - 1)) + half < buckets;
    return static_cast<std::uint32_t>(std::countr_zero(half)) + (is_split ? 1 : 0);
  }

  // Not inlined: most insertions and removals neither add nor remove a bucket.
  [[gnu::noinline]] bool add_bucket() {
    if (!buckets_.allocate_one()) return false;
    buckets_.push_back(nullptr);
    if (buckets_.size() > wide_mask_) wide_mask_ = 2 * wide_mask_ + 1;
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

  [[gnu::noinline]] void remove_bucket() {
    const std::uint32_t last = buckets_.size() - 1;
    T* chain = buckets_[last];
    buckets_.pop_back();
    if (buckets_.size() <= wide_mask_ >> 1) wide_mask_ >>= 1;
    T** to = &buckets_[last - std::bit_floor(last)];
    while (*to != nullptr) to = &(*to)->next_in_bucket;
    *to = chain;
  }

  PagedArray<T*> buckets_;
  std::uint32_t size_ = 0;
  std::uint32_t wide_mask_ = 0;  // 2^(k+1) - 1, with k as above; 0: no buckets.
};

}  // namespace haricot
