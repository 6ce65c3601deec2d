#include "haricot/queue/tube_list.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "haricot/queue/tube_table.hpp"
#include "support/allocations.hpp"
#include "support/random.hpp"

namespace haricot {
namespace {

std::string text_of(const TubeList& list) {
  std::string text;
  for (const BlobRef& page : list.pages()) text += page.view();
  return text;
}

std::string text_of(const TubeTable& table) {
  std::string text;
  for (std::uint32_t i = 0; i < table.size(); ++i) text += "- " + table.at(i).name + "\n";
  return text;
}

void make_tubes(TubeTable& table, std::uint32_t tubes) {
  for (std::uint32_t i = 0; i < tubes; ++i) {
    ASSERT_NE(table.create("tube-" + std::to_string(i)), nullptr);
  }
}

// Writes at most `pages` pages. Returns how many it wrote.
std::uint32_t write_pages(TubeList& list, std::uint32_t pages) {
  std::uint64_t steps = 0;
  list.work(steps, Budget(steps, std::uint64_t{pages} * TubeList::kTubesPerPage));
  return static_cast<std::uint32_t>(steps / TubeList::kTubesPerPage);
}

// Works until the list is complete. Returns the number of written pages.
std::uint32_t finish(TubeList& list) {
  std::uint32_t written = 0;
  while (list.is_working()) written += write_pages(list, 1);
  return written;
}

constexpr std::uint32_t kPage = TubeList::kTubesPerPage;

TEST(TubeList, IsTheNamesInTheirOrder) {
  for (const std::uint32_t tubes : {1U, kPage - 1, kPage, kPage + 1, 3 * kPage + 7}) {
    TubeTable table;
    make_tubes(table, tubes);
    TubeList& list = table.list();
    const std::uint64_t number = list.ask();
    EXPECT_FALSE(list.is_complete(number));
    EXPECT_EQ(finish(list), (tubes + kPage - 1) / kPage);
    EXPECT_TRUE(list.is_complete(number));
    EXPECT_FALSE(list.has_failed());
    EXPECT_EQ(text_of(list), text_of(table));
  }
}

TEST(TubeList, APageIsWrittenAgainOnlyBehindAChange) {
  TubeTable table;
  make_tubes(table, 10 * kPage);
  TubeList& list = table.list();
  list.ask();
  EXPECT_EQ(finish(list), 10U);
  const std::vector<BlobRef> before = list.pages();
  list.ask();
  EXPECT_EQ(finish(list), 0U);
  table.destroy(*table.find("tube-3"));  // The last one takes its index.
  list.ask();
  EXPECT_EQ(finish(list), 2U);
  EXPECT_EQ(text_of(list), text_of(table));
  EXPECT_EQ(list.pages()[5].view().data(), before[5].view().data());
}

TEST(TubeList, AListRequestedAfterAChangeContainsIt) {
  TubeTable table;
  make_tubes(table, 4 * kPage);
  TubeList& list = table.list();
  const std::uint64_t first = list.ask();
  write_pages(list, 1);
  ASSERT_NE(table.create("new"), nullptr);
  const std::uint64_t second = list.ask();
  EXPECT_EQ(list.ask(), second);
  EXPECT_GT(second, first);
  while (!list.is_complete(first)) write_pages(list, 1);
  EXPECT_EQ(text_of(list).find("- new\n"), std::string::npos);
  EXPECT_FALSE(list.is_complete(second));
  finish(list);
  EXPECT_TRUE(list.is_complete(second));
  EXPECT_EQ(text_of(list), text_of(table));
}

// A list shows the tubes as of its beginning, despite changes while it is written.
TEST(TubeList, IsOfOneMoment) {
  test::Random random;
  for (int round = 0; round < 20; ++round) {
    TubeTable table;
    make_tubes(table, static_cast<std::uint32_t>(1 + random.below(6 * kPage)));
    TubeList& list = table.list();
    int made = 0;
    for (int lists = 0; lists < 3; ++lists) {
      const std::string wanted = text_of(table);
      list.ask();
      while (list.is_working()) {
        for (std::uint64_t changes = random.below(300); changes > 0; --changes) {
          const auto index = static_cast<std::uint32_t>(random.below(table.size()));
          if (random.one_in(2)) {
            ASSERT_NE(table.create("new-" + std::to_string(made++)), nullptr);
          } else if (table.size() > 1) {
            EXPECT_LE(table.destroy(table[table.at(index).ref]), 2 * kPage);
          }
        }
        write_pages(list, 1);
      }
      ASSERT_EQ(text_of(list), wanted);
    }
  }
}

TEST(TubeList, WithoutMemoryTheNextOneFailsAndTheOneBehindItDoesNot) {
  TubeTable table;
  make_tubes(table, 3 * kPage);
  TubeList& list = table.list();
  const std::uint64_t first = list.ask();
  const std::uint64_t second = list.ask();
  ASSERT_NE(first, second);
  {
    const test::AllocationFailure failure;
    write_pages(list, 3);
  }
  EXPECT_TRUE(list.is_complete(second));
  EXPECT_TRUE(list.has_failed());
  EXPECT_TRUE(list.pages().empty());
  EXPECT_FALSE(list.is_working());
  const std::uint64_t third = list.ask();
  EXPECT_GT(third, second);
  finish(list);
  EXPECT_FALSE(list.has_failed());
  EXPECT_EQ(text_of(list), text_of(table));
}

}  // namespace
}  // namespace haricot
