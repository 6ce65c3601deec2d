#include "haricot/base/hash_table.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "support/allocations.hpp"
#include "support/random.hpp"

namespace haricot {
namespace {

struct Entry {
  std::uint64_t hash = 0;
  Entry* next_in_bucket = nullptr;
  int number = 0;
};

Entry* find(const HashTable<Entry>& table, std::uint64_t hash, int number) {
  return table.find(hash, [number](const Entry& entry) { return entry.number == number; });
}

TEST(HashTable, FindsNothingInANewOne) {
  const HashTable<Entry> table;
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(find(table, 1, 1), nullptr);
}

TEST(HashTable, DistinguishesElementsOfEqualHash) {
  HashTable<Entry> table;
  std::deque<Entry> entries;
  for (int i = 0; i < 100; ++i) {
    entries.push_back({42, nullptr, i});
    ASSERT_TRUE(table.insert(entries.back()));
  }
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(find(table, 42, i), &entries[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(find(table, 42, 100), nullptr);
  EXPECT_EQ(find(table, 43, 5), nullptr);
}

// Passes every number of buckets from 1 to 300 while growing, and those that are not kept while
// shrinking. Then starts again from those that were kept.
TEST(HashTable, FindsEverythingAtEverySizeItGrowsAndShrinksThrough) {
  HashTable<Entry> table;
  std::deque<Entry> entries;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 300; ++i) {
      entries.push_back({static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15, nullptr, i});
      ASSERT_TRUE(table.insert(entries.back()));
      for (Entry& entry : entries) ASSERT_EQ(find(table, entry.hash, entry.number), &entry);
    }
    while (!entries.empty()) {
      table.erase(entries.front());
      ASSERT_EQ(find(table, entries.front().hash, entries.front().number), nullptr);
      entries.pop_front();
      for (Entry& entry : entries) ASSERT_EQ(find(table, entry.hash, entry.number), &entry);
    }
    EXPECT_EQ(table.size(), 0u);
  }
}

TEST(HashTable, AnElementThatWasTakenOutCanBePutBack) {
  HashTable<Entry> table;
  Entry entry{7, nullptr, 1};
  ASSERT_TRUE(table.insert(entry));
  table.erase(entry);
  EXPECT_EQ(entry.next_in_bucket, nullptr);
  ASSERT_TRUE(table.insert(entry));
  EXPECT_EQ(find(table, 7, 1), &entry);
}

TEST(HashTable, WithoutMemoryForItsFirstBucketItRefuses) {
  HashTable<Entry> table;
  Entry entry{7, nullptr, 1};
  bool inserted = true;
  {
    const test::AllocationFailure failure;
    inserted = table.insert(entry);
  }
  EXPECT_FALSE(inserted);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(find(table, 7, 1), nullptr);
  EXPECT_TRUE(table.insert(entry));
}

TEST(HashTable, WithoutMemoryForMoreBucketsChainsGetLonger) {
  HashTable<Entry> table;
  std::vector<Entry> entries(1000);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i] = {i * 0x9e3779b97f4a7c15, nullptr, static_cast<int>(i)};
  }
  ASSERT_TRUE(table.insert(entries[0]));
  bool inserted = true;
  {
    const test::AllocationFailure failure;
    for (std::size_t i = 1; i < entries.size(); ++i)
      inserted = table.insert(entries[i]) && inserted;
  }
  EXPECT_TRUE(inserted);
  for (Entry& entry : entries) ASSERT_EQ(find(table, entry.hash, entry.number), &entry);
  // When there is memory again, the table grows and shrinks as usual.
  std::vector<Entry> more(1000);
  for (std::size_t i = 0; i < more.size(); ++i) {
    more[i] = {i * 0x9e3779b97f4a7c15, nullptr, static_cast<int>(1000 + i)};
    ASSERT_TRUE(table.insert(more[i]));
  }
  for (Entry& entry : entries) table.erase(entry);
  for (Entry& entry : more) ASSERT_EQ(find(table, entry.hash, entry.number), &entry);
  EXPECT_EQ(table.size(), 1000u);
}

