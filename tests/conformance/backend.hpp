// A server under test, as the runner uses it: connections that exchange bytes, and a clock.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::conformance {

// Result of a receive. `end`: the server has closed the connection, and nothing is left to read.
enum class Arrival { bytes, end, nothing };

// How long a receive may take if bytes need time: until an answer is certainly not coming, long
// enough for an unexpected answer, or no time at all.
enum class Patience { for_an_answer, for_silence, none };

// How a server ends before it starts again: on request, or suddenly.
enum class ServerEnd { stop, kill };

// Connections are numbered from 0 in the order in which they were opened. When a method returns,
// the server has noticed it (or, over TCP, has had ample time for that). A backend ends with its
// server.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  // Returns the new connection's number, or nothing if the server rejects it.
  [[nodiscard]] virtual std::optional<int> open() = 0;

  // Sends bytes to the server. Bytes that a closed connection does not accept are lost, as on a
  // socket.
  virtual void send(int connection, std::string_view bytes) = 0;

  // Appends received bytes to `into`.
  [[nodiscard]] virtual Arrival receive(int connection, Patience patience, std::string& into) = 0;

  virtual void half_close(int connection) = 0;
  virtual void close(int connection) = 0;
  virtual void reset(int connection) = 0;

  virtual void advance(std::chrono::nanoseconds duration) = 0;
  virtual void drain() = 0;

  // Returns true if the server has a binlog and restart() works.
  [[nodiscard]] virtual bool can_restart() const { return false; }

  // Ends the server with all connections, and starts it again with these flags over the same
  // binlog. New connections get further numbers. Returns the error, or an empty text.
  [[nodiscard]] virtual std::string restart(ServerEnd, const std::vector<std::string>&) {
    return "this backend cannot restart";
  }

  // Returns how much more time has passed than the script requires. Beyond the slack of its times,
  // failures mean nothing.
  [[nodiscard]] virtual std::chrono::nanoseconds lateness() const { return {}; }
};

// A backend whose server has just started, or the reason why there is none.
struct Started {
  std::unique_ptr<Backend> backend;
  std::string error;
};

}  // namespace haricot::conformance
