#include "haricot/base/slabs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace haricot {
namespace {

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

}  // namespace
}  // namespace haricot
