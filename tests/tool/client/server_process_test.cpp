#include "tool/client/server_process.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
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

StatsText stats_of(const std::string& host, pid_t pid, const std::string& uptime) {
  return *StatsText::parse("---\nhostname: \"" + host + "\"\npid: " + std::to_string(pid) +
                           "\nuptime: " + uptime + "\n");
}

std::string own_host() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

TEST(ServerMemory, OfAProcessOfThisMachineIsKnown) {
  // The age of this process is below the tolerance of a minute.
  const auto memory = server_memory(stats_of(own_host(), ::getpid(), "0"));
  ASSERT_TRUE(memory);
  EXPECT_GT(*memory, 100'000U);
}

TEST(ServerMemory, OfAnotherProcessIsNot) {
  EXPECT_FALSE(server_memory(stats_of(own_host() + "x", ::getpid(), "0")));
  // The process has this id, but is younger than the server.
  EXPECT_FALSE(server_memory(stats_of(own_host(), ::getpid(), "100000000")));
  EXPECT_FALSE(server_memory(stats_of(own_host(), 0, "0")));
  EXPECT_FALSE(server_memory(*StatsText::parse("---\npid: 1\n")));
}

}  // namespace
}  // namespace haricot::tool
