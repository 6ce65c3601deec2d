#include "haricot/base/intrusive_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "support/random.hpp"

namespace haricot {
namespace {

struct Bead {
  int number = 0;
  ListHook by_color;
  ListHook by_size;
};
using ByColor = IntrusiveList<Bead, &Bead::by_color>;
using BySize = IntrusiveList<Bead, &Bead::by_size>;

std::vector<int> numbers(ByColor& list) {
  std::vector<int> found;
  for (Bead* bead = list.first(); bead != nullptr; bead = list.after(*bead)) {
    found.push_back(bead->number);
  }
  return found;
}

void clear(ByColor& list) {
  while (!list.empty()) list.remove(list.front());
}

TEST(IntrusiveList, ANewOneIsEmpty) {
  ByColor list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.first(), nullptr);
}

TEST(IntrusiveList, KeepsTheOrderOfArrival) {
  std::array<Bead, 3> beads{{{1, {}, {}}, {2, {}, {}}, {3, {}, {}}}};
  ByColor list;
  for (Bead& bead : beads) list.push_back(bead);
  EXPECT_EQ(numbers(list), (std::vector{1, 2, 3}));
  EXPECT_EQ(list.front().number, 1);
  list.remove(beads[1]);
  EXPECT_EQ(numbers(list), (std::vector{1, 3}));
  EXPECT_FALSE(beads[1].by_color.linked());
  EXPECT_TRUE(beads[0].by_color.linked());
  list.push_back(beads[1]);
  EXPECT_EQ(numbers(list), (std::vector{1, 3, 2}));
  clear(list);
}

TEST(IntrusiveList, AnElementIsInOneListPerHook) {
  Bead bead{7, {}, {}};
  ByColor color;
  BySize size;
  color.push_back(bead);
  size.push_back(bead);
  EXPECT_EQ(&color.front(), &bead);
  EXPECT_EQ(&size.front(), &bead);
  color.remove(bead);
  EXPECT_TRUE(bead.by_size.linked());
  EXPECT_FALSE(bead.by_color.linked());
  size.remove(bead);
}

TEST(IntrusiveList, AppendingMovesAllToTheEnd) {
  std::array<Bead, 4> beads{{{1, {}, {}}, {2, {}, {}}, {3, {}, {}}, {4, {}, {}}}};
  ByColor first;
  ByColor second;
  first.push_back(beads[0]);
  first.push_back(beads[1]);
  second.push_back(beads[2]);
  second.push_back(beads[3]);
  first.append(second);
  EXPECT_EQ(numbers(first), (std::vector{1, 2, 3, 4}));
  EXPECT_TRUE(second.empty());
  first.append(second);
  EXPECT_EQ(numbers(first), (std::vector{1, 2, 3, 4}));
  second.append(first);
  EXPECT_EQ(numbers(second), (std::vector{1, 2, 3, 4}));
  EXPECT_TRUE(first.empty());
  clear(second);
}

TEST(IntrusiveListDeathTest, AddingAnElementTwiceEndsTheProgram) {
  EXPECT_DEATH(
      {
        Bead bead;
        ByColor list;
        list.push_back(bead);
        list.push_back(bead);
      },
      "linked");
}

TEST(IntrusiveListDeathTest, RemovingAnElementThatIsInNoListEndsTheProgram) {
  EXPECT_DEATH(
      {
        Bead bead;
        ByColor list;
        list.remove(bead);
      },
      "linked");
}

TEST(IntrusiveListDeathTest, DestroyingAnElementThatIsInAListEndsTheProgram) {
  EXPECT_DEATH(
      {
        ByColor list;
        Bead bead;
        list.push_back(bead);
      },
      "linked");
}

TEST(IntrusiveList, FindsElementsByAHookInAMember) {
  struct Threaded {
    int number = 0;
    Bead bead;
  };
  using Thread = IntrusiveList<Threaded, &Threaded::bead, &Bead::by_color>;
  std::array<Threaded, 2> elements{{{1, {7, {}, {}}}, {2, {8, {}, {}}}}};
  Thread list;
  for (Threaded& element : elements) list.push_back(element);
  EXPECT_EQ(&list.front(), &elements[0]);
  EXPECT_EQ(list.after(elements[0]), &elements[1]);
  EXPECT_EQ(list.after(elements[1]), nullptr);
  EXPECT_TRUE(elements[1].bead.by_color.linked());
  for (Threaded& element : elements) list.remove(element);
  EXPECT_TRUE(list.empty());
}

TEST(IntrusiveListDeathTest, DestroyingAListThatHoldsSomethingEndsTheProgram) {
  EXPECT_DEATH(
      {
        Bead bead;
        {
          ByColor list;
          list.push_back(bead);
        }
      },
      "empty");
}

TEST(IntrusiveList, BehavesLikeTwoVectors) {
  test::Random random;
  std::array<Bead, 40> beads;
  for (int i = 0; i < 40; ++i) beads[static_cast<std::size_t>(i)].number = i;
  std::array<ByColor, 2> lists;
  std::array<std::vector<int>, 2> models;
  for (int step = 0; step < 5000; ++step) {
    Bead& bead = beads[random.below(beads.size())];
    const std::size_t which = random.below(2);
    const auto home = std::find_if(models.begin(), models.end(), [&](const std::vector<int>& m) {
      return std::find(m.begin(), m.end(), bead.number) != m.end();
    });
    ASSERT_EQ(bead.by_color.linked(), home != models.end());
    if (random.one_in(50)) {
      lists[which].append(lists[1 - which]);
      models[which].insert(models[which].end(), models[1 - which].begin(), models[1 - which].end());
      models[1 - which].clear();
    } else if (home == models.end()) {
      lists[which].push_back(bead);
      models[which].push_back(bead.number);
    } else {
      lists[static_cast<std::size_t>(home - models.begin())].remove(bead);
      std::erase(*home, bead.number);
    }
    for (std::size_t i = 0; i < 2; ++i) ASSERT_EQ(numbers(lists[i]), models[i]);
  }
  for (ByColor& list : lists) clear(list);
}

}  // namespace
}  // namespace haricot
