// -u: the user of the daemon, without rights of root.

#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/daemon_fixture.hpp"
#include "support/process_facts.hpp"

namespace haricot::test {
namespace {

class DaemonUser : public DaemonTest {};

TEST_F(DaemonUser, ItBecomesThatUserInEveryWay) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  const passwd* nobody = ::getpwnam("nobody");
  ASSERT_NE(nobody, nullptr);
  const std::string user = std::to_string(nobody->pw_uid);
  const std::string group = std::to_string(nobody->pw_gid);

  ASSERT_TRUE(start({"-u", "nobody"})) << server_.failure();
  ASSERT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
  // Real, effective, saved, and the one for files.
  EXPECT_EQ(status_words(server_.pid(), "Uid"), std::vector<std::string>(4, user));
  EXPECT_EQ(status_words(server_.pid(), "Gid"), std::vector<std::string>(4, group));
  for (const std::string& id : status_words(server_.pid(), "Groups")) EXPECT_EQ(id, group);
  for (const char* set : {"CapPrm", "CapEff", "CapInh", "CapAmb"}) {
    EXPECT_EQ(status_words(server_.pid(), set), std::vector<std::string>{"0000000000000000"})
        << set;
  }
}

TEST_F(DaemonUser, NamingTheCurrentUserSucceeds) {
  const passwd* self = ::getpwuid(::geteuid());
  ASSERT_NE(self, nullptr);
  ASSERT_TRUE(start({"-u", self->pw_name})) << server_.failure();
  EXPECT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
}

}  // namespace
}  // namespace haricot::test
