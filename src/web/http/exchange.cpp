#include "web/http/exchange.hpp"

#include <charconv>
#include <iterator>

#include "haricot/base/check.hpp"

namespace haricot::web {
namespace {

struct Reason {
  std::uint16_t status;
  std::string_view text;
};

constexpr Reason kReasons[] = {
    {200, "OK"},
    {303, "See Other"},
    {304, "Not Modified"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
};

// Returns the reason phrase; empty if unknown, because clients use only the number.
std::string_view reason_of(std::uint16_t status) {
  for (const Reason& reason : kReasons) {
    if (reason.status == status) return reason.text;
  }
  return {};
}

void append_status(std::string& to, std::uint16_t status) {
  to += "HTTP/1.1 ";
  to += std::to_string(status);
  to += ' ';
  to += reason_of(status);
  to += "\r\n";
}

// Appends a header. Replaces bytes that a header must not contain, such as line ends, by '?',
// because values may come from anywhere.
void append_header(std::string& to, std::string_view name, std::string_view value) {
  to += name;
  to += ": ";
  for (const char c : value) to += is_field_value({&c, 1}) ? c : '?';
  to += "\r\n";
}

// Returns true if the header If-None-Match contains this entity tag. An empty tag matches nothing.
bool matches_tag(std::string_view if_none_match, std::string_view tag) {
  constexpr std::string_view kWeak = "W/";
  if (tag.empty()) return false;
  while (!if_none_match.empty()) {
    std::string_view one = take_element(if_none_match);
    if (one.starts_with(kWeak)) one.remove_prefix(kWeak.size());
    if (one == tag || one == "*") return true;
  }
  return false;
}

void append_chunk(std::string& to, std::string_view piece) {
  char digits[2 * sizeof(std::size_t)];
  const auto result = std::to_chars(std::begin(digits), std::end(digits), piece.size(), 16);
  to.append(digits, result.ptr);
  to += "\r\n";
  to += piece;
  to += "\r\n";
}

}  // namespace

void Exchange::append_head(const Response& response, std::string_view length_line) {
  append_status(output_, response.status);
  if (!response.type.empty()) append_header(output_, "Content-Type", response.type);
  output_ += length_line;
  for (const Header& header : response.more) append_header(output_, header.name, header.value);
  if (find_header(response.more, "Cache-Control") == nullptr) {
    append_header(output_, "Cache-Control", "no-store");
  }
  has_to_close_ = has_to_close_ || !request_.keeps_alive;
  if (has_to_close_) {
    append_header(output_, "Connection", "close");
  } else if (request_.is_http10) {
    append_header(output_, "Connection", "keep-alive");
  }
  output_ += server_.common_headers;
  output_ += "\r\n";
}

void Exchange::respond(Response response) {
  if (!connection_) return;
  CHECK(state_ == State::open);
  const std::string* tag = find_header(response.more, "ETag");
  if (tag != nullptr && is_safe(request_.method) && response.status == 200 &&
      matches_tag(request_.header("If-None-Match"), *tag)) {
    response.status = 304;
    response.type.clear();
  }
  if (response.status == 304) {
    append_head(response, {});
  } else {
    append_head(response, "Content-Length: " + std::to_string(response.body.size()) + "\r\n");
    if (request_.method != Method::head) output_ += response.body;
  }
  finish();
}

void Exchange::begin_stream(std::string type) {
  if (!connection_) return;
  CHECK(state_ == State::open);
  is_chunked_ = !request_.is_http10;
  has_to_close_ = !is_chunked_;  // The end of the connection is the end of the body.
  append_head({.type = std::move(type)}, is_chunked_ ? "Transfer-Encoding: chunked\r\n" : "");
  if (request_.method == Method::head) return finish();
  state_ = State::streaming;
  notify_connection();
}

bool Exchange::write(std::string_view piece) {
  CHECK(state_ != State::open);
  if (state_ == State::ended) return false;
  // A piece of any size is accepted if the peer has read everything before it.
  if (waiting_bytes() > 0 && waiting_bytes() + piece.size() > kOutputBytesEnd) {
    is_broken_ = true;
    has_to_close_ = true;
    finish();
    return false;
  }
  if (is_chunked_ && !piece.empty()) append_chunk(output_, piece);
  if (!is_chunked_) output_ += piece;
  was_full_ = !can_take();
  notify_connection();
  return true;
}

void Exchange::end() {
  CHECK(state_ != State::open);
  if (state_ == State::ended) return;
  if (is_chunked_) output_ += "0\r\n\r\n";
  finish();
}

void Exchange::finish() {
  state_ = State::ended;
  on_ready = nullptr;
  on_gone = nullptr;
  notify_connection();
}

void Exchange::log_action(std::string_view action, std::string_view server, std::string_view what,
                          std::string_view result) const {
  server_.acted(server_.self, request_, action, server, what, result);
}

// Drops sent bytes when they are the larger half, so each byte is moved at most once.
void Exchange::sent(std::size_t bytes) {
  sent_ += bytes;
  CHECK(sent_ <= output_.size());
  if (sent_ == output_.size()) {
    output_ = std::string();  // An idle stream keeps no memory.
    sent_ = 0;
  } else if (sent_ > output_.size() / 2) {
    output_.erase(0, sent_);
    sent_ = 0;
  }
  if (!was_full_ || !can_take()) return;
  was_full_ = false;
  // The handler may end the stream, which would destroy on_ready during the call.
  std::function<void()> ready = std::move(on_ready);
  on_ready = nullptr;
  if (ready) ready();
  if (state_ == State::streaming && !on_ready) on_ready = std::move(ready);
}

void Exchange::detach() {
  connection_.reset();
  on_ready = nullptr;
  const std::function<void()> gone = std::move(on_gone);
  on_gone = nullptr;
  if (state_ == State::ended) return;
  is_broken_ = true;
  state_ = State::ended;
  if (gone) gone();
}

void Exchange::notify_connection() {
  if (connection_) connection_->changed(connection_->self);
}

}  // namespace haricot::web
