// The flags --rule and --rules, and SIGHUP.

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "support/daemon_fixture.hpp"

namespace haricot::test {
namespace {

class DaemonRules : public DaemonTest {
 protected:
  // Replaces the file as an editor does.
  void write(const std::string& text) {
    std::ofstream(path_ + ".new") << text;
    ASSERT_EQ(std::rename((path_ + ".new").c_str(), path_.c_str()), 0);
  }
  // Sends SIGHUP, and waits until the log has the text.
  void reload(const std::string& wanted) {
    const std::size_t before = server_.standard_error().size();
    ASSERT_TRUE(server_.signal(SIGHUP));
    EXPECT_TRUE(eventually([&] {
      return server_.standard_error().find(wanted, before) != std::string::npos;
    })) << server_.standard_error();
  }
  static std::string rule_of(const Client& client) {
    return report_value(client->ask("stats-tube-detail default"), "rule");
  }

  std::string path_ = folder_.file("rules");
};

TEST_F(DaemonRules, ApplyToPutsAndAreReadAgain) {
  for (const char* flag : {"--sandbox", "--no-sandbox"}) {
    SCOPED_TRACE(flag);
    write("# none yet\n* try:7\n");
    ASSERT_TRUE(start({"--rule", "mail-* con:mail", "--rules=" + path_, flag}))
        << server_.failure();
    EXPECT_NE(said_at_start().find("event=rules count=2 rules=\"mail-* con:mail; * try:7\""),
              std::string::npos)
        << said_at_start();
    const Client client = connect();
    EXPECT_EQ(rule_of(client), "try:7");
    ASSERT_EQ(client->put("job"), "INSERTED 1\r\n");

    write("default try:1\n");
    reload("event=rules count=2 rules=\"mail-* con:mail; default try:1\"");
    EXPECT_EQ(rule_of(client), "try:1");
    ASSERT_EQ(client->put("job"), "INSERTED 2\r\n");
    EXPECT_NE(client->ask("scan-jobs 1 1").find("try: \"7:quiet\""), std::string::npos);
    EXPECT_NE(client->ask("scan-jobs 2 1").find("try: \"1:quiet\""), std::string::npos);

    write("default try:2\n\nmistake\n");
    reload("event=rules-refused message=\"" + path_ + ":3: no tags\"");
    EXPECT_EQ(rule_of(client), "try:1");
    ASSERT_EQ(std::remove(path_.c_str()), 0);
    reload("event=rules-refused message=\"cannot read ");
    EXPECT_EQ(rule_of(client), "try:1");
    write("");
    reload("event=rules count=1 rules=\"mail-* con:mail\"");
    EXPECT_EQ(rule_of(client), "");
    ASSERT_TRUE(server_.signal(SIGTERM));
    EXPECT_EQ(server_.wait_exit(), kGood);
  }
}

TEST_F(DaemonRules, WithoutAFileNothingIsReadAgain) {
  ASSERT_TRUE(start({"--rule", "* try:7"})) << server_.failure();
  reload("event=nothing-to-reload");
  EXPECT_EQ(rule_of(connect()), "try:7");
}

TEST_F(DaemonRules, AMistakeEndsTheStart) {
  write("* try:7\n* unknown:7\n");
  for (const char* action : {"--check", "--no-sandbox"}) {
    SCOPED_TRACE(action);
    const Ending ending = run_to_end({"--rules=" + path_, action});
    EXPECT_EQ(ending.status, ExitStatus{.code = 5});
    EXPECT_NE(ending.error.find(path_ + ":2: unknown tag: unknown:7"), std::string::npos)
        << ending.error;
  }
}

}  // namespace
}  // namespace haricot::test
