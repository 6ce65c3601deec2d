#include "haricot/binlog/read/problem.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace haricot::binlog {
namespace {

using ProblemKind = Problem::Kind;

constexpr ProblemKind kAllProblems[] = {
    ProblemKind::damaged,      ProblemKind::job_lost,  ProblemKind::unproven,
    ProblemKind::torn,         ProblemKind::missing,   ProblemKind::emptied,
    ProblemKind::displaced,    ProblemKind::duplicate, ProblemKind::foreign,
    ProblemKind::contradicted, ProblemKind::other_run, ProblemKind::late,
    ProblemKind::misnamed,     ProblemKind::in_doubt};

Problem problem_of(ProblemKind kind) {
  return {.kind = kind,
          .file = "binlog.3",
          .other = "binlog.4",
          .offset = 88,
          .bytes = 91,
          .records = 2,
          .jobs = 5,
          .id = 17};
}

TEST(Problem, EachKindHasANameAndASentenceOfItsOwn) {
  std::set<std::string> names;
  std::set<std::string> sentences;
  for (const ProblemKind kind : kAllProblems) {
    const std::string name = name_of(kind);
    EXPECT_FALSE(name.empty());
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string::npos) << name;
    names.insert(name);
    const std::string sentence = to_sentence(problem_of(kind));
    EXPECT_NE(sentence.find("binlog.3"), std::string::npos) << sentence;
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
    sentences.insert(sentence);
  }
  EXPECT_EQ(names.size(), std::size(kAllProblems));
  EXPECT_EQ(sentences.size(), std::size(kAllProblems));
}

TEST(Problem, OnlyATornEndIsNoDamage) {
  for (const ProblemKind kind : kAllProblems) {
    EXPECT_EQ(is_damage(problem_of(kind)), kind != ProblemKind::torn) << name_of(kind);
  }
}

TEST(Problem, SentenceStatesThatAFileIsLeftAside) {
  for (const ProblemKind kind :
       {ProblemKind::duplicate, ProblemKind::foreign, ProblemKind::contradicted}) {
    EXPECT_TRUE(is_left_aside(kind));
    EXPECT_NE(to_sentence(problem_of(kind)).find("left aside"), std::string::npos) << name_of(kind);
  }
  for (const ProblemKind kind :
       {ProblemKind::damaged, ProblemKind::torn, ProblemKind::missing, ProblemKind::displaced,
        ProblemKind::emptied, ProblemKind::in_doubt}) {
    EXPECT_FALSE(is_left_aside(kind));
    EXPECT_EQ(to_sentence(problem_of(kind)).find("left aside"), std::string::npos) << name_of(kind);
  }
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
  EXPECT_EQ(to_sentence(problem_of(ProblemKind::displaced)),
            "binlog.3 was written as binlog.4 and is read in its place");
}

}  // namespace
}  // namespace haricot::binlog
