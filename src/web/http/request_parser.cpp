#include "web/http/request_parser.hpp"

#include <algorithm>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/number.hpp"

namespace haricot::web {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

Method method_of(std::string_view word) {
  if (word == "GET") return Method::get;
  if (word == "HEAD") return Method::head;
  if (word == "POST") return Method::post;
  return Method::other;
}

bool is_in_target(char c) {
  return c > ' ' && c < 0x7f && c != '#';
}

bool is_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

void RequestParser::fail(std::uint16_t status, std::string_view reason) {
  state_ = State::failed;
  failure_ = Failure{status, reason};
}

std::size_t RequestParser::feed(std::string_view bytes) {
  CHECK(state_ != State::head_end && state_ != State::whole && state_ != State::failed);
  const std::size_t before = bytes.size();
  do {
    if (state_ == State::body || state_ == State::chunk) {
      take_bytes(bytes);
    } else if (take_line(bytes, state_ == State::chunk_size || state_ == State::chunk_end
                                    ? kChunkLineBytesMax
                                    : head_bytes_max_ - std::min(used_, head_bytes_max_))) {
      run_line();
      line_.clear();
    }
  } while (!bytes.empty() && state_ < State::whole && state_ != State::head_end);
  return before - bytes.size();
}

bool RequestParser::take_line(std::string_view& bytes, std::size_t bytes_max) {
  const std::size_t end = bytes.find('\n');
  const std::size_t taken = end == std::string_view::npos ? bytes.size() : end + 1;
  if (line_.size() + taken > bytes_max) {
    refuse_long_line();
    return false;
  }
  line_ += bytes.substr(0, taken);
  bytes.remove_prefix(taken);
  if (end == std::string_view::npos) return false;
  used_ += line_.size();
  if (!line_.ends_with(kLineEnd)) {
    fail(400, "a line does not end with CR LF");
    return false;
  }
  line_.resize(line_.size() - kLineEnd.size());
  return true;
}

void RequestParser::refuse_long_line() {
  if (state_ == State::request_line) return fail(414, "the request line is too long");
  if (state_ == State::header) return fail(431, "the headers are too long");
  if (state_ == State::trailer) return fail(431, "the trailers are too long");
  fail(400, "a line between chunks is too long");
}

void RequestParser::take_bytes(std::string_view& bytes) {
  const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
  request_.body += bytes.substr(0, taken);
  bytes.remove_prefix(taken);
  left_ -= taken;
  if (left_ == 0) state_ = state_ == State::chunk ? State::chunk_end : State::whole;
}

void RequestParser::run_line() {
  switch (state_) {
    case State::request_line:
      // Skips empty lines that follow the previous request.
      if (!line_.empty()) read_request_line();
      return;
    case State::header:
      return line_.empty() ? end_head() : read_header();
    case State::chunk_size:
      return read_chunk_size();
    case State::chunk_end:
      if (!line_.empty()) return fail(400, "a chunk is longer than its size");
      state_ = State::chunk_size;
      return;
    case State::trailer:
      if (line_.empty()) {
        state_ = State::whole;
      } else if (line_.find(':') == std::string::npos || !is_field_value(line_)) {
        fail(400, "invalid trailer");
      }
      return;
    case State::head_end:
    case State::body:
    case State::chunk:
    case State::whole:
    case State::failed:
      break;
  }
  CHECK(false);
}

void RequestParser::read_request_line() {
  const std::string_view line = line_;
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == last) return fail(400, "the request line is not METHOD TARGET VERSION");
  const std::string_view method = line.substr(0, first);
  if (!is_token(method)) return fail(400, "invalid method");
  request_.method = method_of(method);
  if (!read_version(line.substr(last + 1))) return;
  if (!read_target(line.substr(first + 1, last - first - 1))) {
    return fail(400, "the target is not a path");
  }
  state_ = State::header;
}

bool RequestParser::read_version(std::string_view version) {
  constexpr std::string_view kName = "HTTP/";
  constexpr std::size_t kBytes = kName.size() + 3;
  const auto digit = [&](std::size_t at) { return version[at] >= '0' && version[at] <= '9'; };
  if (version.size() != kBytes || !version.starts_with(kName) || !digit(kBytes - 3) ||
      version[kBytes - 2] != '.' || !digit(kBytes - 1)) {
    fail(400, "the request line does not end with an HTTP version");
    return false;
  }
  if (version[kBytes - 3] != '1') {
    fail(505, "only HTTP/1.0 and HTTP/1.1 are supported");
    return false;
  }
  request_.is_http10 = version[kBytes - 1] == '0';
  return true;
}

