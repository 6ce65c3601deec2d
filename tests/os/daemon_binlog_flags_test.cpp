// The flags of the binlog, which this version does not have.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon_fixture.hpp"

namespace haricot::test {
namespace {

class DaemonBinlogFlags : public DaemonTest {};

// To take jobs and lose them at the next restart would be worse than not to start.
TEST_F(DaemonBinlogFlags, AServerThatWasToKeepABinlogDoesNotStartWithoutOne) {
  const std::vector<std::vector<std::string>> flags = {
      {"-b", folder_.path()}, {"-f", "10"}, {"-F"}, {"-s", "1048576"}, {"--binlog", "/nowhere"}};
  for (std::vector<std::string> words : flags) {
    SCOPED_TRACE(words[0]);
    words.insert(words.end(), {"-l", "127.0.0.1", "-p", "0"});
    const Ending ending = run_to_end(words);
    EXPECT_EQ(ending.status, (ExitStatus{.code = 5}));
    EXPECT_NE(ending.error.find("binlog"), std::string::npos) << ending.error;
  }
}

}  // namespace
}  // namespace haricot::test
