#include "tool/client/job_filter.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace haricot::tool {
namespace {

TEST(JobStates, HaveNames) {
  EXPECT_EQ(names_of(kAllStates, "or"), "ready, reserved, delayed or buried");
  EXPECT_EQ(names_of(kDelayed | kBuried, "or"), "delayed or buried");
  EXPECT_EQ(names_of(kReserved, "or"), "reserved");
}

TEST(ClassIn, IsTheFirstOfThreeKeys) {
  EXPECT_EQ(class_in(R"({"job":"a","displayName":"b","class":"c"})"), "b");
  EXPECT_EQ(class_in(R"({"class":"c","job":"a"})"), "a");
  EXPECT_EQ(class_in(R"( {"data":{"job":"x}","n":[1,{"a":"]"}]},"class":"App\\Mail"} )"),
            "App\\Mail");
  EXPECT_EQ(class_in(R"({"job":{"class":"inner"},"class":"c"})"), "c");
  for (const std::string_view body :
       {"", "text", "[1]", R"({"data":{"class":"inner"}})", R"({"class":7})", R"({"class":"c")",
        R"({"a":{"class":"c")", R"({"class":"c","a":[})"}) {
    EXPECT_EQ(class_in(body), "") << body;
  }
}

TEST(FirstLineOf, EndsAtCrOrLf) {
  EXPECT_EQ(first_line_of("a b\r\nc"), "a b");
  EXPECT_EQ(first_line_of("a\nc"), "a");
  EXPECT_EQ(first_line_of("\na"), "");
  EXPECT_EQ(first_line_of("a"), "a");
}

class Filter : public ::testing::Test {
 protected:
  static constexpr ErrandText kText = {"jobs", "", ""};

  const JobFilter& with(std::vector<const char*> words) {
    errand_.emplace(kText);
    filter_ = {};
    filter_.add_flags(*errand_, kAllStates);
    EXPECT_EQ(errand_->read(words), std::nullopt);
    return filter_;
  }
  static StatsText job(const std::string& lines) { return *StatsText::parse("---\n" + lines); }

  std::optional<Errand> errand_;
  JobFilter filter_;
};

TEST_F(Filter, IsGivenByAnyOfItsFlags) {
  EXPECT_FALSE(with({}).is_given());
  EXPECT_TRUE(with({"--state", "ready"}).is_given());
  EXPECT_FALSE(filter_.has_more_than_state());
  for (const char* flag : {"--match", "--note", "--class"}) {
    EXPECT_TRUE(with({flag, "x"}).has_more_than_state()) << flag;
  }
  EXPECT_TRUE(with({"--since", "1h"}).has_more_than_state());
}

TEST_F(Filter, AClassMatchesAsAWholeOrByItsLastPart) {
  const std::string body = R"({"displayName":"App\\Jobs\\SendMail"})";
  EXPECT_TRUE(with({"--class", "SendMail"}).matches_body(body));
  EXPECT_TRUE(with({"--class", "App\\Jobs\\SendMail"}).matches_body(body));
  EXPECT_FALSE(with({"--class", "Mail"}).matches_body(body));
  EXPECT_FALSE(with({"--class", "App"}).matches_body(body));
  EXPECT_TRUE(with({"--class", "Job"}).matches_body(R"({"class":"Billing::Job"})"));
}

TEST_F(Filter, ATextMatchesBehindEscapes) {
  with({"--match", "M\xc3\xbcller \xf0\x9f\x98\x80 a/b"});
  EXPECT_TRUE(filter_.matches_body("M\xc3\xbcller \xf0\x9f\x98\x80 a/b"));
  EXPECT_TRUE(filter_.matches_body(R"(\q M\u00fcller \ud83d\ude00 a\/b \)"));
  EXPECT_FALSE(filter_.matches_body(R"(M\u00fcller \ud83d\ude01 a\/b)"));
}

TEST_F(Filter, AgesCountFromTheBurial) {
  const std::int64_t now = 2000000000;
  with({"--older", "2020-01-01"});
  EXPECT_TRUE(filter_.may_match(job("id: 1\nstate: ready\nage: 900000000\n"), now));
  EXPECT_FALSE(
      filter_.may_match(job("id: 1\nstate: buried\nage: 900000000\nburied-ago: 5\n"), now));
  with({"--since", "2020-01-01", "--state", "buried"});
  EXPECT_TRUE(filter_.may_match(job("id: 1\nstate: buried\nage: 900000000\nburied-ago: 5\n"), now));
  EXPECT_FALSE(filter_.may_match(job("id: 1\nstate: ready\nage: 5\n"), now));
}

}  // namespace
}  // namespace haricot::tool
