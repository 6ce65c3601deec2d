// Handling of a request: the route to its handler, and the exchange, by which the handler answers.

#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "web/http/message.hpp"

namespace haricot::web {

// One request and its response in progress.
//
// A handler answers at once, or keeps the exchange and answers in a later turn. It calls respond(),
// or it streams: begin_stream(), write() any number of times, end().
//
// The exchange has no socket: it makes bytes, and its connection sends them.
class Exchange final {
 public:
  // Unsent output at which can_take() becomes false.
  static constexpr std::size_t kOutputBytesMax = 64 * 1024;
  // Unsent output at which write() drops the peer, for writers of events, which cannot wait.
  static constexpr std::size_t kOutputBytesEnd = 1024 * 1024;

  // The server's side of an exchange; outlives it.
  struct Server {
    void* self;
    // Logs an action of a handler on a beanstalk server.
    void (*acted)(void* self, const Request& request, std::string_view action,
                  std::string_view server, std::string_view what, std::string_view result);
    std::string common_headers;  // Whole lines for the head of each response.
  };
  // The connection's side of an exchange. It calls detach() before it is destroyed.
  struct Connection {
    void* self;
    // Signals output, or the end of the response. Called within respond(), begin_stream(), write()
    // and end(), so it must only record the event.
    void (*changed)(void* self);
  };

  Exchange(Request request, const Server& server, const Connection& connection)
      : request_(std::move(request)), server_(server), connection_(connection) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const Request& request() const { return request_; }

  // Sends the whole response. Has no effect if the peer is gone, like all functions below.
  // Requires: no response has begun.
  void respond(Response response);
  // Sends a refusal() with a status and its reason.
  void refuse(std::uint16_t status, std::string_view reason) {
    respond(refusal(request_, status, reason));
  }

  // Begins a response in pieces, of unknown length. Requires: no response has begun.
  void begin_stream(std::string type);
  // Adds a piece. Returns false if the stream has ended because the peer is gone, reads too slowly,
  // or asked only for the head; on_ready and on_gone are then not called any more. Requires:
  // begin_stream() was called.
  [[nodiscard]] bool write(std::string_view piece);
  // Returns true if there is room for more output. Otherwise continue when on_ready is called.
  bool can_take() const { return state_ != State::ended && waiting_bytes() < kOutputBytesMax; }
  // Ends the stream. Has no effect if it has ended already.
  void end();

  // Logs an action that the request causes: the action ("kick"), the server ("127.0.0.1:11300"),
  // the subject ("tube=mail count=10") and the result ("done=7").
  void log_action(std::string_view action, std::string_view server, std::string_view what,
                  std::string_view result) const;

  // Called when can_take() becomes true again, and when the peer is gone before the end. Both are
  // destroyed at the end of the response, so they may own the exchange.
  std::function<void()> on_ready = {};
  std::function<void()> on_gone = {};

  // For the connection:

  bool is_open() const { return state_ == State::open; }
  // Returns true if all bytes of the response are in the output, or were sent.
  bool is_ended() const { return state_ == State::ended; }
  // Returns true if the connection must be closed after this response.
  bool has_to_close() const { return has_to_close_; }
  // Returns true if the stream was aborted.
  bool is_broken() const { return is_broken_; }
  std::string_view output() const { return std::string_view(output_).substr(sent_); }
  // Drops the first bytes of the output, which were sent. Calls on_ready if it is due.
  void sent(std::size_t bytes);
  // Detaches the exchange from its connection, which is gone. Calls on_gone if the response had not
  // ended.
  void detach();

 private:
  enum class State : std::uint8_t { open, streaming, ended };

  std::size_t waiting_bytes() const { return output_.size() - sent_; }
  void append_head(const Response& response, std::string_view length_line);
  void finish();
  void notify_connection();

  Request request_;
  const Server& server_;
  std::optional<Connection> connection_;  // Empty if the connection is gone.
  State state_ = State::open;
  bool is_chunked_ = false;
  bool was_full_ = false;  // on_ready has to be called.
  bool has_to_close_ = false;
  bool is_broken_ = false;
  std::string output_;
  std::size_t sent_ = 0;  // Bytes of the output that were sent.
};

// A table row that maps a path to its handler.
struct Route {
  Method method;          // `get` serves HEAD, too.
  std::string_view path;  // The whole path, without the base path.
  void (*handle)(void* self, std::shared_ptr<Exchange> exchange);
  void* self;  // First argument of handle(); outlives the table.
  // Requires a login if there is a token.
  bool needs_login = true;
  // A stream of events; their number is limited.
  bool is_events = false;
  // A health check. It reveals nothing, so it is served under any host name, and even when the
  // limits of connections and memory are reached.
  bool is_probe = false;
  // A page that other sites may link to. All other routes refuse requests that a browser sends for
  // another site: the site cannot read the answer, but could cause load.
  bool is_page = false;
  // Changes a server. If changes are not allowed, it is refused before its body is read.
  bool is_change = false;
  // Largest body of this route. The limit of the server applies, too.
  std::size_t body_bytes_max = 0;
};

// An awaitable for coroutines that write long responses. Resumes when the exchange can take more,
// or when its peer is gone, which write() reports.
struct Writable {
  Exchange& exchange;

  bool await_ready() const { return exchange.can_take() || exchange.is_ended(); }
  void await_suspend(std::coroutine_handle<> handle) const {
    // The first of the two callbacks resumes the coroutine.
    const auto waiting = std::make_shared<std::coroutine_handle<>>(handle);
    const auto resume = [waiting] {
      if (const auto once = std::exchange(*waiting, nullptr)) once.resume();
    };
    exchange.on_ready = resume;
    exchange.on_gone = resume;
  }
  void await_resume() const {}
};

}  // namespace haricot::web
