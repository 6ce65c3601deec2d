#include "tool/bench/load.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/job_tags.hpp"
#include "os/clock.hpp"
#include "tool/cli/interrupt.hpp"

namespace haricot::tool {
namespace {

constexpr std::size_t kBufferBytes = 256 * 1024;
constexpr std::size_t kEventsMax = 512;
constexpr Duration kClosePatience = Duration::seconds(5);
constexpr std::uint64_t kWeights = 4;  // Tubes have weights from 1 to this number.
constexpr std::string_view kReserve = "reserve\r\n";

void append_number(std::string& text, std::uint64_t number) {
  char digits[20];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

// Shuts down the sending side and reads until the server closes the connection, or until the
// deadline.
void drain_to_end(int socket, Instant deadline) {
  ::shutdown(socket, SHUT_WR);
  char ignored[4096];
  while (true) {
    const ssize_t received = ::recv(socket, ignored, sizeof ignored, 0);
    if (received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR)) return;
    const int timeout = os::timeout_ms(os::read_clock(), deadline);
    if (timeout == 0) return;
    pollfd wanted{socket, POLLIN, 0};
    if (received < 0) ::poll(&wanted, 1, timeout);
  }
}

}  // namespace

std::string_view name_of(Operation operation) {
  constexpr std::string_view kNames[kOperations] = {"put", "reserve", "delete"};
  return kNames[static_cast<std::size_t>(operation)];
}

std::uint64_t Tally::commands() const {
  std::uint64_t sum = 0;
  for (const Histogram& histogram : latency_ns) sum += histogram.count();
  return sum;
}

Load::Load(const BenchOptions& options, const BenchTubes& tubes, std::string_view body)
    : options_(options), tubes_(tubes), body_(body), buffer_(kBufferBytes, '\0') {
  put_line_ = "put 0 0 120 " + std::to_string(body.size());
  std::string put = put_line_ + "\r\n";
  put += body;
  put += "\r\n";
  put_bytes_ = put.size();
  const bool is_made_before = options.workload != Workload::take && !options.unique;
  const std::uint64_t batch = is_made_before ? options.depth : 0;
  puts_.reserve(put_bytes_ * batch);
  for (std::uint64_t i = 0; i < batch; ++i) puts_ += put;
  for (std::uint64_t i = 0; i < options.depth; ++i) reserves_ += kReserve;
}

bool Load::open(const Address& address, std::string& error) {
  epoll_ = os::Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) {
    error = std::string("cannot wait for events: ") + std::strerror(errno);
    return false;
  }
  connections_ = std::vector<Connection>(options_.connections);
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    if (!open_connection(address, i, error)) return false;
  }
  return true;
}

bool Load::open_connection(const Address& address, std::size_t index, std::string& error) {
  Connection& connection = connections_[index];
  connection.tube = index % options_.tubes;
  connection.parser.expect_body(body_);
  Remote server(address, options_.patience());
  if (!server.open(error)) return false;
  const std::string tube = tubes_.load(connection.tube);
  if (!server.run("use", "use " + tube + "\r\n", 1, ReplyCode::now_using, error) ||
      !choose_tubes(server, tube, error)) {
    return false;
  }
  connection.socket = server.release();
  return watch(EPOLL_CTL_ADD, connection.socket, index, EPOLLIN, error);
}

// Registers a connection with epoll, or changes its events.
bool Load::watch(int operation, const os::Descriptor& socket, std::size_t index,
                 std::uint32_t events, std::string& error) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = index;
  if (::epoll_ctl(epoll_.get(), operation, socket.get(), &event) == 0) return true;
  error = std::string("cannot wait for answers: ") + std::strerror(errno);
  return false;
}

// Watches the tubes that the connection will reserve from, and sets the mode if there is one.
bool Load::choose_tubes(Remote& server, const std::string& own, std::string& error) {
  const bool has_mode = options_.reserve_mode != ReserveMode::own_tube;
  std::uint64_t watches = 1;
  std::string commands = "watch " + own + "\r\n";
  for (std::uint64_t i = 0; has_mode && i < options_.tubes; ++i, ++watches) {
    commands += "watch " + tubes_.load(i) + " " + std::to_string(1 + i % kWeights) + "\r\n";
  }
  commands += "ignore default\r\n";
  ++watches;
  for (std::uint64_t i = 0; i < options_.watched_tubes; ++i, ++watches) {
    commands += "watch " + tubes_.watched(i) + "\r\n";
  }
  if (!server.run("watch", commands, watches, ReplyCode::watching, error)) return false;
  if (!has_mode) return true;
  const std::string mode = "reserve-mode " + std::string(name_of(options_.reserve_mode)) + "\r\n";
  return server.run("reserve-mode", mode, 1, ReplyCode::now_using, error);
}

