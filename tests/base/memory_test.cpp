#include "haricot/base/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "support/allocations.hpp"

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

void give_all_back(Slabs& slabs) {
  slabs.age();
  slabs.age();
  while (slabs.bytes_to_go() > 0) slabs.give_back(1);
}

TEST(Slabs, TakeSizesUpToTheirBoundAndWasteAtMostAnEighth) {
  EXPECT_FALSE(Slabs::takes(Slabs::kBytesMax + 1));
  std::size_t before = 0;
  for (std::size_t bytes = 0; bytes <= Slabs::kBytesMax; ++bytes) {
    ASSERT_TRUE(Slabs::takes(bytes));
    const std::size_t taken = Slabs::piece_bytes(bytes);
    const std::size_t wanted = bytes + Slabs::kPrefixBytes;
    ASSERT_GE(taken, wanted);
    ASSERT_LE(taken - wanted, std::max<std::size_t>(15, wanted / 8));
    ASSERT_GE(taken, before);
    before = taken;
  }
}

TEST(Slabs, PiecesAreApartAndKeepTheirBytes) {
  Slabs slabs;
  std::mt19937_64 random{3};
  std::map<char*, std::pair<std::size_t, char>> pieces;
  for (int i = 0; i < 3000; ++i) {
    if (pieces.empty() || random() % 5 < 3) {
      const std::size_t bytes = random() % (random() % 2 == 0 ? 600 : Slabs::kBytesMax + 1);
      auto* const piece = static_cast<char*>(slabs.allocate(bytes));
      ASSERT_NE(piece, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece) % 16, 0U);
      const char mark = static_cast<char>(i);
      std::memset(piece, mark, bytes);
      ASSERT_TRUE(pieces.emplace(piece, std::pair(bytes, mark)).second);
      if (pieces.size() < 200) continue;
    }
    auto chosen = pieces.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(random() % pieces.size()));
    const auto [bytes, mark] = chosen->second;
    ASSERT_EQ(std::count(chosen->first, chosen->first + bytes, mark),
              static_cast<std::ptrdiff_t>(bytes));
    slabs.free(chosen->first);
    pieces.erase(chosen);
    if (i % 50 == 0) {
      slabs.age();
      slabs.give_back(1'000'000);
    }
  }
  for (const auto& [piece, facts] : pieces) slabs.free(piece);
  EXPECT_GT(slabs.empty_bytes(), 0U);
  give_all_back(slabs);
  EXPECT_EQ(slabs.empty_bytes(), 0U);
}

