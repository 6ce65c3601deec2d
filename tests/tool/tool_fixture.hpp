// What the black-box tests of `haricot` share: a daemon, and runs of the tool against it.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/daemon_fixture.hpp"

namespace haricot::test {

class ToolTest : public DaemonTest {
 protected:
  // Starts the tool with these words; it goes on while the test does.
  [[nodiscard]] bool start_tool(std::vector<std::string> words);
  // Waits for its end.
  Ending end_of_tool();
  Ending run_tool(std::vector<std::string> words);

  // Where the daemon listens, as the tool wants it.
  std::string server_address() const;

  ServerProcess tool_;
};

// The number after a key of a JSON object on one line, the first one of that name; -1: not there.
double json_value(std::string_view json, std::string_view key);

}  // namespace haricot::test