bool Load::watch_over(const std::vector<os::Descriptor>& silent, std::string& error) {
  return std::all_of(silent.begin(), silent.end(), [&](const os::Descriptor& socket) {
    return watch(EPOLL_CTL_ADD, socket, connections_.size(), EPOLLIN, error);
  });
}

bool Load::run(const Goal& goal, Tally& tally, const Progress& progress, std::string& error) {
  tally_ = &tally;
  error_ = &error;
  jobs_left_.assign(options_.tubes, std::numeric_limits<std::uint64_t>::max());
  for (std::size_t i = 0; goal.jobs > 0 && i < jobs_left_.size(); ++i) {
    jobs_left_[i] = share_of(goal.jobs, options_.tubes, i);
  }
  started_ = now_ = os::read_clock();
  stop_at_ = goal.jobs > 0 ? Instant::never() : started_ + goal.time;
  poll_limit_ = RateLimit(poll_interval(), started_ + poll_interval());
  active_ = connections_.size();
  for (Connection& connection : connections_) {
    connection.is_active = true;
    if (!begin_round(connection)) return false;
  }
  std::array<epoll_event, kEventsMax> events;
  while (active_ > 0) {
    const int timeout_ms = static_cast<int>(poll_interval().count() / 1'000'000);
    const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsMax, timeout_ms);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (!handle(static_cast<std::size_t>(event.data.u64), event.events)) return false;
    }
    if (count <= 0) now_ = os::read_clock();
    if (poll_limit_.take(now_) && !poll_progress(progress)) return false;
  }
  tally.elapsed = now_ - started_;
  return true;
}

bool Load::is_over() const {
  return now_ >= stop_at_ || is_interrupted();
}

// Fails if an answer is late, and reports progress. Called from time to time.
bool Load::poll_progress(const Progress& progress) {
  for (const Connection& connection : connections_) {
    if (connection.is_active && now_ - connection.sent_at > options_.patience()) {
      return fail("no answer to " + std::string(name_of(connection.operation)) + " for " +
                  std::to_string(options_.patience_ms / 1000) + " s");
    }
  }
  if (progress) {
    tally_->elapsed = now_ - started_;
    progress(*tally_);
  }
  return true;
}

bool Load::fail(std::string reason) {
  *error_ = std::move(reason);
  return false;
}

// Begins a round, which takes a batch of jobs through all steps of the workload.
bool Load::begin_round(Connection& connection) {
  std::uint64_t& left = jobs_left_[connection.tube];
  connection.batch = is_over() ? 0 : std::min(options_.depth, left);
  if (connection.batch == 0) {
    CHECK(active_ > 0 && connection.is_active);
    connection.is_active = false;
    --active_;
    return true;
  }
  left -= connection.batch;
  connection.operation = options_.workload == Workload::take ? Operation::reserve : Operation::put;
  return begin_operation(connection);
}

bool Load::begin_operation(Connection& connection) {
  CHECK(connection.answers_due == 0 && connection.unsent.empty() &&
        connection.batch <= options_.depth);
  switch (connection.operation) {
    case Operation::put:
      connection.unsent = puts_of(connection);
      break;
    case Operation::reserve:
      connection.unsent = std::string_view(reserves_).substr(0, kReserve.size() * connection.batch);
      connection.ids.clear();
      break;
    case Operation::delete_job:
      connection.commands.clear();
      for (const std::uint64_t id : connection.ids) {
        connection.commands += "delete ";
        append_number(connection.commands, id);
        connection.commands += "\r\n";
      }
      connection.unsent = connection.commands;
      break;
  }
  connection.answers_due = connection.batch;
  connection.sent_at = os::read_clock();
  return send_rest(connection);
}

// Returns the puts of a round.
std::string_view Load::puts_of(Connection& connection) {
  if (!options_.unique) return std::string_view(puts_).substr(0, put_bytes_ * connection.batch);
  connection.commands.clear();
  for (std::uint64_t i = 0; i < connection.batch; ++i) {
    connection.commands += put_line_;
    connection.commands += " ";
    connection.commands += kKeyPrefix;
    append_number(connection.commands, ++last_key_);
    connection.commands += "\r\n";
    connection.commands += body_;
    connection.commands += "\r\n";
  }
  return connection.commands;
}

