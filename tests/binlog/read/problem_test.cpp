#include "haricot/binlog/read/problem.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace haricot::binlog {
namespace {

using ProblemKind = Problem::Kind;

constexpr ProblemKind kAllProblems[] = {
    ProblemKind::damaged, ProblemKind::job_lost, ProblemKind::unproven, ProblemKind::torn,
    ProblemKind::late,    ProblemKind::unfit,    ProblemKind::in_doubt};

Problem problem_of(ProblemKind kind) {
  return {.kind = kind,
          .file = "binlog.3",
          .other = "binlog.4",
          .why = "was written as binlog.5",
          .offset = 88,
          .bytes = 91,
          .records = 2,
          .jobs = 5,
          .id = 17};
}

TEST(Problem, EachKindHasASentenceOfItsOwn) {
  std::set<std::string> sentences;
  for (const ProblemKind kind : kAllProblems) {
    const std::string sentence = to_sentence(problem_of(kind));
    EXPECT_NE(sentence.find("binlog.3"), std::string::npos) << sentence;
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
    sentences.insert(sentence);
  }
  EXPECT_EQ(sentences.size(), std::size(kAllProblems));
}

TEST(Problem, ATornEndAndALateFileAreNoDamage) {
  for (const ProblemKind kind : kAllProblems) {
    const bool is_left_by_a_crash = kind == ProblemKind::torn || kind == ProblemKind::late;
    EXPECT_EQ(is_damage(problem_of(kind)), !is_left_by_a_crash) << to_sentence(problem_of(kind));
  }
}

TEST(Problem, ARefusalNamesTheFirstUnfitFileAndCountsOthers) {
  std::vector<Problem> problems = {problem_of(ProblemKind::damaged), problem_of(ProblemKind::late)};
  EXPECT_EQ(refusal_of(problems), "");
  problems.push_back(problem_of(ProblemKind::unfit));
  EXPECT_EQ(refusal_of(problems), "binlog.3 was written as binlog.5");
  problems.push_back(problem_of(ProblemKind::unfit));
  EXPECT_EQ(refusal_of(problems),
            "binlog.3 was written as binlog.5, and 1 other problem of this kind");
  EXPECT_NE(with_remedy("x", problems, "/jobs").find("haricot binlog repair /jobs NEW"),
            std::string::npos);
  EXPECT_EQ(with_remedy("x", {problem_of(ProblemKind::late)}, "/jobs"), "x");
}

TEST(Problem, ASentenceHasThePlaceAndTheNumbers) {
  EXPECT_EQ(to_sentence(problem_of(ProblemKind::damaged)),
            "binlog.3 is damaged at offset 88: 91 bytes cannot be read, 2 records lost");
  EXPECT_EQ(
      to_sentence({.kind = ProblemKind::damaged, .file = "binlog.1", .offset = 4, .bytes = 1}),
      "binlog.1 is damaged at offset 4: 1 byte cannot be read");
  EXPECT_EQ(to_sentence(problem_of(ProblemKind::job_lost)),
            "binlog.3: the body of job 17 is damaged, the job is lost");
  EXPECT_NE(to_sentence(problem_of(ProblemKind::torn)).find("91 bytes at offset 88"),
            std::string::npos);
  EXPECT_NE(to_sentence(problem_of(ProblemKind::in_doubt)).find("5 jobs"), std::string::npos);
  EXPECT_NE(to_sentence(problem_of(ProblemKind::unproven)).find("5 records"), std::string::npos);
  EXPECT_EQ(to_sentence(problem_of(ProblemKind::unfit)), "binlog.3 was written as binlog.5");
  EXPECT_EQ(to_sentence({.kind = ProblemKind::damaged, .file = "binlog.1"}),
            "binlog.1 is empty, and may have had records");
}

}  // namespace
}  // namespace haricot::binlog
