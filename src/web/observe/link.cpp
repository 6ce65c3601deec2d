#include "web/observe/link.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "haricot/base/check.hpp"
#include "os/clock.hpp"
#include "tool/cli/output.hpp"

namespace haricot::web {
namespace {

// Progress in bytes that renews the deadline of a long answer. A server that trickles bytes is as
// late as a silent one.
constexpr std::size_t kProgressBytes = 64 * 1024;
// Larger than any useful report: the names of 100,000 tubes take 20 MB at most.
constexpr std::uint64_t kReportBytesMax = 32 * 1024 * 1024;
constexpr std::size_t kForeignBytesShown = 60;

constexpr Duration kFirstPause = Duration::milliseconds(500);
constexpr Duration kConnectPatience = Duration::seconds(5);

}  // namespace

void Pipeline::ask(Question question) {
  CHECK(can_ask(1));
  waiting_.push_back(std::move(question));
}

void Pipeline::start_some(Instant now) {
  while (!waits_for_use_ && under_way_.size() < kUnderWayMax && !waiting_.empty()) {
    Question& next = waiting_.front();
    if (under_way_.empty()) {
      deadline_ = now + next.patience;
      bytes_since_ = 0;
    }
    output_ += next.command;
    next.command = {};
    waits_for_use_ = next.followers > 0;
    under_way_.push_back(std::move(next));
    waiting_.pop_front();
  }
}

std::string_view Pipeline::output(Instant now) {
  start_some(now);
  return std::string_view(output_).substr(sent_);
}

void Pipeline::sent(std::size_t bytes) {
  sent_ += bytes;
  CHECK(sent_ <= output_.size());
  if (sent_ < output_.size()) return;
  output_.clear();
  sent_ = 0;
}

bool Pipeline::receive(std::string_view bytes, Instant now) {
  received_ = now;
  bytes_since_ += bytes.size();
  if (bytes_since_ >= kProgressBytes && !under_way_.empty()) {
    deadline_ = now + under_way_.front().patience;
    bytes_since_ = 0;
  }
  while (!bytes.empty()) {
    if (!take_answer(bytes, now)) return false;
  }
  return true;
}

bool Pipeline::take_answer(std::string_view& bytes, Instant now) {
  const auto fail = [this](std::string_view received) {
    malformed_bytes_ = received.substr(0, kForeignBytesShown);
    return false;
  };
  // Without a question, this is the greeting of another kind of server.
  if (under_way_.empty()) return fail(bytes);
  if (!is_in_answer_) {
    parser_.keep_bodies(std::min(under_way_.front().body_bytes_max, kReportBytesMax));
  }
  const tool::AnswerParser::Result result = parser_.next(bytes);
  is_in_answer_ = result == tool::AnswerParser::Result::more;
  if (is_in_answer_) return true;
  const tool::Answer& answer = parser_.answer();
  if (result == tool::AnswerParser::Result::malformed) return fail(answer.line);
  const Question question = std::move(under_way_.front());
  under_way_.pop_front();
  if (!under_way_.empty()) deadline_ = now + under_way_.front().patience;
  bytes_since_ = 0;
  std::deque<Question> refused;
  if (question.followers > 0) waits_for_use_ = false;
  if (answer.code != ReplyCode::now_using) {
    CHECK(question.followers <= waiting_.size());
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(question.followers);
    std::move(waiting_.begin(), end, std::back_inserter(refused));
    waiting_.erase(waiting_.begin(), end);
  }
  question.take(&answer);
  for (const Question& follower : refused) follower.take(&answer);
  return true;
}

void Pipeline::abort() {
  std::deque<Question> lost = std::move(under_way_);
  for (Question& question : waiting_) lost.push_back(std::move(question));
  waiting_.clear();
  under_way_.clear();
  output_.clear();
  sent_ = 0;
  parser_.restart();
  is_in_answer_ = false;
  waits_for_use_ = false;
  for (const Question& question : lost) question.take(nullptr);
}

// Link --------------------------------------------------------------------------------------------

void Link::open(os::Poller& poller, Hooks hooks) {
  poller_ = &poller;
  hooks_ = std::move(hooks);
  retry_ = Instant::at(0);
  pause_ = kFirstPause;
}

Instant Link::next_event() const {
  if (poller_ == nullptr) return Instant::never();
  if (state_ == State::connected) return std::min(pipeline_.deadline(), idle_end());
  if (state_ == State::connecting) return connect_end_;
  const bool is_wanted = kind_ == Kind::permanent || !pipeline_.is_idle();
  return is_wanted ? retry_ : Instant::never();
}

Instant Link::idle_end() const {
  if (kind_ == Kind::permanent || !pipeline_.is_idle()) return Instant::never();
  return closes_when_idle_ ? used_ : used_ + kIdleMax;
}

void Link::advance(Instant now) {
  if (poller_ == nullptr) return;
  if (!pipeline_.is_idle()) used_ = now;
  const bool is_wanted = kind_ == Kind::permanent || !pipeline_.is_idle();
  if (state_ == State::closed && is_wanted && now >= retry_) begin_connect(now);
  if (state_ == State::connecting && now >= connect_end_) {
    disconnect(now, "cannot connect to " + address_.name() + ": " + std::strerror(ETIMEDOUT));
  }
  if (state_ == State::connected && now >= pipeline_.deadline()) {
    disconnect(now, "the server did not answer in time");
  }
  if (state_ == State::connected && now >= idle_end()) {
    poller_->remove(source_);
    close();
    pipeline_.abort();
    return;
  }
  if (state_ == State::connected) send(now);
}

void Link::begin_connect(Instant now) {
  std::string error;
  socket_ = address_.begin_connect(endpoint_, error);
  if (!socket_) {
    disconnect(now, error);
    return;
  }
  source_ = os::EventSource(handler_, socket_.get());
  state_ = State::connecting;
  connect_end_ = now + kConnectPatience;
  if (!poller_->add(source_, EPOLLOUT)) disconnect(now, "out of memory for a connection");
}

void Link::end_connect(Instant now) {
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) {
    disconnect(now, "cannot connect to " + address_.name() + ": " + std::strerror(error));
    return;
  }
  state_ = State::connected;
  poller_->change(source_, EPOLLIN);
  hooks_.opened(now);
}

