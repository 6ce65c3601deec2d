// Fixture for black-box tests of the daemon: a server that the test starts, its clients, and its
// reports.

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
#include "support/report_value.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"
#include "support/wire_client.hpp"

namespace haricot::test {

// Memory and CPU time of a server with a sanitizer are meaningless.
#ifdef HARICOT_SANITIZED
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

inline constexpr std::size_t kMebibyte = 1024 * 1024;

// Exit status of a process that has found nothing wrong.
inline constexpr ExitStatus kGood{.code = 0};

// Exit status and output of a process that has ended by itself.
struct Ending {
  ExitStatus status;
  std::string output;
  std::string error;
};

class DaemonTest : public ::testing::Test {
 protected:
  // Starts the daemon on a free port of 127.0.0.1, or as the options specify.
  [[nodiscard]] bool start(std::vector<std::string> arguments = {});
  [[nodiscard]] bool start_with(ServerOptions options);
  // Starts it with exactly these arguments, and waits until it ends by itself.
  Ending run_to_end(std::vector<std::string> arguments);
  // Returns the options for launch(), for tests that add to them.
  static ServerOptions options_with(std::vector<std::string> arguments);

  // Returns the complete output of the server's start. The server listens a moment before it writes
  // this, and has written it when it answers.
  std::string said_at_start();

  // Returns a connected client. On failure the test fails, and all calls of the client fail too.
  Client connect();
  std::vector<Client> connect(std::size_t count);
  // Returns a client with a small socket buffer, so that the server soon cannot send if the client
  // does not read. (At least a segment of the loopback, because smaller ones are read extremely
  // slowly.)
  Client connect_narrow();

  // Returns the number after a key of `stats`, using a connection of its own.
  std::uint64_t server_stat(std::string_view key);

  TemporaryFolder folder_;
  ServerProcess server_;
};

// Returns bytes without repetitions at any distance that matters, always the same for one seed.
std::string varied_bytes(std::size_t count, std::uint32_t seed);

// Returns `text` repeated.
std::string repeated(std::string_view text, std::size_t times);

}  // namespace haricot::test