TEST(HashTableDeathTest, TakingOutAnElementThatIsNotInItEndsTheProgram) {
  HashTable<Entry> table;
  Entry in{7, nullptr, 1};
  Entry out{7, nullptr, 2};
  ASSERT_TRUE(table.insert(in));
  EXPECT_DEATH(table.erase(out), "nullptr");
}

TEST(HashTable, BehavesLikeAMap) {
  test::Random random;
  HashTable<Entry> table;
  std::map<int, Entry> model;
  for (int phase = 0; phase < 40; ++phase) {
    const std::size_t target = random.below(1500);
    while (model.size() != target) {
      const int number = static_cast<int>(random.below(2000));
      // A tenth of the elements have equal hashes.
      const std::uint64_t hash =
          number % 10 == 0 ? 5 : static_cast<std::uint64_t>(number) * 0x9e3779b97f4a7c15;
      const auto found = model.find(number);
      ASSERT_EQ(find(table, hash, number), found == model.end() ? nullptr : &found->second);
      if (found == model.end() && model.size() < target) {
        const auto [place, is_new] = model.emplace(number, Entry{hash, nullptr, number});
        ASSERT_TRUE(table.insert(place->second));
      } else if (found != model.end() && model.size() > target) {
        table.erase(found->second);
        model.erase(found);
      }
      ASSERT_EQ(table.size(), model.size());
    }
    for (auto& [number, entry] : model) ASSERT_EQ(find(table, entry.hash, number), &entry);
  }
}

// With any number of buckets, a walk that continues after an element visits each element once that
// exists all the time.
TEST(HashTable, HasAnOrderThatStaysWhileItGrowsAndShrinks) {
  test::Random chance(17);
  HashTable<Entry> table;
  std::deque<Entry> lasting;
  std::deque<Entry> passing;
  for (int i = 0; i < 300; ++i) {
    // Many have the same hash.
    lasting.push_back({chance.one_in(4) ? 7 : chance.bits(), nullptr, i});
    ASSERT_TRUE(table.insert(lasting.back()));
  }
  const auto precedes = [](const Entry& a, const Entry& b) { return a.number < b.number; };
  const auto first = [&] {
    return table.first_from(
        0, [](const Entry&) { return true; }, precedes);
  };
  const auto after = [&](const Entry& entry) {
    const auto is_after = [&entry](const Entry& other) {
      if (other.hash == entry.hash) return other.number > entry.number;
      return HashTable<Entry>::hash_precedes(entry.hash, other.hash);
    };
    return table.first_from(entry.hash, is_after, precedes);
  };
  for (int walk = 0; walk < 20; ++walk) {
    std::vector<int> seen(300, 0);
    bool has_ended = true;
    for (Entry* entry = first(); entry != nullptr; entry = after(*entry)) {
      if (entry->number < 300) ++seen[static_cast<std::size_t>(entry->number)];
      const bool grows = walk % 2 == 0;
      for (int i = 0; i < 9 && grows; ++i) {
        passing.push_back({chance.bits(), nullptr, 1000 + i});
        ASSERT_TRUE(table.insert(passing.back()));
      }
      for (int i = 0; i < 20 && !grows && !passing.empty() && entry->number < 300; ++i) {
        table.erase(passing.back());
        passing.pop_back();
      }
      has_ended = !grows || passing.size() <= 5000;
      if (!has_ended) break;
    }
    EXPECT_TRUE(!has_ended || seen == std::vector<int>(300, 1));
    EXPECT_TRUE(has_ended || walk % 2 == 0);
  }
}

TEST(HashTable, HasNoFirstOfNone) {
  const HashTable<Entry> table;
  const auto any = [](const Entry&) { return true; };
  EXPECT_EQ(table.first_from(0, any, [](const Entry&, const Entry&) { return false; }), nullptr);
}

}  // namespace
}  // namespace haricot
