#include "haricot/base/memory.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace haricot {
namespace {

// The program has one memory, so what a test sets is taken back.
class MemoryTest : public testing::Test {
 protected:
  ~MemoryTest() override { Memory::limit(SIZE_MAX); }
};

TEST_F(MemoryTest, HasNothingToCountWithoutALimit) {
  void* const piece = Memory::allocate(10'000'000);
  ASSERT_NE(piece, nullptr);
  EXPECT_EQ(Memory::used_bytes(), 0U);
  Memory::limit(1'000'000'000);
  EXPECT_GE(Memory::used_bytes(), 10'000'000 - Memory::kOwnBytes);
  Memory::free(piece);
  Memory::free(nullptr);
}

TEST_F(MemoryTest, TheLimitHoldsForThoseWithinBounds) {
  Memory::limit(1'000'000);
  constexpr std::size_t kMore = Memory::kOwnBytes + 1'000'000;
  {
    const Memory::Bounded bounded;
    EXPECT_EQ(Memory::allocate(kMore), nullptr);
  }
  EXPECT_TRUE(Memory::take_refusal());
  EXPECT_FALSE(Memory::take_refusal());
  void* const piece = Memory::allocate(kMore);
  EXPECT_NE(piece, nullptr);
  EXPECT_FALSE(Memory::take_refusal());
  const Memory::Bounded bounded;
  EXPECT_EQ(Memory::allocate(100), nullptr) << "nor anything else meanwhile";
  Memory::free(piece);
}

TEST_F(MemoryTest, AShareBeyondTheLimitMayBeAllowed) {
  Memory::limit(16'000'000);
  constexpr std::size_t kMore = Memory::kOwnBytes + 16'500'000;
  {
    const Memory::Bounded bounded;
    EXPECT_EQ(Memory::allocate(kMore), nullptr);
  }
  const Memory::Bounded bounded(16);
  void* const piece = Memory::allocate(kMore);
  EXPECT_NE(piece, nullptr);
  Memory::free(piece);
}

TEST_F(MemoryTest, APieceKeepsItsBytesWhenItShrinks) {
  auto* const piece = static_cast<char*>(Memory::allocate(5'000'000));
  ASSERT_NE(piece, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece) % 16, 0U);
  std::memset(piece, 7, 5'000'000);
  Memory::limit(1'000'000'000);
  auto* const rest = static_cast<char*>(Memory::shrink(piece, 4'800'000));
  ASSERT_NE(rest, nullptr);
  EXPECT_EQ(rest[4'799'999], 7);
  EXPECT_LT(Memory::used_bytes(), 5'000'000 - Memory::kOwnBytes);
  Memory::free(rest);
}

TEST_F(MemoryTest, PiecesOfOtherThreadsAreNotCounted) {
  Memory::limit(1'000'000'000);
  const std::size_t before = Memory::used_bytes();
  void* const piece = Memory::allocate_uncounted(10'000'000);
  ASSERT_NE(piece, nullptr);
  EXPECT_TRUE(Memory::is_uncounted(piece));
  EXPECT_EQ(Memory::used_bytes(), before);
  Memory::free_uncounted(piece);
  void* const counted = Memory::allocate(100);
  EXPECT_FALSE(Memory::is_uncounted(counted));
  Memory::free(counted);
}

}  // namespace
}  // namespace haricot
