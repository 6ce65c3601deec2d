// What the black-box tests of the daemon share: a server that the test starts, clients of it, and
// what it says about itself.

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

// Whether memory and CPU time of the server mean anything.
#ifdef HARICOT_SANITIZED
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

inline constexpr std::size_t kMebibyte = 1024 * 1024;

// How a process has ended that found nothing wrong.
inline constexpr ExitStatus kGood{.code = 0};

// How a process that ended by itself has ended, and what it has said.
struct Ending {
  ExitStatus status;
  std::string output;
  std::string error;
};

class DaemonTest : public ::testing::Test {
 protected:
  // Starts the daemon on a free port of 127.0.0.1, or wherever the options say.
  [[nodiscard]] bool start(std::vector<std::string> arguments = {});
  [[nodiscard]] bool start_with(ServerOptions options);
  // Starts it with exactly these arguments, for it to end by itself.
  Ending run_to_end(std::vector<std::string> arguments);
  // The options that launch() needs, for the tests that start it in their own stream.
  static ServerOptions options_with(std::vector<std::string> arguments);

  // All that the server has to say of its start. It listens a moment before it says so, and has
  // said it once it answers.
  std::string said_at_start();

  // A connected client. If that fails, so does the test, and all it is asked fails too.
  Client connect();
  std::vector<Client> connect(std::size_t count);
  // One with little room in its socket, so that the server soon cannot send any more if it does not
  // read. (Not less than a segment of the loopback: that would be read at a snail's pace.)
  Client connect_narrow();

  // The number after a key of `stats`, asked over a connection of its own.
  std::uint64_t server_stat(std::string_view key);

  TemporaryFolder folder_;
  ServerProcess server_;
};

// Bytes that never repeat within any distance that matters, always the same for one seed.
std::string varied_bytes(std::size_t count, std::uint32_t seed);

// `text` so many times.
std::string repeated(std::string_view text, std::size_t times);

}  // namespace haricot::test
