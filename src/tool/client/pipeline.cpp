#include "tool/client/pipeline.hpp"

#include <algorithm>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/protocol/reply.hpp"

namespace haricot::tool {
namespace {

// Progress in bytes that renews the deadline: a server that moves them in time is slow, not stuck.
// One that trickles bytes is as late as a silent one.
constexpr std::size_t kProgressBytes = 64 * 1024;

// Returns true if only the `use` of the request may be sent.
bool is_gated(const Request& request) {
  return request.gate_bytes > 0 && request.answered == 0;
}

std::string_view unsent_part(const Request& request) {
  const std::size_t end = is_gated(request) ? request.gate_bytes : request.commands.size();
  CHECK(request.bytes_sent <= end && end <= request.commands.size());
  return request.commands.substr(request.bytes_sent, end - request.bytes_sent);
}

}  // namespace

Pipeline::~Pipeline() {
  while (Request* request = pending_.first()) pending_.remove(*request);
}

void Pipeline::ask(Request& request) {
  CHECK(!request.is_pending() && !request.commands.empty() && request.answers > 0);
  request.answered = 0;
  request.bytes_sent = 0;
  request.is_started = false;
  pending_.push_back(request);
  if (sending_ == nullptr) sending_ = &request;
}

bool Pipeline::may_start(const Request& request) const {
  return request.is_started || answers_due_ == 0 || answers_due_ + request.answers <= answers_max_;
}

bool Pipeline::has_output() const {
  return !rest_.empty() ||
         (sending_ != nullptr && may_start(*sending_) && !unsent_part(*sending_).empty());
}

std::size_t Pipeline::gather(std::span<std::string_view> pieces, Instant now) {
  std::size_t count = 0;
  if (!rest_.empty()) pieces[count++] = rest_;
  for (Request* at = sending_; at != nullptr && count < pieces.size(); at = pending_.after(*at)) {
    if (!may_start(*at)) break;
    if (answers_due_ == 0) renew_deadline(at->patience, now);
    if (!std::exchange(at->is_started, true)) answers_due_ += at->answers;
    const std::string_view piece = unsent_part(*at);
    if (!piece.empty()) pieces[count++] = piece;
    if (is_gated(*at)) break;
  }
  return count;
}

void Pipeline::sent(std::size_t bytes, Instant now) {
  mark_progress(bytes, now);
  const std::size_t of_rest = std::min(bytes, rest_.size());
  rest_.erase(0, of_rest);
  bytes -= of_rest;
  while (bytes > 0) {
    CHECK(sending_ != nullptr);
    const std::size_t some = std::min(bytes, unsent_part(*sending_).size());
    CHECK(some > 0);
    sending_->bytes_sent += some;
    bytes -= some;
    if (sending_->bytes_sent == sending_->commands.size()) sending_ = pending_.after(*sending_);
  }
}

Instant Pipeline::deadline() const {
  return answers_due_ == 0 && rest_.empty() ? Instant::never() : deadline_;
}

void Pipeline::renew_deadline(Duration patience, Instant now) {
  patience_ = patience;
  deadline_ = now + patience;
  bytes_moved_ = 0;
}

void Pipeline::mark_progress(std::size_t bytes, Instant now) {
  bytes_moved_ += bytes;
  if (bytes_moved_ >= kProgressBytes) renew_deadline(patience_, now);
}

Pipeline::Read Pipeline::receive(std::string_view bytes, Instant now) {
  received_ = now;
  mark_progress(bytes.size(), now);
  while (!bytes.empty()) {
    if (answers_due_ == 0) {
      ReplyLine reply;
      line_ = bytes.substr(0, std::min(bytes.find_first_of("\r\n"), kReplyLineBytesMax));
      return read_reply_line(line_, reply) ? Read::unasked : Read::foreign;
    }
    Request& request = pending_.front();
    if (!parser_.is_in_answer()) parser_.keep_bodies(request.body_bytes_max);
    const AnswerParser::Result result = parser_.next(bytes);
    if (result == AnswerParser::Result::more) break;
    const Answer& answer = parser_.answer();
    if (result == AnswerParser::Result::malformed) {
      line_ = answer.line;
      return Read::foreign;
    }
    const bool is_refused = is_gated(request) && answer.code != ReplyCode::now_using;
    if (is_refused) request.bytes_sent = request.commands.size();
    if (is_refused && sending_ == &request) sending_ = pending_.after(request);
    // After a refusal, this is the answer to the other commands of the request too.
    for (std::uint64_t i = is_refused ? request.answers : 1; i > 0; --i) {
      if (!take_answer(request, answer, now)) return Read::good;
    }
  }
  return Read::good;
}

// Passes the answer to its request, which no longer exists after its last answer. Returns false if
// the connection was aborted.
bool Pipeline::take_answer(Request& request, const Answer& answer, Instant now) {
  const bool is_last = request.answered + 1 == request.answers;
  const std::uint64_t connection = connection_;
  if (is_last && sending_ == &request) {
    rest_ += request.commands.substr(request.bytes_sent);
    sending_ = pending_.after(request);
  }
  if (is_last) pending_.remove(request);
  CHECK(answers_due_ > 0);
  --answers_due_;
  if (answers_due_ > 0 || !rest_.empty()) {
    renew_deadline(pending_.empty() ? request.patience : pending_.front().patience, now);
  }
  request.take.function(request.take.context, request, &answer);
  if (connection != connection_) return false;
  if (!is_last) ++request.answered;
  return true;
}

void Pipeline::abort() {
  Requests lost;
  lost.append(pending_);
  ++connection_;
  sending_ = nullptr;
  answers_due_ = 0;
  rest_.clear();
  parser_.restart();
  while (Request* request = lost.first()) {
    lost.remove(*request);
    request->take.function(request->take.context, *request, nullptr);
  }
}

}  // namespace haricot::tool
