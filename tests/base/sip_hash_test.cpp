#include "haricot/base/sip_hash.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

namespace haricot {
namespace {

// The key of the published vectors is the bytes 0, 1, 2 and so on, and so are their texts.
constexpr HashKey kPublishedKey{0x0706050403020100, 0x0f0e0d0c0b0a0908};

std::string counting_bytes(std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(i);
  return text;
}

TEST(SipHash, OfTwoAndFourRoundsMatchesTheReference) {
  const auto hash = [](std::size_t bytes) {
    return SipHash<2, 4>::of(kPublishedKey, counting_bytes(bytes));
  };
  EXPECT_EQ(hash(0), 0x726fdb47dd0e0e31U);
  EXPECT_EQ(hash(1), 0x74f839c593dc67fdU);
  EXPECT_EQ(hash(2), 0x0d6c8009d9a94f5aU);
  EXPECT_EQ(hash(7), 0xab0200f58b01d137U);
  EXPECT_EQ(hash(8), 0x93f5f5799a932462U);
  EXPECT_EQ(hash(15), 0xa129ca6149be45e5U);
}

TEST(SipHash, OfOneAndThreeRoundsMatchesOtherImplementations) {
  EXPECT_EQ((SipHash<1, 3>::of(kPublishedKey, "")), 0xabac0158050fc4dcU);
  // Results of Python 3.11 with PYTHONHASHSEED=0, which is a key of zeros.
  const HashKey zeros;
  EXPECT_EQ(hash_of(zeros, "a"), 0x407448d2b89b1813U);
  EXPECT_EQ(hash_of(zeros, "abcdefg"), 0x6db12aae9070f506U);
  EXPECT_EQ(hash_of(zeros, "abcdefgh"), 0x3f7b849c0b8e35eaU);
  EXPECT_EQ(hash_of(zeros, "the name of a tube"), 0x8bdc476f6f71ebd0U);
}

TEST(SipHash, EachHalfOfTheKeyChangesEveryHash) {
  std::set<std::uint64_t> hashes;
  std::size_t wanted = 0;
  for (const HashKey key : {HashKey{0, 0}, HashKey{1, 0}, HashKey{0, 1}, HashKey{1, 1}}) {
    for (std::size_t bytes = 0; bytes <= 40; ++bytes) {
      hashes.insert(hash_of(key, counting_bytes(bytes)));
      ++wanted;
    }
  }
  EXPECT_EQ(hashes.size(), wanted);
}

}  // namespace
}  // namespace haricot
