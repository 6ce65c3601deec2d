// Fixture of the black-box tests of `haricot`: a daemon, and runs of the tool against it.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/daemon_fixture.hpp"

namespace haricot::test {

class ToolTest : public DaemonTest {
 protected:
  // Starts the tool with these words in the background.
  [[nodiscard]] bool start_tool(std::vector<std::string> words);
  // Waits for the end of the tool.
  Ending end_of_tool();
  Ending run_tool(std::vector<std::string> words);

  // Returns the daemon's address for the tool.
  std::string server_address() const;

  ServerProcess tool_;
};

// Returns the number of the first key with this name in a JSON object of one line, or -1.
double json_value(std::string_view json, std::string_view key);

}  // namespace haricot::test
