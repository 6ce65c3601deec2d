// What the tests of the binlog share: a folder, a server over it that can be exchanged, and what
// both say about themselves.

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
  // Starts a server of this kind over the folder, with these flags besides -b, and waits until it
  // has the jobs.
  [[nodiscard]] bool start(ServerKind kind, std::vector<std::string> flags = {});
  [[nodiscard]] bool start(std::vector<std::string> flags = {}) {
    return start(ServerKind::haricot, std::move(flags));
  }
  // Stops the server; the test fails if it does not end as it should.
  void stop();
  void kill() { server_.kill_hard(); }
  // Stops it and starts it again with the same flags.
  [[nodiscard]] bool restart();
  // The same, without giving the server a chance to do anything.
  [[nodiscard]] bool kill_and_start();

  // A connected client. If that fails, so does the test, and all it is asked fails too.
  Client connect();
  // The number after a key of `stats`.
  std::uint64_t stat(std::string_view key);

  TemporaryFolder folder_;
  ServerProcess server_;
  std::vector<std::string> launcher_;  // See ServerOptions.

 private:
  ServerKind kind_ = ServerKind::haricot;
  std::vector<std::string> flags_;
};

// A text of this many bytes that no other number gives, of letters, digits and a few others.
std::string numbered_body(std::uint64_t number, std::size_t bytes);

}  // namespace haricot::test