// Reads a path, or a whole URL as proxies send it.
bool RequestParser::read_target(std::string_view target) {
  if (!std::all_of(target.begin(), target.end(), is_in_target)) return false;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!is_same_word(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    const std::size_t end = std::min(target.find_first_of("/?"), target.size());
    authority_ = target.substr(0, end);
    if (authority_.empty()) return false;
    target.remove_prefix(end);
    break;
  }
  const std::size_t mark = std::min(target.find('?'), target.size());
  const std::string_view path = target.substr(0, mark);
  const bool may_be_empty = !authority_.empty();
  if (!path.starts_with('/') && !(path.empty() && may_be_empty)) return false;
  request_.query = target.substr(std::min(mark + 1, target.size()));
  std::optional<std::string> decoded =
      decode_percent(path.empty() ? std::string_view("/") : path, Plus::is_plus);
  if (!decoded || decoded->find('\0') != std::string::npos) return false;
  request_.path = std::move(*decoded);
  return decode_percent(request_.query, Plus::is_blank).has_value();
}

void RequestParser::read_header() {
  const std::string_view line = line_;
  const std::size_t colon = std::min(line.find(':'), line.size());
  const std::string_view name = line.substr(0, colon);
  // Rejects folded lines, too, and a name with a blank before the colon.
  if (colon == line.size() || !is_token(name)) return fail(400, "invalid header name");
  const std::string_view value = trim(line.substr(colon + 1));
  if (!is_field_value(value)) return fail(400, "a header contains a control character");
  if (request_.headers.size() == kHeadersMax) return fail(431, "too many headers");
  request_.headers.push_back({std::string(name), std::string(value)});
}

std::size_t RequestParser::find(std::string_view name, std::string_view& value) const {
  std::size_t count = 0;
  for (const Header& header : request_.headers) {
    if (!is_same_word(header.name, name)) continue;
    value = header.value;
    ++count;
  }
  return count;
}

// Evaluates the headers about the message itself.
void RequestParser::end_head() {
  if (!check_host() || !read_length()) return;
  std::string_view connection;
  request_.keeps_alive = !request_.is_http10;
  if (find("Connection", connection) > 0) {
    if (has_word(connection, "keep-alive")) request_.keeps_alive = true;
    if (has_word(connection, "close")) request_.keeps_alive = false;
  }
  std::string_view expectation;
  if (find("Expect", expectation) > 0 && !request_.is_http10) {
    if (!is_same_word(expectation, "100-continue")) return fail(417, "unknown expectation");
    expects_continue_ = is_chunked_ || left_ > 0;
  }
  state_ = is_chunked_ || left_ > 0 ? State::head_end : State::whole;
}

bool RequestParser::check_host() {
  std::string_view host;
  const std::size_t hosts = find("Host", host);
  if (hosts > 1 || (hosts == 0 && !request_.is_http10)) {
    fail(400, "exactly one Host header is required");
    return false;
  }
  if (authority_.empty()) return true;
  for (Header& header : request_.headers) {
    if (is_same_word(header.name, "Host")) header.value = authority_;
  }
  if (hosts == 0) request_.headers.push_back({"Host", authority_});
  return true;
}

bool RequestParser::read_length() {
  std::string_view length;
  std::string_view encoding;
  const std::size_t lengths = find("Content-Length", length);
  const std::size_t encodings = find("Transfer-Encoding", encoding);
  if (lengths + encodings > 1 || (encodings > 0 && request_.is_http10)) {
    fail(400, "the length of the body is ambiguous");
    return false;
  }
  if (encodings > 0 && !is_same_word(encoding, "chunked")) {
    fail(501, "only the transfer encoding chunked is supported");
    return false;
  }
  if (lengths > 0 && !is_digits(length)) {
    fail(400, "invalid Content-Length");
    return false;
  }
  is_chunked_ = encodings > 0;
  // A length with too many digits exceeds any limit.
  if (lengths > 0) left_ = read_number(length).value_or(UINT64_MAX);
  return true;
}

void RequestParser::begin_body(std::size_t bytes_max) {
  CHECK(state_ == State::head_end);
  body_bytes_max_ = bytes_max;
  used_ = 0;
  if (left_ > bytes_max) return fail(413, "the body is too long");
  state_ = is_chunked_ ? State::chunk_size : State::body;
}

void RequestParser::read_chunk_size() {
  // Bounds the lines between chunks by the limits of body and head, because no client needs
  // megabytes of extensions.
  if (used_ > body_bytes_max_ + head_bytes_max_) return fail(413, "too many chunks");
  const std::string_view line = line_;
  std::string_view digits = line.substr(0, line.find(';'));  // Ignores extensions.
  const bool is_empty = digits.empty();
  const std::optional<std::uint64_t> size = take_number(digits, 16);
  if (is_empty || !digits.empty() || !is_field_value(line)) {
    return fail(400, "invalid chunk size");
  }
  if (!size || *size > body_bytes_max_ - request_.body.size()) {
    return fail(413, "the body is too long");
  }
  left_ = *size;
  state_ = *size > 0 ? State::chunk : State::trailer;
  if (*size == 0) used_ = 0;
}

Request RequestParser::take() {
  CHECK(state_ == State::whole);
  Request result = std::move(request_);
  *this = RequestParser(head_bytes_max_);
  return result;
}

}  // namespace haricot::web