bool Load::send_rest(Connection& connection) {
  const ssize_t sent = ::send(connection.socket.get(), connection.unsent.data(),
                              connection.unsent.size(), MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) {
    return fail("cannot send " + std::string(name_of(connection.operation)) + ": " +
                std::strerror(errno));
  }
  if (sent > 0) connection.unsent.remove_prefix(static_cast<std::size_t>(sent));
  const bool waits = !connection.unsent.empty();
  if (waits == connection.waits_for_room) return true;
  connection.waits_for_room = waits;
  const auto index = static_cast<std::size_t>(&connection - connections_.data());
  return watch(EPOLL_CTL_MOD, connection.socket, index, waits ? EPOLLIN | EPOLLOUT : EPOLLIN,
               *error_);
}

bool Load::handle(std::size_t index, std::uint32_t events) {
  if (index >= connections_.size()) {
    return fail("an idle connection was answered or closed");
  }
  Connection& connection = connections_[index];
  if ((events & EPOLLOUT) != 0 && !send_rest(connection)) return false;
  return (events & ~static_cast<std::uint32_t>(EPOLLOUT)) == 0 || receive(connection);
}

bool Load::receive(Connection& connection) {
  const ssize_t received = ::recv(connection.socket.get(), buffer_.data(), buffer_.size(), 0);
  now_ = os::read_clock();
  if (received > 0) {
    return take_answers(connection, {buffer_.data(), static_cast<std::size_t>(received)});
  }
  if (received < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  const std::string where = connection.is_active
                                ? " during " + std::string(name_of(connection.operation))
                                : std::string();
  if (received == 0) return fail("the server closed a connection" + where);
  return fail("cannot receive" + where + ": " + std::strerror(errno));
}

bool Load::take_answers(Connection& connection, std::string_view bytes) {
  const std::uint64_t due_before = connection.answers_due;
  while (!bytes.empty()) {
    const AnswerParser::Result result = connection.parser.next(bytes);
    if (result == AnswerParser::Result::more) break;
    const Answer& answer = connection.parser.answer();
    if (result == AnswerParser::Result::malformed) {
      return fail(describe_unexpected(name_of(connection.operation), answer) + " (malformed)");
    }
    if (connection.answers_due == 0)
      return fail("more answers than commands: " + std::string(answer.line));
    if (!check(connection, answer)) return false;
    --connection.answers_due;
  }
  CHECK(connection.answers_due <= due_before);
  const auto answered = due_before - connection.answers_due;
  if (answered > 0) {
    const auto latency = static_cast<std::uint64_t>((now_ - connection.sent_at).count());
    tally_->latency_ns[static_cast<std::size_t>(connection.operation)].record(latency, answered);
  }
  return answered == 0 || connection.answers_due > 0 || end_operation(connection);
}

bool Load::check(Connection& connection, const Answer& answer) {
  const auto is_good = [&] {
    switch (connection.operation) {
      case Operation::put:
        return answer.code == ReplyCode::inserted;
      case Operation::reserve:
        connection.ids.push_back(answer.number);
        return answer.code == ReplyCode::reserved && answer.body_matches;
      case Operation::delete_job:
        return answer.code == ReplyCode::deleted;
    }
    return false;
  };
  if (is_good()) return true;
  const std::string name(name_of(connection.operation));
  const bool is_job = answer.code == ReplyCode::reserved && !answer.body_matches;
  return fail(is_job ? name + " returned another body than was put"
                     : describe_unexpected(name, answer));
}

bool Load::end_operation(Connection& connection) {
  if (connection.operation == Operation::delete_job || options_.workload == Workload::put)
    return begin_round(connection);
  connection.operation =
      connection.operation == Operation::put ? Operation::reserve : Operation::delete_job;
  return begin_operation(connection);
}

void Load::close() {
  const Instant deadline = os::read_clock() + kClosePatience;
  for (Connection& connection : connections_) {
    if (connection.socket) drain_to_end(connection.socket.get(), deadline);
    connection.socket.reset();
  }
}

BenchTubes::BenchTubes() : prefix_("haricot-bench-" + std::to_string(::getpid()) + "-") {
  char text[20];
  const auto now = static_cast<std::uint64_t>(os::read_clock().count());
  prefix_.append(text, std::to_chars(text, text + sizeof text, now, 16).ptr);
  prefix_ += '-';
}

}  // namespace haricot::tool
