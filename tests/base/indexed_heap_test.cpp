#include "haricot/base/indexed_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "support/allocations.hpp"
#include "support/random.hpp"

namespace haricot {
namespace {

struct HeapEntry {
  std::uint64_t key = 0;
  std::uint32_t element = 0;

  bool operator<(const HeapEntry& other) const {
    return key != other.key ? key < other.key : element < other.element;
  }
};

// Stores the index of each element, like its owner.
struct Indexes {
  std::map<std::uint32_t, std::uint32_t> index_of;
  void moved(const HeapEntry& entry, std::uint32_t index) { index_of[entry.element] = index; }
};

void push(IndexedHeap<HeapEntry>& heap, HeapEntry entry, Indexes& indexes) {
  ASSERT_TRUE(heap.allocate_one());
  heap.push(entry, indexes);
}

void expect_heap(const IndexedHeap<HeapEntry>& heap, const Indexes& indexes) {
  for (std::uint32_t i = 0; i < heap.size(); ++i) {
    ASSERT_EQ(indexes.index_of.at(heap.at(i).element), i);
    if (i > 0) {
      ASSERT_FALSE(heap.at(i) < heap.at((i - 1) / 2)) << i;
    }
  }
}

TEST(IndexedHeap, TheSmallestIsOnTop) {
  IndexedHeap<HeapEntry> heap;
  Indexes indexes;
  EXPECT_TRUE(heap.empty());
  for (const std::uint64_t key : {5u, 3u, 8u, 1u, 9u}) {
    push(heap, {key, static_cast<std::uint32_t>(key)}, indexes);
  }
  std::vector<std::uint64_t> keys;
  while (!heap.empty()) {
    keys.push_back(heap.top().key);
    heap.remove(0, indexes);
  }
  EXPECT_EQ(keys, (std::vector<std::uint64_t>{1, 3, 5, 8, 9}));
}

TEST(IndexedHeap, AnyElementCanBeTakenOutByItsIndex) {
  for (std::uint32_t victim = 0; victim < 100; ++victim) {
    IndexedHeap<HeapEntry> heap;
    Indexes indexes;
    for (std::uint32_t i = 0; i < 100; ++i) push(heap, {(i * 37) % 100, i}, indexes);
    heap.remove(indexes.index_of[victim], indexes);
    std::uint64_t last = 0;
    std::uint32_t count = 0;
    while (!heap.empty()) {
      ASSERT_NE(heap.top().element, victim);
      ASSERT_GE(heap.top().key, last);
      last = heap.top().key;
      heap.remove(0, indexes);
      ++count;
    }
    ASSERT_EQ(count, 99u);
  }
}

//        1
//     10    2        4 replaces 11, and has to rise above 10.
//   11 12  3 4
TEST(IndexedHeap, AReplacementMayRise) {
  IndexedHeap<HeapEntry> heap;
  Indexes indexes;
  for (const std::uint32_t key : {1u, 10u, 2u, 11u, 12u, 3u, 4u}) push(heap, {key, key}, indexes);
  expect_heap(heap, indexes);
  heap.remove(indexes.index_of[11], indexes);
  expect_heap(heap, indexes);
  EXPECT_EQ(heap.at(1).element, 4u);
}

TEST(IndexedHeap, ReplacingAKeyMovesTheElementUpOrDown) {
  IndexedHeap<HeapEntry> heap;
  Indexes indexes;
  for (std::uint32_t i = 0; i < 50; ++i) push(heap, {100 + i, i}, indexes);
  heap.replace(indexes.index_of[49], {1, 49}, indexes);
  EXPECT_EQ(heap.top().element, 49u);
  heap.replace(indexes.index_of[49], {1000, 49}, indexes);
  EXPECT_EQ(heap.top().element, 0u);
  EXPECT_EQ(heap.at(indexes.index_of[49]).key, 1000u);
}

TEST(IndexedHeap, TakingAnyLeavesAHeap) {
  IndexedHeap<HeapEntry> heap;
  Indexes indexes;
  for (std::uint32_t i = 0; i < 20; ++i) push(heap, {(i * 7) % 20, i}, indexes);
  std::set<std::uint32_t> taken;
  for (int i = 0; i < 10; ++i) taken.insert(heap.take_any().element);
  EXPECT_EQ(taken.size(), 10u);
  EXPECT_EQ(heap.size(), 10u);
  std::uint64_t last = 0;
  while (!heap.empty()) {
    EXPECT_EQ(taken.count(heap.top().element), 0u);
    EXPECT_GE(heap.top().key, last);
    last = heap.top().key;
    heap.remove(0, indexes);
  }
}

TEST(IndexedHeap, WithoutMemoryNoRoomIsReservedAndNothingChanges) {
  IndexedHeap<HeapEntry> heap;
  Indexes indexes;
  for (std::uint32_t i = 0; i < 512; ++i) push(heap, {512 - i, i}, indexes);
  bool reserved = true;
  {
    const test::AllocationFailure failure;
    reserved = heap.allocate_one();
  }
  EXPECT_FALSE(reserved);
  EXPECT_EQ(heap.size(), 512u);
  EXPECT_EQ(heap.top().element, 511u);
}

TEST(IndexedHeap, AMovedOneLeavesAnEmptyHeapBehind) {
  IndexedHeap<HeapEntry> from;
  Indexes indexes;
  push(from, {3, 1}, indexes);
  const IndexedHeap<HeapEntry> to(std::move(from));
  EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move): the test is about it.
  EXPECT_EQ(to.top().key, 3u);
}

TEST(IndexedHeapDeathTest, RemovingBehindTheEndEndsTheProgram) {
  IndexedHeap<HeapEntry> heap;
  Indexes indexes;
  push(heap, {3, 1}, indexes);
  EXPECT_DEATH(heap.remove(1, indexes), "index");
}

TEST(IndexedHeap, BehavesLikeASortedSet) {
  test::Random random;
  IndexedHeap<HeapEntry> heap;
  Indexes indexes;
  std::set<std::pair<std::uint64_t, std::uint32_t>> model;
  std::map<std::uint32_t, std::uint64_t> keys;
  std::uint32_t next = 0;
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t what = random.below(10);
    const std::uint64_t key = random.below(200);  // Few, so that equal keys occur.
    if (keys.empty() || what < 5) {
      push(heap, {key, next}, indexes);
      model.insert({key, next});
      keys[next++] = key;
    } else {
      auto chosen = keys.lower_bound(static_cast<std::uint32_t>(random.below(next)));
      if (chosen == keys.end()) chosen = keys.begin();
      const std::uint32_t element = chosen->first;
      const std::uint32_t index = indexes.index_of.at(element);
      ASSERT_EQ(heap.at(index).element, element);
      model.erase({chosen->second, element});
      if (what < 8) {
        heap.remove(index, indexes);
        keys.erase(element);
        indexes.index_of.erase(element);
      } else {
        heap.replace(index, {key, element}, indexes);
        model.insert({key, element});
        chosen->second = key;
      }
    }
    ASSERT_EQ(heap.size(), model.size());
    if (!model.empty()) {
      ASSERT_EQ(heap.top().key, model.begin()->first);
      ASSERT_EQ(heap.top().element, model.begin()->second);
    }
    if (step % 50 == 0) expect_heap(heap, indexes);
  }
}

}  // namespace
}  // namespace haricot
