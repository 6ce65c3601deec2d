#include "haricot/base/heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
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

enum class Number : std::uint32_t {};

class Elements {
 public:
  explicit Elements(std::uint32_t size) : links_(size + 1), keys_(size + 1) {}

  HeapLinks<Number>& links(Number ref) { return links_[number(ref)]; }
  bool precedes(Number a, Number b) {
    ++comparisons;
    return std::pair(keys_[number(a)], a) < std::pair(keys_[number(b)], b);
  }
  void set_key(Number ref, std::uint32_t key) { keys_[number(ref)] = key; }
  std::uint32_t key(Number ref) const { return keys_[number(ref)]; }

  std::uint64_t comparisons = 0;

 private:
  static std::size_t number(Number ref) { return static_cast<std::size_t>(ref); }

  std::vector<HeapLinks<Number>> links_;
  std::vector<std::uint32_t> keys_;
};

class Pair {
 public:
  explicit Pair(std::uint32_t size) : elements(size) {}

  void push(Number ref, std::uint32_t key) {
    elements.set_key(ref, key);
    heap.push(ref, elements);
    set.insert({key, ref});
  }
  void remove(Number ref) {
    heap.remove(ref, elements);
    ASSERT_EQ(set.erase({elements.key(ref), ref}), 1U);
  }
  void compare() const { ASSERT_EQ(heap.top(), set.empty() ? Number{} : set.begin()->second); }
  // Checks all elements, their order and their ranks.
  void check() {
    std::size_t found = 0;
    (void)check(heap.top(), Number{}, found);
    ASSERT_EQ(found, set.size());
  }

  Elements elements;
  LinkedHeap<Number> heap;
  std::set<std::pair<std::uint32_t, Number>> set;

 private:
  std::uint32_t check(Number ref, Number above, std::size_t& found) {
    if (ref == Number{}) return 0;
    ++found;
    const HeapLinks<Number> links = elements.links(ref);
    EXPECT_EQ(links.above, above);
    EXPECT_EQ(set.count({elements.key(ref), ref}), 1U);
    EXPECT_TRUE(above == Number{} || elements.precedes(above, ref));
    const std::uint32_t left = check(links.left, ref, found);
    const std::uint32_t right = check(links.right, ref, found);
    EXPECT_GE(left, right);
    EXPECT_EQ(links.rank, right + 1);
    return right + 1;
  }
};

TEST(LinkedHeap, IsEmptyAtFirst) {
  const LinkedHeap<Number> heap;
  EXPECT_TRUE(heap.empty());
  EXPECT_EQ(heap.top(), Number{});
}

TEST(LinkedHeap, HasTheFirstElementOnTop) {
  Pair pair(3);
  pair.push(Number{1}, 20);
  EXPECT_EQ(pair.heap.top(), Number{1});
  pair.push(Number{2}, 10);
  EXPECT_EQ(pair.heap.top(), Number{2});
  pair.push(Number{3}, 30);
  EXPECT_EQ(pair.heap.top(), Number{2});
  pair.remove(Number{2});
  EXPECT_EQ(pair.heap.top(), Number{1});
  pair.remove(Number{1});
  EXPECT_EQ(pair.heap.top(), Number{3});
  pair.remove(Number{3});
  EXPECT_TRUE(pair.heap.empty());
}

TEST(LinkedHeap, ForgetsAllItsElements) {
  Pair pair(3);
  pair.push(Number{1}, 1);
  pair.push(Number{2}, 2);
  pair.heap.forget_all();
  EXPECT_TRUE(pair.heap.empty());
  pair.set.clear();
  pair.push(Number{2}, 2);
  pair.check();
}

TEST(LinkedHeap, BehavesLikeASet) {
  test::Random random;
  for (int round = 0; round < 20; ++round) {
    const auto size = static_cast<std::uint32_t>(1 + random.below(60));
    const std::uint32_t keys = random.one_in(2) ? 4 : 1000;
    Pair pair(size);
    std::vector<bool> is_in(size + 1);
    for (int step = 0; step < 400; ++step) {
      const auto number = static_cast<std::uint32_t>(1 + random.below(size));
      if (is_in[number]) {
        pair.remove(Number{number});
      } else {
        pair.push(Number{number}, static_cast<std::uint32_t>(random.below(keys)));
      }
      is_in[number] = !is_in[number];
      pair.compare();
      pair.check();
      if (testing::Test::HasFailure()) return;
    }
  }
}

// For elements in any order: ascending, descending, or alternating.
TEST(LinkedHeap, ComparesFewElementsForEachStep) {
  constexpr std::uint32_t kElements = 100'000;
  const std::uint64_t most = 2 * std::bit_width(kElements);
  for (const int order : {0, 1, 2}) {
    Pair pair(kElements);
    Elements& elements = pair.elements;
    std::uint64_t worst = 0;
    const auto note = [&](std::uint64_t before) {
      worst = std::max(worst, elements.comparisons - before);
    };
    for (std::uint32_t i = 1; i <= kElements; ++i) {
      const std::array<std::uint32_t, 3> keys{i, kElements - i, i % 2 == 0 ? i : kElements - i};
      const std::uint64_t before = elements.comparisons;
      elements.set_key(Number{i}, keys[static_cast<std::size_t>(order)]);
      pair.heap.push(Number{i}, elements);
      note(before);
    }
    for (std::uint32_t i = 1; i <= kElements; ++i) {
      const std::uint64_t before = elements.comparisons;
      // Every second one from the middle of the heap.
      const Number ref = i % 2 == 0 ? pair.heap.top() : Number{i};
      if (elements.links(ref).rank == 0) continue;  // It was removed already.
      pair.heap.remove(ref, elements);
      elements.links(ref).rank = 0;
      note(before);
    }
    EXPECT_LE(worst, most) << order;
  }
}

}  // namespace

}  // namespace haricot
