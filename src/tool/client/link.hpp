// A connection to a server that never blocks.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "haricot/base/time.hpp"
#include "os/descriptor.hpp"
#include "os/poller.hpp"
#include "tool/client/address.hpp"
#include "tool/client/pipeline.hpp"

namespace haricot::tool {

// The reason why a connection ended, or could not be made.
struct Loss {
  enum class Kind : std::uint8_t {
    failed,   // A call of the system failed, or no address of the host accepts connections.
    closed,   // By the server.
    late,     // An answer did not arrive in time.
    foreign,  // The server does not speak the protocol.
    unasked,  // The server sent more answers than commands.
  };
  Kind kind = Kind::closed;
  bool was_connected = false;
  bool was_in_answer = false;  // A part of an answer has arrived.
  std::string text = {};       // `failed`: the sentence. `foreign`, `unasked`: the server's line.
  int error = 0;               // `failed`: the errno.
};

// Returns a message without the name of the server, safe to print. `late` is the message about a
// late answer. `name` describes the commands, if there are any.
std::string to_sentence(const Loss& loss, std::string_view late, std::string_view name = {});

// A connection to a server. It has no policy: its user decides when to open it again.
//
// With a poller it is registered there while it is open. Otherwise its user polls descriptor() for
// wanted_events() and passes the result to handle(). In both cases the user calls advance() after
// handle(), and again at next_event().
class Link final {
 public:
  struct Hooks {
    std::function<void(Instant now)> opened = {};
    // Called after all handlers of requests got null. May open the link again.
    std::function<void(Instant now, const Loss& loss)> lost = {};
  };

  // Borrows the address and the receive buffer, which must outlive the object. Links of one thread
  // may share a buffer. `answers_max` limits the answers under way; see Pipeline.
  Link(const Address& address, std::span<char> buffer, Hooks hooks,
       std::uint64_t answers_max = Pipeline::kUnlimited);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  // Forgets pending requests without a call of their handlers.
  ~Link();

  // Registers later connections with this poller, which must outlive them.
  void set_poller(os::Poller& poller) { poller_ = &poller; }

  // Connects to the addresses of the host in turn, to each within `patience`, from the next
  // advance() on. Requires: !is_open().
  void open(Duration patience, Instant now);
  // Closes the connection and calls the handlers of pending requests with null, but no hook. May be
  // called by a handler.
  void close();
  // Returns true while the link is connecting or connected.
  bool is_open() const { return state_ != State::closed; }
  bool is_connected() const { return state_ == State::connected; }

  // Requests that are asked here are sent by the next handle() or advance() of the connection.
  Pipeline& pipeline() { return pipeline_; }
  const Pipeline& pipeline() const { return pipeline_; }
  // Hands the connection over to the caller, and closes the link. Requires: it is connected, and
  // its pipeline is idle.
  os::Descriptor release();

  // Return the descriptor and its events for poll(); the descriptor is -1 if there is none.
  int descriptor() const { return is_watched_ ? socket_.get() : -1; }
  short wanted_events() const;
  // Returns the time of the next advance().
  Instant next_event() const;
  // Sends and receives. `events` are those of poll() or epoll, which have the same values. Reads
  // the clock, because an answer may be the end of a long wait.
  void handle(std::uint32_t events);
  // Connects, sends pending requests, and closes a connection whose server is late.
  void advance(Instant now);

 private:
  enum class State : std::uint8_t { closed, connecting, connected };

  void handle_source(os::EventSource& source, std::uint32_t events);
  void try_endpoints(Instant now);
  void end_attempt(int error);
  bool watch();
  void unwatch();
  void end_connect(Instant now);
  void send(Instant now);
  void set_waits_for_room(bool waits);
  void receive(Instant now);
  void lose(Instant now, Loss::Kind kind, std::string text, int error = 0);
  void lose_by(Instant now, const std::string& call, int error);

  const Address& address_;
  std::span<char> buffer_;
  Hooks hooks_;
  Pipeline pipeline_;
  os::Poller* poller_ = nullptr;
  os::EventHandler handler_;
  os::EventSource source_;
  State state_ = State::closed;
  os::Descriptor socket_;
  bool is_watched_ = false;      // A connect is under way, or the link is connected.
  bool waits_for_room_ = false;  // The socket did not accept all bytes.
  Duration patience_;            // For each address of the host.
  std::size_t endpoint_ = 0;     // Index of the address that is tried.
  Instant connect_end_;          // Deadline for this address.
  Instant retry_;                // Time of the next attempt while the server's queue is full.
  int connect_error_ = 0;        // The errno of the last address that failed.
};

}  // namespace haricot::tool
