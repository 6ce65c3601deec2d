#include "tool/bench/process_usage.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace haricot::tool {
namespace {

TEST(ProcessUsage, CpuTimeGrowsWithWork) {
  const std::optional<ProcessUsage> before = usage_of(::getpid());
  ASSERT_TRUE(before);
  // Uses CPU until the clock has advanced; user and system time follow in coarser steps.
  std::optional<ProcessUsage> after = before;
  while (after->cpu_ns < before->cpu_ns + 50'000'000) after = usage_of(::getpid());
  const std::uint64_t parts =
      after->user_ns + after->system_ns - before->user_ns - before->system_ns;
  EXPECT_GE(parts, 20'000'000U);
}

TEST(ProcessUsage, MemoryInUseIsResident) {
  constexpr std::size_t kBytes = 32 * 1024 * 1024;
  const std::optional<ProcessUsage> before = usage_of(::getpid());
  const std::string much(kBytes, 'x');
  const std::optional<ProcessUsage> after = usage_of(::getpid());
  ASSERT_TRUE(before && after);
  EXPECT_EQ(much.back(), 'x');
  EXPECT_GE(after->resident_bytes, before->resident_bytes + kBytes * 9 / 10);
}

TEST(ProcessUsage, NoProcessHasNone) {
  EXPECT_FALSE(usage_of(0));
  EXPECT_FALSE(usage_of(-1));
  EXPECT_FALSE(usage_of(0x3fffffff));  // The kernel assigns no such id.
}

}  // namespace
}  // namespace haricot::tool
