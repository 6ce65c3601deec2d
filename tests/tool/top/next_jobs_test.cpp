#include "tool/top/next_jobs.hpp"

#include <gtest/gtest.h>

#include <string>

namespace haricot::tool {
namespace {

TEST(ParseJobs, EachJobHasItsKeys) {
  const auto jobs =
      parse_jobs("---\njobs:\n- id: 7\n  tube: \"mail\"\n  bytes: 5\n- id: 9\n  tube: \"a: b\"\n");
  ASSERT_TRUE(jobs);
  ASSERT_EQ(jobs->size(), 2U);
  EXPECT_EQ((*jobs)[0].number("id"), 7U);
  EXPECT_EQ((*jobs)[0].number("bytes"), 5U);
  EXPECT_EQ(*(*jobs)[1].find("tube"), "a: b");
}

TEST(ParseJobs, AnEmptyListIsAnAnswer) {
  const auto jobs = parse_jobs("---\njobs: []\n");
  ASSERT_TRUE(jobs);
  EXPECT_TRUE(jobs->empty());
}

TEST(ParseJobs, WhatIsNoListIsNone) {
  for (const std::string text :
       {"", "---\n", "jobs: []\n", "---\njobs:\n  id: 1\n", "---\njobs:\n- tube: x\n",
        "---\njobs:\n- id: 1", "---\njobs:\n\n", "---\njobs:\n- id: 1\nid: 2\n"}) {
    EXPECT_FALSE(parse_jobs(text) && !parse_jobs(text)->empty()) << text;
  }
  EXPECT_FALSE(parse_jobs("---\njobs:\n- id: 1\nid: 2\n"));
  EXPECT_FALSE(parse_jobs("---\n"));
}

}  // namespace
}  // namespace haricot::tool