TEST(Slabs, SlabsOfFluctuatingUseAreKept) {
  Slabs slabs;
  void* const first = slabs.allocate(60'000);
  slabs.free(first);
  for (int i = 0; i < 10; ++i) {
    slabs.age();
    void* const again = slabs.allocate(60'000);
    EXPECT_EQ(again, first);
    slabs.free(again);
    EXPECT_EQ(slabs.bytes_to_go(), 0U);
  }
}

TEST(Slabs, AnUnusedSlabIsFreedAfterTwoPeriods) {
  Slabs slabs;
  std::vector<void*> pieces;
  for (int i = 0; i < 800; ++i) pieces.push_back(slabs.allocate(60'000));
  EXPECT_EQ(slabs.empty_bytes(), 0U);
  for (void* const piece : pieces) slabs.free(piece);
  const std::size_t all = slabs.empty_bytes();
  EXPECT_GE(all, 800U * 60'000);
  slabs.age();
  EXPECT_EQ(slabs.bytes_to_go(), 0U);
  // A part is needed meanwhile.
  void* const needed = slabs.allocate(60'000);
  slabs.free(needed);
  slabs.age();
  EXPECT_LT(slabs.bytes_to_go(), all);
  EXPECT_GT(slabs.bytes_to_go(), all - all / 50);
  slabs.give_back(1'000'000);
  EXPECT_LT(slabs.empty_bytes(), all);
  EXPECT_GT(slabs.empty_bytes(), all - 2'000'000);
  slabs.give_back(all);
  EXPECT_EQ(slabs.bytes_to_go(), 0U);
  EXPECT_GT(slabs.empty_bytes(), 0U);
}

TEST(Slabs, PiecesInUseKeepTheirSlabAlone) {
  Slabs slabs;
  std::vector<void*> pieces;
  for (int i = 0; i < 800; ++i) pieces.push_back(slabs.allocate(60'000));
  for (std::size_t i = 1; i < pieces.size(); ++i) slabs.free(pieces[i]);
  give_all_back(slabs);
  EXPECT_EQ(slabs.empty_bytes(), 0U);
  std::memset(pieces[0], 1, 60'000);
  slabs.free(pieces[0]);
  EXPECT_GT(slabs.empty_bytes(), 0U);
}

TEST(Slabs, SmallPiecesGoBackToo) {
  Slabs slabs;
  std::vector<void*> pieces;
  for (int i = 0; i < 100'000; ++i) pieces.push_back(slabs.allocate(40));
  EXPECT_GE(slabs.taken_bytes(), 4'800'000U);
  for (void* const piece : pieces) slabs.free(piece);
  give_all_back(slabs);
  EXPECT_EQ(slabs.taken_bytes(), 0U);
}

TEST(Slabs, CountTheMostInUse) {
  Slabs slabs;
  void* const small = slabs.allocate(40);
  EXPECT_LE(slabs.taken_bytes(), 16U * 1024);
  void* const large = slabs.allocate(100'000);
  EXPECT_LE(slabs.taken_bytes(), 16U * 1024 + 130'000);
  slabs.free(small);
  slabs.free(large);
  EXPECT_GT(slabs.taken_bytes(), 100'000U) << "kept, so it counts";
}

TEST(Slabs, AboveTheirLimitOnlyFreePiecesAreGiven) {
  Slabs slabs;
  slabs.limit(1'000'000);
  std::vector<void*> pieces;
  while (void* const piece = slabs.allocate(1000)) pieces.push_back(piece);
  EXPECT_LE(slabs.taken_bytes(), 1'000'000U);
  EXPECT_GT(pieces.size(), 900U);
  EXPECT_EQ(slabs.allocate(20'000), nullptr);
  slabs.free(pieces.back());
  pieces.back() = slabs.allocate(1000);
  EXPECT_NE(pieces.back(), nullptr);
  slabs.limit(2'000'000);
  pieces.push_back(slabs.allocate(1000));
  EXPECT_NE(pieces.back(), nullptr);
  for (void* const piece : pieces) slabs.free(piece);
}

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

class KeptPiecesTest : public testing::Test {
 protected:
  ~KeptPiecesTest() override {
    kept_.age();
    kept_.age();
    kept_.give_back(kept_.bytes());
    EXPECT_EQ(kept_.bytes(), 0U);
  }
  void* keep(std::size_t bytes) {
    void* const memory = std::malloc(bytes);
    kept_.keep(memory, bytes);
    return memory;
  }
  // Returns the size of the piece that was taken; 0: none.
  std::size_t take_and_free(std::size_t bytes) {
    const KeptPieces::Piece piece = kept_.take(bytes);
    std::free(piece.memory);
    return piece.bytes;
  }

  KeptPieces kept_;
};

TEST_F(KeptPiecesTest, GivesThePieceThatWasKeptLastAndFits) {
  keep(kMebibyte);
  void* const last = keep(kMebibyte);
  keep(3 * kMebibyte);
  const KeptPieces::Piece piece = kept_.take(kMebibyte - 100);
  EXPECT_EQ(piece.memory, last);
  EXPECT_EQ(piece.bytes, kMebibyte);
  EXPECT_EQ(kept_.bytes(), 4 * kMebibyte);
  std::free(piece.memory);
}

TEST_F(KeptPiecesTest, GivesNoneThatIsTooSmallOrMuchTooLarge) {
  keep(kMebibyte);
  EXPECT_EQ(take_and_free(kMebibyte + 1), 0U);
  EXPECT_EQ(take_and_free(kMebibyte * 8 / 9 - 1), 0U);
  EXPECT_EQ(take_and_free(kMebibyte * 8 / 9 + 1), kMebibyte);
  EXPECT_EQ(kept_.bytes(), 0U);
}

TEST_F(KeptPiecesTest, APieceInRegularUseIsKept) {
  KeptPieces::Piece piece{std::malloc(kMebibyte), kMebibyte};
  for (int i = 0; i < 5; ++i) {
    kept_.keep(piece.memory, piece.bytes);
    kept_.age();
    EXPECT_EQ(kept_.bytes_to_go(), 0U);
    piece = kept_.take(kMebibyte);
    ASSERT_NE(piece.memory, nullptr);
  }
  std::free(piece.memory);
}

TEST_F(KeptPiecesTest, AnUnusedPieceIsFreedAfterTwoPeriods) {
  keep(kMebibyte);
  kept_.age();
  keep(2 * kMebibyte);
  EXPECT_EQ(kept_.bytes_to_go(), 0U);
  EXPECT_EQ(kept_.give_back(kMebibyte), 0U);
  kept_.age();
  EXPECT_EQ(kept_.bytes_to_go(), kMebibyte);
  EXPECT_EQ(kept_.give_back(5 * kMebibyte), kMebibyte);
  EXPECT_EQ(kept_.bytes(), 2 * kMebibyte);
  kept_.age();
  EXPECT_EQ(kept_.bytes_to_go(), 2 * kMebibyte);
  EXPECT_EQ(take_and_free(2 * kMebibyte), 2 * kMebibyte)
      << "it is there as long as it has not gone";
  EXPECT_EQ(kept_.bytes_to_go(), 0U);
}

TEST_F(KeptPiecesTest, ALargeOneGoesPartByPart) {
  for (std::size_t megabytes = 1; megabytes <= 64; megabytes *= 2) keep(megabytes * kMebibyte);
  kept_.age();
  kept_.age();
  int calls = 0;
  for (std::size_t left = kept_.bytes(); left > 0; ++calls) {
    const std::size_t gone = kept_.give_back(2 * kMebibyte);
    EXPECT_GE(gone, std::min(left, 2 * kMebibyte));
    // A small remainder is freed with the rest.
    EXPECT_LT(gone, 2 * kMebibyte + 192 * 1024);
    left -= gone;
    EXPECT_EQ(kept_.bytes(), left);
    EXPECT_EQ(kept_.bytes_to_go(), left);
  }
  EXPECT_GE(calls, 60);
}

using test::AllocationFailure;
using test::live_allocations;

TEST(MemoryCushion, IsThereFromTheStart) {
  MemoryCushion cushion;
  bool held = false;
  {
    const AllocationFailure failure;
    held = cushion.fill();
  }
  EXPECT_TRUE(held);
}

TEST(MemoryCushion, GivesAllOfItUpAndTakesItAgainWhenThereIsMemory) {
  const auto before = live_allocations();
  MemoryCushion cushion;
  const auto with_it = live_allocations();
  EXPECT_GT(with_it, before);
  cushion.give_up();
  EXPECT_EQ(live_allocations(), before);
  bool held = true;
  {
    const AllocationFailure failure(2);  // Not enough for all pieces.
    held = cushion.fill();
  }
  EXPECT_FALSE(held);
  EXPECT_TRUE(cushion.fill());
  EXPECT_EQ(live_allocations(), with_it);
  EXPECT_TRUE(cushion.fill());
  EXPECT_EQ(live_allocations(), with_it);
}

TEST(MemoryCushion, WithoutMemoryForItAtTheStartItIsTakenLater) {
  alignas(MemoryCushion) std::byte place[sizeof(MemoryCushion)];
  MemoryCushion* cushion = nullptr;
  bool held = true;
  {
    const AllocationFailure failure;
    cushion = new (place) MemoryCushion;
    held = cushion->fill();
  }
  EXPECT_FALSE(held);
  EXPECT_TRUE(cushion->fill());
  cushion->~MemoryCushion();
}

}  // namespace

}  // namespace haricot