void Link::handle(os::EventSource&, std::uint32_t events) {
  // The clock of the turn was read before it waited.
  const Instant now = os::read_clock();
  if (state_ == State::connecting) {
    end_connect(now);
    return;
  }
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) receive(now);
  if (state_ == State::connected) send(now);
}

void Link::send(Instant now) {
  while (true) {
    const std::string_view output = pipeline_.output(now);
    if (output.empty()) {
      poller_->change(source_, EPOLLIN);
      return;
    }
    const ssize_t sent = ::send(socket_.get(), output.data(), output.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      poller_->change(source_, EPOLLIN | EPOLLOUT);
      return;
    }
    if (sent < 0) {
      disconnect(now, std::string("cannot send: ") + std::strerror(errno));
      return;
    }
    pipeline_.sent(static_cast<std::size_t>(sent));
  }
}

void Link::receive(Instant now) {
  const ssize_t count = ::recv(socket_.get(), buffer_.data(), buffer_.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    disconnect(now, count == 0 ? "the server closed the connection"
                               : std::string("cannot receive: ") + std::strerror(errno));
    return;
  }
  const std::string_view bytes(buffer_.data(), static_cast<std::size_t>(count));
  if (!pipeline_.receive(bytes, now)) {
    disconnect(now,
               "not a beanstalk server; it sent: " + tool::safe_word(pipeline_.malformed_bytes()));
    return;
  }
  // The server answers, so the next pause is short again.
  pause_ = kFirstPause;
}

void Link::disconnect(Instant now, const std::string& reason) {
  const bool was_connected = state_ == State::connected;
  if (state_ != State::closed) poller_->remove(source_);
  close();
  endpoint_ = (endpoint_ + 1) % address_.endpoints();
  // Other addresses of the host are tried at once.
  retry_ = endpoint_ != 0 || kind_ == Kind::on_demand ? now : now + pause_;
  if (endpoint_ == 0) pause_ = std::min(kPauseMax, Duration::nanoseconds(pause_.count() * 2));
  // Questions wait until all addresses were tried.
  if (endpoint_ != 0 && !was_connected) return;
  pipeline_.abort();
  hooks_.lost(now, reason);
}

void Link::close() {
  state_ = State::closed;
  closes_when_idle_ = false;
  socket_.reset();
}

}  // namespace haricot::web
