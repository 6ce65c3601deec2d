#include "os/process.hpp"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "child_result.hpp"

namespace haricot::os {
namespace {

bool is_open(int number) {
  return ::fcntl(number, F_GETFD) >= 0;
}

// Closes a set of the standard descriptors (bit 0 is descriptor 0) and reopens them.
int reopen_standard_descriptors(int set) {
  ::closefrom(3);
  for (int number = 0; number <= 2; ++number) {
    if ((set >> number & 1) != 0) ::close(number);
  }
  open_standard_descriptors();
  for (int number = 0; number <= 2; ++number) {
    if (!is_open(number)) return 1 + number;
    if ((set >> number & 1) == 0) continue;
    const ssize_t written = ::write(number, "x", 1);
    const bool is_as_it_should =
        number == STDOUT_FILENO ? written < 0 && errno == EBADF : written == 1;
    if (!is_as_it_should) return 11 + number;
    char byte;
    if (::read(number, &byte, 1) != 0) return 21 + number;
  }
  return is_open(3) ? 31 : kGood;
}

TEST(Process, OnlyMissingStandardDescriptorsAreOpened) {
  EXPECT_EQ(result_in_child([] { return reopen_standard_descriptors(0); }), kGood);
  EXPECT_EQ(result_in_child([] { return reopen_standard_descriptors(1); }), kGood);
  EXPECT_EQ(result_in_child([] { return reopen_standard_descriptors(2); }), kGood);
  EXPECT_EQ(result_in_child([] { return reopen_standard_descriptors(4); }), kGood);
  EXPECT_EQ(result_in_child([] { return reopen_standard_descriptors(5); }), kGood);
  EXPECT_EQ(result_in_child([] { return reopen_standard_descriptors(7); }), kGood);
}

TEST(Process, TheSoftLimitOfDescriptorsIsRaisedToTheHardOne) {
  const auto raise = [] {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max <= 64) return 1;
    const rlim_t hard = limit.rlim_max;
    limit.rlim_cur = 64;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 2;
    raise_descriptor_limit();
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 3;
    return limit.rlim_cur == hard && limit.rlim_max == hard ? kGood : 4;
  };
  EXPECT_EQ(result_in_child(raise), kGood);
}

TEST(Process, InstanceIdIsAStringToEveryReaderOfYaml) {
  for (int i = 0; i < 1000; ++i) {
    ServerInfo info;
    describe_process(info);
    ASSERT_EQ(info.instance_id.size(), 16U);
    ASSERT_EQ(info.instance_id.find_first_not_of("0123456789abcdef"), std::string::npos);
    ASSERT_NE(std::string_view("abcdef").find(info.instance_id[0]), std::string_view::npos)
        << info.instance_id;
  }
}

TEST(Process, AnUnknownUserHasItsOwnError) {
  std::string error;
  bool no_such_user = false;
  EXPECT_FALSE(become_user("no-such-user-here", error, no_such_user));
  EXPECT_TRUE(no_such_user);
  EXPECT_NE(error.find("no-such-user-here"), std::string::npos);
}

TEST(Process, RootBecomesAUserWithoutAWayBack) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  const auto become = [] {
    const gid_t more[] = {0, 1, 4};
    if (::setgroups(3, more) != 0) return 1;
    std::string error;
    bool no_such_user = false;
    if (!become_user("nobody", error, no_such_user)) return 2;
    uid_t users[3];
    gid_t groups[3];
    if (::getresuid(&users[0], &users[1], &users[2]) != 0) return 3;
    if (::getresgid(&groups[0], &groups[1], &groups[2]) != 0) return 4;
    for (int i = 0; i < 3; ++i) {
      if (users[i] == 0 || users[i] != users[0]) return 5;
      if (groups[i] == 0 || groups[i] != groups[0]) return 6;
    }
    gid_t kept[64];
    const int count = ::getgroups(64, kept);
    for (int i = 0; i < count; ++i) {
      if (kept[i] == 0 || kept[i] == 1 || kept[i] == 4) return 7;  // Still a group of root.
    }
    if (::setuid(0) == 0 || ::setgid(0) == 0) return 8;
    return kGood;
  };
  EXPECT_EQ(result_in_child(become), kGood);
}

TEST(Process, TheCurrentUserStaysAndCannotBecomeAnother) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  const auto become = [] {
    std::string error;
    bool no_such_user = false;
    if (!become_user("nobody", error, no_such_user)) return 1;
    if (!become_user("nobody", error, no_such_user)) return 2;
    if (become_user("daemon", error, no_such_user)) return 3;
    return no_such_user || error.empty() ? 4 : kGood;
  };
  EXPECT_EQ(result_in_child(become), kGood);
}

TEST(Process, ItIsDescribedInPlainWords) {
  ServerInfo info;
  describe_process(info);
  EXPECT_EQ(info.pid, ::getpid());
  for (const std::string& text : {info.hostname, info.os, info.platform}) {
    EXPECT_FALSE(text.empty());
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) {
      return c >= ' ' && c <= '~' && c != '"' && c != '\\';
    })) << text;
  }
}

TEST(Process, EachInstanceHasAnIdOfItsOwn) {
  ServerInfo first;
  ServerInfo second;
  describe_process(first);
  describe_process(second);
  EXPECT_NE(first.instance_id, second.instance_id);
  EXPECT_EQ(first.instance_id.size(), 16U);
  EXPECT_EQ(first.instance_id.find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(Process, CpuTimeIsThatOfTheProcess) {
  ServerInfo info;
  describe_process(info);
  ASSERT_NE(info.cpu_usage, nullptr);
  const auto total = [&info] { return info.cpu_usage().user_us + info.cpu_usage().system_us; };
  const std::uint64_t before = total();
  volatile std::uint64_t work = 0;
  while (total() < before + 20'000) work = work + 1;  // Ends only if the time advances.
  EXPECT_GT(work, 0U);
}

}  // namespace
}  // namespace haricot::os
