#include "haricot/base/linked_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "support/random.hpp"

namespace haricot {
namespace {

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
