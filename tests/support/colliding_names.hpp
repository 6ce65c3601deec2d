// Names of tubes with the same hash under std::hash of libstdc++, which has no key: input of a
// client that attacks a server's hash tables.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::test {

// Makes names of 32 bytes, at most 32,400. std::hash of libstdc++ (with a std::size_t of 64 bits)
// is MurmurHash64A: it mixes each eight bytes by invertible steps, and combines them with its state
// by xor and a multiplication. So for any first eight bytes there are second ones that lead to a
// chosen state; one in some fifty thousand consists of letters and the like. A name is two such
// pairs in sequence.
class CollidingNames {
 public:
  static std::vector<std::string> make(std::size_t count) {
    CollidingNames maker;
    std::size_t side = 1;
    while (side * side < count) ++side;
    const std::uint64_t begin = kSeed ^ (32 * kFactor);
    const std::vector<std::string> heads = maker.pairs(begin, side);
    const std::vector<std::string> tails = maker.pairs(kTarget, side);
    std::vector<std::string> names;
    for (const std::string& head : heads) {
      for (const std::string& tail : tails) {
        if (names.size() < count) names.push_back(head + tail);
      }
    }
    return names;
  }

 private:
  static constexpr std::uint64_t kFactor = 0xc6a4a7935bd1e995;
  static constexpr std::uint64_t kInverse = 0x5f7a0ea7e59b19bd;  // kFactor * kInverse == 1.
  static constexpr std::uint64_t kSeed = 0xc70f6907;
  static constexpr std::uint64_t kTarget = 0x0123456789abcdef;  // The state after each pair.
  static_assert(kFactor * kInverse == 1);

  static std::uint64_t mix(std::uint64_t word) {
    word *= kFactor;
    return (word ^ (word >> 47)) * kFactor;
  }
  static std::uint64_t unmix(std::uint64_t word) {
    word *= kInverse;
    return (word ^ (word >> 47)) * kInverse;
  }

  static bool is_name(std::uint64_t word) {
    for (int i = 0; i < 8; ++i) {
      const auto byte = static_cast<char>(word >> (8 * i));
      const bool allowed = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                           (byte >= '0' && byte <= '9') ||
                           std::string_view("+/;.$_()").find(byte) != std::string_view::npos;
      if (!allowed) return false;
    }
    return true;
  }

  static std::string text(std::uint64_t word) {
    std::string bytes(sizeof word, '\0');
    std::memcpy(bytes.data(), &word, sizeof word);
    return bytes;
  }

  // Returns texts of 16 bytes that lead from the state `begin` to kTarget.
  std::vector<std::string> pairs(std::uint64_t begin, std::size_t count) {
    std::vector<std::string> found;
    while (found.size() < count) {
      const std::uint64_t first = next_word();
      const std::uint64_t between = (begin ^ mix(first)) * kFactor;
      const std::uint64_t second = unmix((kTarget * kInverse) ^ between);
      if (is_name(second)) found.push_back(text(first) + text(second));
    }
    return found;
  }

  // Returns eight letters, different ones at each call.
  std::uint64_t next_word() {
    std::uint64_t number = count_++;
    std::uint64_t word = 0;
    for (int i = 0; i < 8; ++i, number >>= 4) word |= std::uint64_t{'a' + (number & 15)} << (8 * i);
    return word;
  }

  std::uint64_t count_ = 0;
};

}  // namespace haricot::test
