#include "tool_fixture.hpp"

#include <cstdlib>
#include <utility>

namespace haricot::test {

bool ToolTest::start_tool(std::vector<std::string> words) {
  const bool good = tool_.launch({.binary = HARICOT_PATH, .arguments = std::move(words)});
  EXPECT_TRUE(good) << tool_.failure();
  return good;
}

Ending ToolTest::end_of_tool() {
  const auto status = tool_.wait_exit(std::chrono::seconds(60));
  EXPECT_TRUE(status) << "it did not end; stderr: " << tool_.standard_error();
  if (!status) tool_.kill_hard();
  return {.status = status.value_or(ExitStatus{}),
          .output = tool_.standard_output(),
          .error = tool_.standard_error()};
}

Ending ToolTest::run_tool(std::vector<std::string> words) {
  if (!start_tool(std::move(words))) return {};
  return end_of_tool();
}

std::string ToolTest::server_address() const {
  if (!server_.unix_path().empty()) return "unix:" + server_.unix_path();
  return "127.0.0.1:" + std::to_string(server_.port());
}

double json_value(std::string_view json, std::string_view key) {
  const std::string start = "\"" + std::string(key) + "\":";
  const std::size_t at = json.find(start);
  if (at == std::string_view::npos) return -1;
  return std::strtod(std::string(json.substr(at + start.size(), 40)).c_str(), nullptr);
}

}  // namespace haricot::test
