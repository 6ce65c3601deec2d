// A server under test, as the runner sees it: connections that take and give bytes, and a clock.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::conformance {

// What a look at a connection found. `end`: the server has closed it, and nothing is left to read.
enum class Arrival { bytes, end, nothing };

// How long a look may take where bytes need time: until an answer is certainly not coming, long
// enough that an unasked-for answer would have come, or no time at all.
enum class Patience { for_an_answer, for_silence, none };

// How a server ends before it starts again: it is asked to, or it gets no chance to do anything.
enum class ServerEnd { stop, kill };

// Connections are numbered from 0 in the order in which they were opened. When a method returns,
// the server has taken notice (or, over TCP, has had ample time to). A backend dies with its
// server.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  // Returns the new connection's number, or nothing when the server does not take it.
  [[nodiscard]] virtual std::optional<int> open() = 0;

  // Gives the server bytes. Those a closed connection does not take are lost, as on a socket.
  virtual void send(int connection, std::string_view bytes) = 0;

  // Appends what has arrived to `into`.
  [[nodiscard]] virtual Arrival receive(int connection, Patience patience, std::string& into) = 0;

  virtual void half_close(int connection) = 0;
  virtual void close(int connection) = 0;
  virtual void reset(int connection) = 0;

  virtual void advance(std::chrono::nanoseconds duration) = 0;
  virtual void drain() = 0;

  // Whether the server has a binlog and restart() works.
  [[nodiscard]] virtual bool can_restart() const { return false; }

  // Ends the server, and all connections with it, and starts it again with these flags over the
  // same binlog. New connections are numbered on. Returns what went wrong, or an empty string.
  [[nodiscard]] virtual std::string restart(ServerEnd, const std::vector<std::string>&) {
    return "this backend cannot restart";
  }

  // How much more time has gone by than the script asked for. Above the slack its times have, a
  // failure says nothing about the server.
  [[nodiscard]] virtual std::chrono::nanoseconds lateness() const { return {}; }
};

// A backend whose server has just started, or why there is none.
struct Started {
  std::unique_ptr<Backend> backend;
  std::string error;
};

}  // namespace haricot::conformance
