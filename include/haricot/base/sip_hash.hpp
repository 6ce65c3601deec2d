// SipHash, a keyed hash. Without the key it is infeasible to choose texts whose hashes collide.
//
// It hashes texts that clients choose (names of tubes). The key is an argument: the daemon takes
// one from the kernel at each start, and a test takes any.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "haricot/base/little_endian.hpp"

namespace haricot {

// A key of 128 bits. A server chooses it at random, because clients choose the hashed texts.
struct HashKey {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

// `kRounds` for every eight bytes, and `kLastRounds` at the end.
template <int kRounds, int kLastRounds>
class SipHash {
 public:
  static std::uint64_t of(const HashKey& key, std::string_view text) {
    SipHash state(key);
    const char* at = text.data();
    std::size_t left = text.size();
    for (; left >= sizeof(std::uint64_t); left -= sizeof(std::uint64_t)) {
      state.take(load_little_endian<std::uint64_t>(at));
      at += sizeof(std::uint64_t);
    }
    // The last word: the rest of the text, and the low byte of its length on top.
    std::uint64_t last = std::uint64_t{text.size()} << 56;
    if (left > 0 && text.size() >= sizeof last) {
      // Loads bytes of the word before too, and shifts them out.
      last |= load_little_endian<std::uint64_t>(at + left - sizeof last) >> (64 - 8 * left);
    } else {
      for (std::size_t i = 0; i < left; ++i) {
        last |= std::uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
      }
    }
    state.take(last);
    return state.finish();
  }

 private:
  // The words spell "somepseudorandomlygeneratedbytes".
  explicit SipHash(const HashKey& key)
      : a_(key.first ^ 0x736f6d6570736575),
        b_(key.second ^ 0x646f72616e646f6d),
        c_(key.first ^ 0x6c7967656e657261),
        d_(key.second ^ 0x7465646279746573) {}

  void take(std::uint64_t word) {
    d_ ^= word;
    for (int i = 0; i < kRounds; ++i) mix();
    a_ ^= word;
  }

  std::uint64_t finish() {
    c_ ^= 0xff;
#pragma GCC unroll 4
    for (int i = 0; i < kLastRounds; ++i) mix();
    return a_ ^ b_ ^ c_ ^ d_;
  }

  void mix() {
    a_ += b_;
    c_ += d_;
    b_ = std::rotl(b_, 13) ^ a_;
    d_ = std::rotl(d_, 16) ^ c_;
    a_ = std::rotl(a_, 32);
    c_ += b_;
    a_ += d_;
    b_ = std::rotl(b_, 17) ^ c_;
    d_ = std::rotl(d_, 21) ^ a_;
    c_ = std::rotl(c_, 32);
  }

  std::uint64_t a_, b_, c_, d_;
};

// Hash for tables: 1 and 3 rounds suffice if the hashes stay secret.
inline std::uint64_t hash_of(const HashKey& key, std::string_view text) {
  return SipHash<1, 3>::of(key, text);
}

// Combines the hash of a key with that of its place, or with a number of it; not symmetric. Equal
// keys in two places have related hashes, but clients cannot predict either.
constexpr std::uint64_t hash_in(std::uint64_t place, std::uint64_t key_hash) {
  return key_hash ^ place * 0x9e37'79b9'7f4a'7c15;
}

}  // namespace haricot
