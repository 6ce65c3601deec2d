#include "haricot/base/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace haricot {
namespace {

// The program has one memory, so tests restore their settings.
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

TEST_F(MemoryTest, ALargePieceThatIsFreeServesTheNextOne) {
  void* const piece = Memory::allocate(5'000'000);
  ASSERT_NE(piece, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece) % 16, 0U);
  Memory::free(piece);
  Memory::limit(1'000'000'000);
  void* const ballast = Memory::allocate(Memory::kOwnBytes);
  const std::size_t before = Memory::used_bytes();
  EXPECT_EQ(Memory::allocate(4'900'000), piece);
  EXPECT_GE(Memory::used_bytes(), before + 4'900'000);
  Memory::free(piece);
  EXPECT_EQ(Memory::used_bytes(), before) << "what is kept for later counts";
  Memory::free(ballast);
}

TEST_F(MemoryTest, AFreeLargePieceGoesBackOverManyCalls) {
  Memory::give_all_back();
  Memory::free(Memory::allocate(64'000'000));
  EXPECT_GE(Memory::kept_bytes(), 64'000'000U);
  EXPECT_EQ(Memory::bytes_to_go(), 0U);
  Memory::age();
  Memory::age();
  Memory::limit(1'000'000'000);
  int calls = 0;
  while (const std::size_t before = Memory::bytes_to_go()) {
    const std::size_t used = Memory::used_bytes();
    Memory::give_back(2'000'000, 16);
    const std::size_t gone = before - Memory::bytes_to_go();
    EXPECT_GE(gone, std::min<std::size_t>(before, 2'000'000));
    EXPECT_LE(gone, std::max<std::size_t>(2'000'000, before / 16) + Memory::kSlabBytesMax);
    EXPECT_LE(Memory::used_bytes(), used);
    ++calls;
  }
  EXPECT_GE(calls, 16);
  EXPECT_EQ(Memory::kept_bytes(), 0U);
}

TEST_F(MemoryTest, ReservedMemoryCausesNoRefusal) {
  Memory::give_all_back();
  (void)Memory::take_refusal();
  Memory::limit(20'000'000);
  const Memory::Bounded bounded;
  Memory::free(Memory::allocate(15'000'000));
  void* const piece = Memory::allocate(10'000'000);
  EXPECT_NE(piece, nullptr);
  EXPECT_FALSE(Memory::take_refusal());
  Memory::free(piece);
}

TEST_F(MemoryTest, PiecesOfOtherThreadsAreNotCounted) {
  Memory::limit(1'000'000'000);
  const std::size_t before = Memory::used_bytes();
  void* const piece = Memory::allocate_uncounted(10'000'000);
  ASSERT_NE(piece, nullptr);
  EXPECT_TRUE(Memory::is_uncounted(piece));
  EXPECT_EQ(Memory::used_bytes(), before);
  Memory::free_uncounted(piece);
  // The main thread frees memory of another thread like its own.
  Memory::free(Memory::allocate_uncounted(10'000'000));
  EXPECT_EQ(Memory::used_bytes(), before);
  void* const counted = Memory::allocate(100);
  EXPECT_FALSE(Memory::is_uncounted(counted));
  Memory::free(counted);
}

}  // namespace
}  // namespace haricot
