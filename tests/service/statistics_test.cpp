#include "haricot/service/statistics.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/job_tags.hpp"

namespace haricot {
namespace {

std::string read_text(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns the table of a report as its document must show it: keys with the same meaning share a
// line.
template <typename Facts>
std::string table_of(std::span<const Statistic<Facts>> rows) {
  std::string table = "| key | meaning |\n|---|---|\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    table.append(rows[i].meaning.empty() ? " `" : i == 0 ? "| `" : " |\n| `");
    table.append(rows[i].key).append("`");
    const bool is_last = i + 1 == rows.size() || !rows[i + 1].meaning.empty();
    if (!is_last) continue;
    std::size_t first = i;
    while (rows[first].meaning.empty()) --first;
    table.append(" | ").append(rows[first].meaning);
  }
  return table + " |\n";
}

// Returns the table below a heading of a document.
std::string table_below(const std::string& text, std::string_view title) {
  const std::size_t heading = text.find("\n## " + std::string(title) + "\n");
  if (heading == std::string::npos) return "no such heading";
  const std::size_t begin = text.find("\n|", heading);
  const std::size_t end = text.find("\n\n", begin);
  if (begin == std::string::npos) return "no table";
  return text.substr(begin + 1, (end == std::string::npos ? text.size() : end + 1) - begin - 1);
}

TEST(Statistics, MatchTheirDocument) {
  const std::string text = read_text(HARICOT_DOCS "/statistics.md");
  ASSERT_FALSE(text.empty());
  EXPECT_EQ(table_below(text, "stats"), table_of(server_statistics()));
  EXPECT_EQ(table_below(text, "stats-tube"), table_of(tube_statistics()));
  EXPECT_EQ(table_below(text, "stats-tube-detail"), table_of(tube_detail_statistics()));
  EXPECT_EQ(table_below(text, "stats-group"), table_of(group_statistics()));
  EXPECT_EQ(table_below(text, "stats-job"), table_of(job_statistics()));
  EXPECT_EQ(table_below(text, "list-clients"), table_of(client_statistics()));
}

// docs/statistics.md describes the rows of scan-jobs and list-jobs.
TEST(Statistics, AListedJobHasTheKeysOfStatsJobAndMore) {
  const auto of_job = job_statistics();
  const auto listed = listed_job_statistics();
  // These follow the tags.
  constexpr std::array<std::string_view, 7> kLast = {
      "held", "holder", "reserved-for", "buried-by", "buried-ago", "last-try", "note"};
  ASSERT_EQ(listed.size(), of_job.size() + kTags + kLast.size());
  for (std::size_t i = 0; i < kLast.size(); ++i) {
    EXPECT_EQ(listed[of_job.size() + kTags + i].key, kLast[i]);
  }
  for (std::size_t i = of_job.size(); i < listed.size(); ++i) {
    const std::size_t tag = i - of_job.size();
    if (tag < kTags) {
      EXPECT_EQ(listed[i].key, kTagTable[tag].word);
    }
    EXPECT_NE(listed[i].is_shown, nullptr) << "a job without tags has the keys that it always had";
  }
  for (std::size_t i = 0; i < of_job.size(); ++i) {
    const std::string_view key = of_job[i].key;
    EXPECT_EQ(listed[i].key, key == "file" ? "bytes" : key);
    EXPECT_EQ(listed[i].is_shown, nullptr);
  }
  // The example of the document has the same keys in the same order.
  const std::string text = read_text(HARICOT_DOCS "/statistics.md");
  std::size_t at = text.find("\n## Jobs of scan-jobs and list-jobs\n");
  ASSERT_NE(at, std::string::npos);
  for (const auto& row : listed) {
    const std::string line =
        (&row == listed.data() ? "\n    - " : "\n      ") + std::string(row.key) + ": ";
    const std::size_t found = text.find(line, at);
    ASSERT_NE(found, std::string::npos) << row.key;
    at = found;
  }
}

template <typename Facts>
std::vector<std::string> keys_always_shown(std::span<const Statistic<Facts>> rows) {
  std::vector<std::string> keys;
  for (const auto& row : rows) {
    if (row.is_shown == nullptr) keys.emplace_back(row.key);
  }
  return keys;
}

// Returns the strings in an array of a JSON text without escapes.
std::vector<std::string> strings_of(const std::string& json, const std::string& name) {
  std::vector<std::string> strings;
  std::size_t at = json.find("\"" + name + "\": [");
  if (at == std::string::npos) return strings;
  const std::size_t end = json.find(']', at);
  at = json.find('[', at);
  while ((at = json.find('"', at)) < end) {
    const std::size_t close = json.find('"', at + 1);
    strings.push_back(json.substr(at + 1, close - at - 1));
    at = close + 1;
  }
  return strings;
}

// beanstalkd has exactly these keys, and clients are tested with both servers.
TEST(Statistics, PermanentKeysMatchTheTestedClients) {
  const std::string json = read_text(HARICOT_STATS_KEYS);
  EXPECT_EQ(strings_of(json, "server"), keys_always_shown(server_statistics()));
  EXPECT_EQ(strings_of(json, "tube"), keys_always_shown(tube_statistics()));
  EXPECT_EQ(strings_of(json, "job"), keys_always_shown(job_statistics()));
}

// Checks that permanent keys precede optional ones, because some tools count lines.
template <typename Facts>
void expect_fixed_lines_first(std::span<const Statistic<Facts>> rows) {
  bool may_be_missing = false;
  for (const auto& row : rows) {
    EXPECT_FALSE(may_be_missing && row.is_shown == nullptr) << row.key;
    may_be_missing = may_be_missing || row.is_shown != nullptr;
  }
}

TEST(Statistics, PermanentKeysComeFirst) {
  expect_fixed_lines_first(server_statistics());
  expect_fixed_lines_first(tube_statistics());
  expect_fixed_lines_first(job_statistics());
}

template <typename Facts>
void expect_values(std::span<const Statistic<Facts>> rows) {
  for (const auto& row : rows) {
    const bool is_text = row.type == StatisticType::word || row.type == StatisticType::value ||
                         row.type == StatisticType::quoted || row.type == StatisticType::text;
    EXPECT_EQ(row.word != nullptr, is_text) << row.key;
    EXPECT_EQ(row.number != nullptr, !is_text) << row.key;
  }
}

TEST(Statistics, HaveTheValueOfTheirType) {
  expect_values(server_statistics());
  expect_values(tube_statistics());
  expect_values(tube_detail_statistics());
  expect_values(job_statistics());
  expect_values(listed_job_statistics());
}

using OfNumber = Rows<int>;

constexpr std::array kOne = {OfNumber::integer("one", "one", [](int n) { return n + 1; })};
constexpr std::array kOthers = {
    OfNumber::quoted("two", "two", [](int) { return std::string_view("2"); }),
    OfNumber::word(
        "three", kSame, [](const int& n) { return n > 3; },
        [](int) { return std::string_view("3"); })};

TEST(StatisticRows, HaveTheirTypeValueAndCondition) {
  EXPECT_EQ(kOne[0].type, StatisticType::integer);
  EXPECT_EQ(kOne[0].number(4), 5U);
  EXPECT_EQ(kOne[0].is_shown, nullptr);
  EXPECT_EQ(kOthers[0].type, StatisticType::quoted);
  EXPECT_EQ(kOthers[1].type, StatisticType::word);
  EXPECT_EQ(kOthers[1].word(0), "3");
  EXPECT_FALSE(kOthers[1].is_shown(3));
  EXPECT_TRUE(kOthers[1].is_shown(4));
}

TEST(StatisticRows, JoinedTablesKeepTheirOrder) {
  constexpr auto kAll = joined(kOne, kOthers);
  ASSERT_EQ(kAll.size(), 3U);
  EXPECT_EQ(kAll[0].key, "one");
  EXPECT_EQ(kAll[2].key, "three");
  static_assert(has_each_key_once(kAll));
  static_assert(!has_each_key_once(joined(kOne, kAll)));
}

}  // namespace

}  // namespace haricot
