// One request and its response, while it is under way.
//
// A handler answers at once, or keeps the exchange and answers in a later turn. It answers with
// respond(), or with a stream: begin_stream(), write() any number of times, end().
//
// The exchange has no socket. It makes bytes, and its connection takes them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "web/http/request.hpp"
#include "web/http/response.hpp"

namespace haricot::web {

class Exchange final {
 public:
  // Makers of long bodies stop at this much output that nobody has taken;
  static constexpr std::size_t kOutputBytesMax = 64 * 1024;
  // makers of events, which cannot stop, lose the peer at this much.
  static constexpr std::size_t kOutputBytesEnd = 1024 * 1024;

  // What an exchange needs of the server, which outlives it,
  struct Server {
    void* self;
    // A handler has acted on a beanstalk server.
    void (*acted)(void* self, const Request& request, std::string_view action,
                  std::string_view server, std::string_view what, std::string_view result);
    std::string common_headers;  // Whole lines, for the head of each response.
  };
  // and of its connection, which calls leave() before it ends.
  struct Connection {
    void* self;
    // There is output, or the response has ended. Is called from within respond(), begin_stream(),
    // write() and end(), so it only takes a note.
    void (*changed)(void* self);
  };

  Exchange(Request request, const Server& server, const Connection& connection)
      : request_(std::move(request)), server_(server), connection_(connection) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const Request& request() const { return request_; }

  // The whole response. Once, and nothing after it. Has no effect where the peer is gone, like all
  // that follows. Requires: nothing was answered.
  void respond(Response response);

  // A response in pieces, of a length that nobody knows yet. Requires: nothing was answered.
  void begin_stream(std::string type);
  // False: the peer wants no more: it is gone, reads too slowly, or asked for the head only. The
  // stream is over then, and nothing is called any more. Requires: begin_stream().
  [[nodiscard]] bool write(std::string_view piece);
  // Whether there is room for more. If not, stop and go on at on_ready.
  bool can_take() const { return state_ != State::ended && waiting_bytes() < kOutputBytesMax; }
  // The end of the stream, in good order. Has no effect where it is over already.
  void end();

  // Writes a line to the log: who did what to which server ("kick", "127.0.0.1:11300", "tube=mail
  // count=10"), and with which result ("done=7"). For each action that a request causes.
  void log_action(std::string_view action, std::string_view server, std::string_view what,
                  std::string_view result) const;

  // Called in a turn when can_take() again, after it could not, and when the peer has gone before
  // the end. Either may hold the exchange: both are dropped at the end.
  std::function<void()> on_ready = {};
  std::function<void()> on_gone = {};

  // For the connection:

  bool is_open() const { return state_ == State::open; }
  // All that belongs to the response is in the output, or was.
  bool is_ended() const { return state_ == State::ended; }
  // The connection cannot go on after this response.
  bool has_to_close() const { return has_to_close_; }
  // The stream was given up in its middle.
  bool is_broken() const { return is_broken_; }
  std::string_view output() const { return std::string_view(output_).substr(sent_); }
  // The first bytes of the output have left. Calls on_ready if it is due.
  void sent(std::size_t bytes);
  // The peer is gone, or the connection ends. Calls on_gone if the response was not over.
  void leave();

 private:
  enum class State : std::uint8_t { open, streaming, ended };

  std::size_t waiting_bytes() const { return output_.size() - sent_; }
  void append_head(const Response& response, std::string_view length_line);
  void finish();
  void tell_connection();

  Request request_;
  const Server& server_;
  std::optional<Connection> connection_;  // Nothing: it is gone.
  State state_ = State::open;
  bool is_chunked_ = false;
  bool was_full_ = false;  // on_ready is owed.
  bool has_to_close_ = false;
  bool is_broken_ = false;
  std::string output_;
  std::size_t sent_ = 0;  // So much of the output has left.
};

}  // namespace haricot::web
