#include "tool/top/server_memory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace haricot::tool {
namespace {

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
