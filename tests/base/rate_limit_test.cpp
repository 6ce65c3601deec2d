#include "haricot/base/rate_limit.hpp"

#include <gtest/gtest.h>

namespace haricot {
namespace {

TEST(RateLimit, AllowsOneAnInterval) {
  RateLimit limit(Duration::nanoseconds(10), Instant::at(5));
  EXPECT_FALSE(limit.take(Instant::at(4)));
  EXPECT_TRUE(limit.take(Instant::at(7)));
  EXPECT_FALSE(limit.take(Instant::at(7)));
  EXPECT_FALSE(limit.take(Instant::at(16)));
  EXPECT_TRUE(limit.take(Instant::at(17)));
}

TEST(RateLimit, IdleIntervalsAreNotMadeUpFor) {
  RateLimit limit(Duration::nanoseconds(10), Instant::at(0));
  EXPECT_TRUE(limit.take(Instant::at(100)));
  EXPECT_FALSE(limit.take(Instant::at(109)));
  EXPECT_TRUE(limit.take(Instant::at(110)));
}

TEST(RateLimit, AllowsTheSetNumberInEachInterval) {
  RateLimit limit(Duration::nanoseconds(10), Instant::at(0), 2);
  EXPECT_TRUE(limit.take(Instant::at(5)));
  EXPECT_TRUE(limit.take(Instant::at(14)));
  EXPECT_FALSE(limit.take(Instant::at(14)));
  EXPECT_TRUE(limit.take(Instant::at(15)));
  EXPECT_TRUE(limit.take(Instant::at(15)));
  EXPECT_FALSE(limit.take(Instant::at(24)));
}

}  // namespace
}  // namespace haricot
