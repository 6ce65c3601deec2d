#include "tool/cli/job_line.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace haricot::tool {
namespace {

using namespace std::string_literals;

JobLine some_job(std::string_view body) {
  return JobLine{.id = 7,
                 .tube = "a\\tube",
                 .state = "delayed",
                 .priority = 1,
                 .delay_s = 2,
                 .ttr_s = 3,
                 .age_s = 4,
                 .left_s = 5,
                 .counters = {1, 2, 3, 4, 5},
                 .body = body};
}

std::string body_in_json(std::string_view body) {
  const std::string json = to_json(some_job(body));
  const std::size_t at = json.find(",\"body");
  EXPECT_TRUE(json.ends_with("}\n")) << json;
  return json.substr(at + 1, json.size() - at - 3);
}

TEST(JobLine, TextHasEveryValueAndTheBodyInQuotes) {
  EXPECT_EQ(to_text(some_job("say \"hi\"\r\n\xff")),
            "id=7 tube=a\\tube state=delayed pri=1 age=4 delay=2 ttr=3 time-left=5 reserves=1 "
            "timeouts=2 releases=3 buries=4 kicks=5 bytes=11 "
            "body=\"say \\\"hi\\\"\\x0d\\x0a\\xff\"\n");
}

TEST(JobLine, JsonHasEveryValue) {
  EXPECT_EQ(
      to_json(some_job("x")),
      "{\"id\":7,\"tube\":\"a\\\\tube\",\"state\":\"delayed\",\"pri\":1,\"age\":4,\"delay\":2,"
      "\"ttr\":3,\"time-left\":5,\"reserves\":1,\"timeouts\":2,\"releases\":3,\"buries\":4,"
      "\"kicks\":5,\"bytes\":1,\"body\":\"x\"}\n");
}

TEST(JobLine, ATagIsAKey) {
  JobLine job = some_job("x");
  job.tags = "try:3 con:12:2 new:a:b";
  EXPECT_NE(to_text(job).find(" kicks=5 try=3 con=12:2 new=a:b bytes=1 body="), std::string::npos)
      << to_text(job);
  EXPECT_NE(to_json(job).find(R"("kicks":5,"try":3,"con":"12:2","new":"a:b","bytes":1,"body":)"),
            std::string::npos)
      << to_json(job);
}

TEST(TombstoneLine, HasTheKeyAsTheTagOfTheJobWas) {
  const TombstoneLine tombstone{
      .id = 7, .tube = "a\\tube", .key = "12", .seconds = 60, .left_s = 5};
  EXPECT_EQ(to_text(tombstone), "id=7 tube=a\\tube state=deleted time-left=5 idp=12:60\n");
  EXPECT_EQ(to_json(tombstone),
            "{\"id\":7,\"tube\":\"a\\\\tube\",\"state\":\"deleted\",\"time-left\":5,"
            "\"idp\":\"12:60\"}\n");
}

TEST(JobLine, TagsThatAreNoneMakeNoBadJson) {
  JobLine job = some_job("x");
  job.tags = "try:x  \"";
  EXPECT_NE(to_json(job).find(R"(,"try":"x","":"","\"":"","bytes":1,)"), std::string::npos)
      << to_json(job);
}

TEST(JobLine, JsonEscapesWhatJsonReserves) {
  EXPECT_EQ(body_in_json("\"\\\n\0\x1f\x7f"s), R"("body":"\"\\\u000a\u0000\u001f\u007f")");
}

TEST(JobLine, Utf8StaysAsItIs) {
  EXPECT_EQ(body_in_json("b\xc3\xb6hne \xe2\x82\xac \xf0\x9f\xab\x98"),
            "\"body\":\"b\xc3\xb6hne \xe2\x82\xac \xf0\x9f\xab\x98\"");
}

TEST(JobLine, OtherBytesThanUtf8AreInBase64) {
  EXPECT_EQ(body_in_json("\xff"), "\"body_base64\":\"/w==\"");
  EXPECT_EQ(body_in_json("\xff\xfe"), "\"body_base64\":\"//4=\"");
  EXPECT_EQ(body_in_json("\xff\xfe\xfd"), "\"body_base64\":\"//79\"");
  EXPECT_EQ(body_in_json("\xff\x01\x02\x03"), "\"body_base64\":\"/wECAw==\"");
}

TEST(JobLine, IllFormedUtf8IsNotTakenForText) {
  for (const std::string_view bytes :
       {"\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
        "\xe2\x82", "\x80", "\xc3("}) {
    EXPECT_TRUE(body_in_json(bytes).starts_with("\"body_base64\"")) << bytes;
  }
}

using Order = std::vector<std::size_t>;

TEST(HeldOrder, JobsThatDoNotWaitForEachOtherKeepTheirOrder) {
  const std::vector<HeldJob> jobs = {{"", "a"}, {"", "b"}, {"c", "a"}, {"", "a"}};
  EXPECT_EQ(held_order(jobs), (Order{0, 1, 2, 3}));
  EXPECT_EQ(held_order({}), Order());
}

// A stage may get jobs after those of the next stage were put.
TEST(HeldOrder, AJobComesAfterAllOfTheGroupThatItWaitsFor) {
  const std::vector<HeldJob> jobs = {
      {"", "report"}, {"report", "load"}, {"load", "fetch"}, {"report", "load"}, {"load", "fetch"}};
  EXPECT_EQ(held_order(jobs), (Order{2, 4, 1, 3, 0}));
}

TEST(HeldOrder, JobsThatWaitForEachOtherComeAllTheSame) {
  const std::vector<HeldJob> jobs = {{"", "b"}, {"a", "b"}, {"b", "a"}, {"", "x"}};
  EXPECT_EQ(held_order(jobs), (Order{3, 0, 1, 2}));
}

TEST(HeldOrder, LongChainsTakeNoSquareOfTheirLength) {
  std::vector<HeldJob> jobs;
  constexpr std::size_t kJobs = 50'000;
  for (std::size_t i = 0; i < kJobs; ++i) {
    jobs.push_back({"s" + std::to_string(i), "s" + std::to_string(i + 1)});
  }
  const Order order = held_order(jobs);
  ASSERT_EQ(order.size(), kJobs);
  EXPECT_EQ(order.front(), kJobs - 1);
  EXPECT_EQ(order.back(), 0U);
}

}  // namespace
}  // namespace haricot::tool
