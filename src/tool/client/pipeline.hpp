// Requests to one server and its answers, as bytes. A Pipeline has no socket and no clock: Link
// moves the bytes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "haricot/base/intrusive_list.hpp"
#include "haricot/base/time.hpp"
#include "tool/client/answer_parser.hpp"

namespace haricot::tool {

struct Request;

// The function that gets the answers to a request, and its object. `answer` is valid during the
// call. Null means that the connection was lost, and that no more answers come. In the last call
// the request is no longer pending, and may be destroyed or asked again.
struct AnswerHandler {
  void (*function)(void* context, Request& request, const Answer* answer);
  void* context;

  // Returns a handler that calls a method of an object, `void (Request&, const Answer*)`.
  template <auto kMethod, typename Owner>
  static AnswerHandler to(Owner& owner) {
    return {[](void* object, Request& request, const Answer* answer) {
              (static_cast<Owner*>(object)->*kMethod)(request, answer);
            },
            &owner};
  }
  // Returns a handler that calls a function object with the same arguments, which is borrowed.
  template <typename Call>
  static AnswerHandler of(Call& call) {
    return {[](void* object, Request& request, const Answer* answer) {
              (*static_cast<Call*>(object))(request, answer);
            },
            &call};
  }
};

// Commands that are sent together. It belongs to the caller and is linked while it is pending, so
// asking allocates nothing. Requires: it exists until its last answer, and so do the commands.
struct Request {
  std::string_view commands = {};  // With line ends and bodies. Not empty.
  std::uint64_t answers = 1;       // Number of answers to wait for, at least 1.
  AnswerHandler take = {};
  Duration patience = {};  // Time limit for each answer, and for each 64 KiB moved meanwhile.
  // Bytes of each body or report to store.
  std::uint64_t body_bytes_max = std::numeric_limits<std::uint64_t>::max();
  // Length of a first `use`. The rest needs its tube: it is sent after the answer USING; otherwise
  // that answer is the answer to all commands. 0 if there is no such `use`.
  std::size_t gate_bytes = 0;

  bool is_pending() const { return hook.linked(); }

  // Set by Pipeline.
  std::uint64_t answered = 0;  // Number of earlier answers: in the handler, the index of this one.
  std::size_t bytes_sent = 0;
  bool is_started = false;
  ListHook hook = {};
};

class Pipeline final {
 public:
  static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

  // Limits the number of answers under way. A request for more is sent alone.
  explicit Pipeline(std::uint64_t answers_max = kUnlimited) : answers_max_(answers_max) {}
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  // Forgets pending requests without a call of their handlers.
  ~Pipeline();

  // May be called by a handler. Requires: the request is not pending.
  void ask(Request& request);
  bool is_idle() const { return pending_.empty() && rest_.empty(); }
  // Returns true if gather() would return pieces.
  bool has_output() const;

  // Stores the next bytes to send in `pieces`, in order, and returns the number of pieces; 0 if
  // there is nothing to send. The pieces are valid until the next call of another method. sent()
  // records that their first bytes were sent.
  std::size_t gather(std::span<std::string_view> pieces, Instant now);
  void sent(std::size_t bytes, Instant now);

  enum class Read : std::uint8_t {
    good,
    foreign,  // Not the beanstalk protocol.
    unasked,  // An answer without a request that was sent.
  };
  // Parses bytes from the server and calls handlers. After another result than `good`, line() has
  // the reason, and only abort() may follow. Stops with `good` if a handler calls abort().
  [[nodiscard]] Read receive(std::string_view bytes, Instant now);
  // Returns the foreign or unasked line without its end, at most kReplyLineBytesMax bytes.
  const std::string& line() const { return line_; }
  const AnswerParser& parser() const { return parser_; }

  // Returns the time of the last received bytes.
  Instant received() const { return received_; }
  // Returns the time at which the next answer is late; never() if none is due.
  Instant deadline() const;

  // Drops all bytes of the connection, and calls the handlers of all pending requests with null.
  // Requests that are asked meanwhile belong to the next connection. May be called by a handler.
  void abort();

 private:
  bool may_start(const Request& request) const;
  void renew_deadline(Duration patience, Instant now);
  void mark_progress(std::size_t bytes, Instant now);
  bool take_answer(Request& request, const Answer& answer, Instant now);

  using Requests = IntrusiveList<Request, &Request::hook>;

  std::uint64_t answers_max_;
  Requests pending_;
  Request* sending_ = nullptr;     // First request with bytes to send; null if there is none.
  std::uint64_t answers_due_ = 0;  // Number of answers to requests whose sending has begun.
  std::string rest_;  // Rest of a request whose answers arrived before it was sent completely.
  AnswerParser parser_;
  std::size_t bytes_moved_ = 0;  // Since the deadline was set.
  Duration patience_;            // Time limit that deadline_ is set by.
  Instant deadline_;
  Instant received_;
  std::string line_;
  std::uint64_t connection_ = 0;  // Number of the connection: handlers may have called abort().
};

}  // namespace haricot::tool
