#include "haricot/queue/tube_table.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "support/allocations.hpp"
#include "support/colliding_names.hpp"
#include "support/random.hpp"

namespace haricot {
namespace {

std::vector<std::string> names(const TubeTable& table) {
  std::vector<std::string> found;
  for (std::uint32_t i = 0; i < table.size(); ++i) found.push_back(table.at(i).name);
  return found;
}

using Names = std::vector<std::string>;

TEST(TubeTable, FindsATubeByNameAndByReference) {
  TubeTable table;
  EXPECT_EQ(table.find("a"), nullptr);
  Tube* a = table.create("a");
  Tube* b = table.create("b");
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(a->name, "a");
  EXPECT_EQ(table.find("a"), a);
  EXPECT_EQ(table.find("b"), b);
  EXPECT_EQ(table.find("c"), nullptr);
  EXPECT_EQ(&table[a->ref], a);
  EXPECT_EQ(&table[b->ref], b);
}

TEST(TubeTable, KeepsANameOfItsOwn) {
  TubeTable table;
  std::string name(200, 'x');
  const Tube* tube = table.create(name);
  name.assign(200, 'y');
  EXPECT_EQ(tube->name, std::string(200, 'x'));
  EXPECT_EQ(table.find(std::string(200, 'x')), tube);
}

TEST(TubeTable, NamesThatCollideWithoutAKeyDoNotWithOne) {
  const std::vector<std::string> colliding = test::CollidingNames::make(3000);
  const std::set<std::string> different(colliding.begin(), colliding.end());
  ASSERT_EQ(different.size(), 3000U);
#ifdef __GLIBCXX__
  for (const std::string& name : colliding) {
    ASSERT_EQ(std::hash<std::string>{}(name), std::hash<std::string>{}(colliding[0]));
  }
#endif
  TubeTable table(HashKey{1, 2});
  TubeTable other(HashKey{1, 3});
  std::set<std::uint64_t> hashes;
  for (const std::string& name : colliding) {
    hashes.insert(table.find_or_create(name)->hash);
    hashes.insert(other.create(name)->hash);
    EXPECT_EQ(table.find_or_create(name), table.find(name));
  }
  EXPECT_EQ(hashes.size(), 2 * colliding.size());
}

TEST(TubeTable, TheLastTubeTakesThePlaceOfOneThatGoes) {
  TubeTable table;
  for (const char* name : {"a", "b", "c", "d"}) ASSERT_NE(table.create(name), nullptr);
  EXPECT_EQ(names(table), (Names{"a", "b", "c", "d"}));
  table.destroy(*table.find("b"));
  EXPECT_EQ(names(table), (Names{"a", "d", "c"}));
  table.destroy(*table.find("c"));
  EXPECT_EQ(names(table), (Names{"a", "d"}));
  ASSERT_NE(table.create("e"), nullptr);
  EXPECT_EQ(names(table), (Names{"a", "d", "e"}));
  for (std::uint32_t i = 0; i < table.size(); ++i) EXPECT_EQ(table.at(i).index, i);
}

TEST(TubeTable, ATubeThatIsMadeAgainStartsAnew) {
  TubeTable table;
  table.create("a")->total_jobs = 5;
  table.destroy(*table.find("a"));
  EXPECT_EQ(table.find("a"), nullptr);
  EXPECT_EQ(table.create("a")->total_jobs, 0u);
}

TEST(TubeTable, KeepsThousandsOfTubesApart) {
  TubeTable table;
  std::vector<Tube*> tubes;
  for (int i = 0; i < 5000; ++i) {
    tubes.push_back(table.create("tube-" + std::to_string(i)));
    ASSERT_NE(tubes.back(), nullptr);
  }
  for (int i = 0; i < 5000; i += 2) table.destroy(*tubes[static_cast<std::size_t>(i)]);
  for (int i = 0; i < 5000; ++i) {
    Tube* expected = i % 2 == 0 ? nullptr : tubes[static_cast<std::size_t>(i)];
    ASSERT_EQ(table.find("tube-" + std::to_string(i)), expected);
    if (expected != nullptr) {
      ASSERT_EQ(&table[expected->ref], expected);
    }
  }
  EXPECT_EQ(table.size(), 2500u);
}

// Every allocation of every creation fails once.
TEST(TubeTable, AFailedCreationChangesNothing) {
  TubeTable table;
  int failures = 0;
  for (int i = 0; i < 1200; ++i) {
    const std::string name = "a-name-that-is-too-long-to-stand-in-a-string-" + std::to_string(i);
    for (int succeeding = 0;; ++succeeding) {
      Tube* tube = nullptr;
      {
        const test::AllocationFailure failure(succeeding);
        tube = table.create(name);
      }
      if (tube != nullptr) break;
      ++failures;
      ASSERT_EQ(table.size(), static_cast<std::uint32_t>(i));
      ASSERT_EQ(table.find(name), nullptr);
    }
    ASSERT_EQ(table.find(name)->name, name);
    ASSERT_EQ(table.at(static_cast<std::uint32_t>(i)).name, name);
  }
  EXPECT_GT(failures, 1200);
}

// Page by page, as stats-tubes does: while tubes come and go, and if the tube at which a page
// begins is gone.
TEST(TubeTable, AWalkByNameMeetsEachTubeOnceThatIsThereAllTheWhile) {
  TubeTable table(HashKey{5, 6});
  std::set<std::string> lasting;
  for (int i = 0; i < 500; ++i) {
    lasting.insert("lasting-" + std::to_string(i));
    ASSERT_NE(table.create("lasting-" + std::to_string(i)), nullptr);
  }
  std::multiset<std::string> seen;
  std::vector<std::string> passing;
  std::string from = "*";
  for (int page = 0; from != "*" || page == 0; ++page) {
    const Tube* tube = table.first_from(from);
    for (int i = 0; i < 7 && tube != nullptr; ++i, tube = table.after(*tube)) {
      if (lasting.contains(tube->name)) seen.insert(tube->name);
    }
    from = tube == nullptr ? "*" : tube->name;
    for (int i = 0; i < 20 && page < 60; ++i) {
      passing.push_back("passing-" + std::to_string(page) + "-" + std::to_string(i));
      ASSERT_NE(table.create(passing.back()), nullptr);
    }
    for (int i = 0; i < 30 && page >= 30 && !passing.empty(); ++i) {
      table.destroy(*table.find(passing.front()));
      passing.erase(passing.begin());
    }
    if (from.starts_with("passing") && table.find(from) != nullptr && page >= 30) {
      table.destroy(*table.find(from));
      std::erase(passing, from);
    }
  }
  EXPECT_EQ(seen, std::multiset<std::string>(lasting.begin(), lasting.end()));
}

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
