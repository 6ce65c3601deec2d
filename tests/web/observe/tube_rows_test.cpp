#include "web/observe/tube_rows.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tool/client/stats_text.hpp"

namespace haricot::web {
namespace {

constexpr HashKey kKey = {1, 2};

TEST(TubeRows, ReturnTheAddedRows) {
  TubeRows rows(kKey);
  TubeRow row;
  row.name = "mail";
  for (std::size_t i = 0; i < kTubeFields; ++i) row.numbers[i] = (std::uint64_t{1} << (2 * i)) - 1;
  row.put_rate = 1234.567;
  row.delete_rate = 0;
  row.label = 7;
  rows.add(row);
  TubeRow other;
  other.name = "other";
  rows.add(other);

  const TubeRow back = rows.at(0);
  EXPECT_EQ(back.name, "mail");
  EXPECT_EQ(back.numbers, row.numbers);
  EXPECT_DOUBLE_EQ(back.put_rate.value_or(-1), 1234.567);
  EXPECT_DOUBLE_EQ(back.delete_rate.value_or(-1), 0);
  EXPECT_EQ(back.label, 7);
  EXPECT_EQ(rows.at(1).numbers, other.numbers);
  EXPECT_FALSE(rows.at(1).put_rate.has_value());
  EXPECT_FALSE(rows.at(1).delete_rate.has_value());
}

TEST(TubeRows, AreFoundByName) {
  TubeRows rows(kKey);
  EXPECT_FALSE(rows.find("tube-0").has_value());
  rows.reserve(1000, 20'000);
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = "tube-" + std::to_string(i);
    TubeRow row;
    row.name = name;
    row[TubeField::ready] = static_cast<std::uint64_t>(i);
    rows.add(row);
  }
  rows.shrink();
  for (int i = 0; i < 10'000; ++i) {
    const auto found = rows.find("tube-" + std::to_string(i));
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(rows.at(*found)[TubeField::ready], static_cast<std::uint64_t>(i));
  }
  EXPECT_FALSE(rows.find("tube-10000").has_value());
  EXPECT_FALSE(rows.find("").has_value());
}

// The table of limits states about 40 bytes for a usual tube.
TEST(TubeRows, TakeFewBytes) {
  TubeRows rows(kKey);
  const std::string name(20, 'x');
  TubeRow row;
  row.name = name;
  row[TubeField::ready] = 12;
  row[TubeField::puts] = 100'000;
  row[TubeField::deletes] = 100'000;
  row[TubeField::watching] = 3;
  row[TubeField::oldest_ready] = 40;
  row.put_rate = 0.5;
  row.delete_rate = 0.5;
  rows.add(row);
  EXPECT_LE(rows.bytes(), 42U);
}

TEST(TubeRow, APauseNearItsEndIsAPauseStill) {
  TubeRow row;
  EXPECT_EQ(row.paused_s(), 0U);
  row[TubeField::pause] = 60;
  EXPECT_EQ(row.paused_s(), 1U);
  row[TubeField::pause_left] = 30;
  EXPECT_EQ(row.paused_s(), 30U);
}

struct Page {
  bool is_good = false;
  std::string next;
  std::vector<std::string> tubes;  // "mail 3"
};

Page read(std::string_view answer) {
  Page page;
  page.is_good = read_tubes_page(answer, page.next, [&page](TubeRow& row) {
    page.tubes.push_back(std::string(row.name) + " " + std::to_string(row[TubeField::ready]));
  });
  return page;
}

TEST(TubeReader, ReadsStatsTubeWithAndWithoutQuotes) {
  for (const char* name : {"name: \"mail\"\n", "name: mail\n"}) {
    TubeRow row;
    ASSERT_TRUE(read_tube(std::string("---\n") + name +
                              "current-jobs-urgent: 1\ncurrent-jobs-ready: 2\n"
                              "current-jobs-reserved: 3\ncurrent-jobs-delayed: 4\n"
                              "current-jobs-buried: 5\ntotal-jobs: 6\ncurrent-using: 7\n"
                              "current-watching: 8\ncurrent-waiting: 9\ncmd-delete: 10\n"
                              "cmd-pause-tube: 11\npause: 12\npause-time-left: 13\n",
                          row));
    for (std::size_t i = 0; i < 13; ++i) EXPECT_EQ(row.numbers[i], i + 1) << i;
    EXPECT_EQ(row.numbers[13], 0U);
  }
}

TEST(TubeReader, PassesOverKeysThatItDoesNotKnow) {
  TubeRow row;
  EXPECT_TRUE(read_tube("---\nnew-key: 5\nname: x\nother: text\ncurrent-jobs-ready: 2\n", row));
  EXPECT_EQ(row[TubeField::ready], 2U);
}

TEST(TubeReader, RefusesInvalidReports) {
  TubeRow row;
  EXPECT_FALSE(read_tube("", row));
  EXPECT_FALSE(read_tube("current-jobs-ready: 2\n", row));
  EXPECT_FALSE(read_tube("---\nnonsense\n", row));
}

TEST(TubeReader, ReadsAPage) {
  const Page page = read(
      "---\nnext: \"work\"\ntubes:\n- name: \"mail\"\n  current-jobs-ready: 3\n"
      "- name: \"a(b);$\"\n  current-jobs-ready: 4\n  age-oldest-ready: 9\n");
  EXPECT_TRUE(page.is_good);
  EXPECT_EQ(page.next, "work");
  EXPECT_EQ(page.tubes, (std::vector<std::string>{"mail 3", "a(b);$ 4"}));
}

TEST(TubeReader, AStarMarksTheEnd) {
  const Page page = read("---\nnext: \"*\"\ntubes: []\n");
  EXPECT_TRUE(page.is_good);
  EXPECT_EQ(page.next, "");
  EXPECT_TRUE(page.tubes.empty());
}

TEST(TubeReader, SkipsFieldsOfNewerServers) {
  const Page page = read(
      "---\nnext: \"*\"\nother:\n- name: \"no\"\n  more: 1\ntubes:\n- name: \"mail\"\n  list:\n"
      "  - 1\n  current-jobs-ready: 3\n");
  EXPECT_TRUE(page.is_good);
  EXPECT_EQ(page.tubes, std::vector<std::string>{"mail 3"});
}

TEST(TubeReader, RefusesInvalidPages) {
  EXPECT_FALSE(read("").is_good);
  EXPECT_FALSE(read("---\ntubes: []\n").is_good);
  EXPECT_FALSE(read("---\nnext: \"a b\"\ntubes: []\n").is_good);
}

TEST(TubeReader, SkipsTubesWithInvalidNames) {
  const Page page = read("---\nnext: \"*\"\ntubes:\n- name: \"a\x01\"\n- name: \"b\"\n");
  EXPECT_EQ(page.tubes, std::vector<std::string>{"b 0"});
}

// For any answer, the reader returns only names that can be sent in a command, and ends.
TEST(TubeReader, ReadsAnyAnswerToItsEnd) {
  const std::string good =
      "---\nnext: \"work\"\ntubes:\n- name: \"mail\"\n  current-jobs-ready: 3\n"
      "- name: \"work\"\n  total-jobs: 18446744073709551615\n  pause: -1\n";
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    std::string text = good;
    for (int i = 0; i < 4; ++i) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 9);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 20));
      }
    }
    std::string next;
    const bool is_good = read_tubes_page(text, next, [](const TubeRow& row) {
      EXPECT_TRUE(haricot::tool::can_be_asked_for(row.name));
    });
    EXPECT_TRUE(!is_good || next.empty() || haricot::tool::can_be_asked_for(next))
        << "seed " << seed;
    TubeRow row;
    static_cast<void>(read_tube(text, row));
  }
}

}  // namespace
}  // namespace haricot::web
