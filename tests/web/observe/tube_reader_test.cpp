#include "web/observe/tube_reader.hpp"
#include "tool/client/stats_text.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace haricot::web {
namespace {

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
