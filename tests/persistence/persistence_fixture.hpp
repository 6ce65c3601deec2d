// Fixture for the tests of the binlog: a folder, and a replaceable server that uses it.

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/eventually.hpp"
#include "support/random.hpp"
#include "support/report_value.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"
#include "support/wire_client.hpp"

namespace haricot::test {

class PersistenceTest : public ::testing::Test {
 protected:
  // Starts a server of this kind on the folder, with -b and these flags, and waits until it has
  // restored the jobs.
  [[nodiscard]] bool start(ServerKind kind, std::vector<std::string> flags = {});
  [[nodiscard]] bool start(std::vector<std::string> flags = {}) {
    return start(ServerKind::haricot, std::move(flags));
  }
  // Stops the server. Fails the test if it does not exit cleanly.
  void stop();
  void kill() { server_.kill_hard(); }
  // Stops the server and starts it with the same flags.
  [[nodiscard]] bool restart();
  // Kills the server and starts it with the same flags.
  [[nodiscard]] bool kill_and_start();

  // Returns a connected client. If the connection fails, the test and all commands of the client
  // fail.
  Client connect();
  // Returns the number of a key of `stats`.
  std::uint64_t stat(std::string_view key);

  TemporaryFolder folder_;
  ServerProcess server_;
  std::vector<std::string> launcher_;  // See ServerOptions.

 private:
  ServerKind kind_ = ServerKind::haricot;
  std::vector<std::string> flags_;
};

// Returns a text of `bytes` bytes that is unique for the number, of letters, digits and a few
// others.
std::string numbered_body(std::uint64_t number, std::size_t bytes);

}  // namespace haricot::test
