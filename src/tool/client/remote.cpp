#include "tool/client/remote.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "haricot/base/check.hpp"
#include "os/clock.hpp"
#include "tool/cli/interrupt.hpp"
#include "tool/cli/output.hpp"
#include "tool/cli/subcommand.hpp"

namespace haricot::tool {
namespace {

constexpr std::size_t kBytesOfForeign = 60;

// Explains to an operator why a command was refused; empty if there is nothing to add.
std::string_view explanation(ReplyCode code) {
  switch (code) {
    case ReplyCode::draining:
      return "the server is in drain mode and accepts no jobs until drain --stop or a restart";
    case ReplyCode::job_too_big:
      return "the body exceeds the server's max-job-size (flag -z)";
    case ReplyCode::out_of_memory:
      return "the server is out of memory or disk space";
    case ReplyCode::internal_error:
      return "the server failed; its log should have the reason";
    case ReplyCode::buried:
      return "the job has no try left, or the server had no memory to release it; kick makes it "
             "ready";
    case ReplyCode::buried_new:
      return "the server had no memory to make the job ready, and buried it";
    default:
      return {};
  }
}

}  // namespace

bool Remote::fail(std::string reason, int status) {
  failure_ = {std::move(reason), status};
  if (status == kExitNoServer) close();
  return false;
}

void Remote::set_patience(Duration patience) {
  patience_ = patience;
  if (dialogue_) dialogue_->set_patience(patience);
}

bool Remote::open() {
  dialogue_.emplace(patience_);
  dialogue_->keep_bodies();
  if (!watched_.empty()) dialogue_->also_watch(watched_, on_ready_);
  std::string error;
  return dialogue_->open(address_, error) || fail(error, kExitNoServer);
}

void Remote::also_watch(std::vector<int> descriptors, std::function<bool()> on_ready) {
  watched_ = std::move(descriptors);
  on_ready_ = std::move(on_ready);
  if (dialogue_) dialogue_->also_watch(watched_, on_ready_);
}

bool Remote::ask(std::string_view name, std::string_view commands, std::uint64_t answers,
                 const std::function<void(const Answer&)>& take) {
  std::string error;
  const auto check = [&take](const Answer& answer) {
    take(answer);
    return true;
  };
  if (dialogue_->run(name, commands, answers, check, error)) return true;
  const std::string& foreign = dialogue_->foreign_words();
  if (foreign.empty()) return fail(address_.name() + ": " + error, kExitNoServer);
  return fail(address_.name() + " is not a beanstalk server; it sent: " +
                  safe_word(std::string_view(foreign).substr(0, kBytesOfForeign)),
              kExitNoServer);
}

std::optional<std::vector<Response>> Remote::ask_together(std::string_view name,
                                                          std::string_view commands,
                                                          std::uint64_t answers) {
  std::vector<Response> responses;
  responses.reserve(static_cast<std::size_t>(answers));
  const auto take = [&responses](const Answer& answer) {
    responses.push_back(
        {answer.code, answer.number, std::string(answer.line), std::string(answer.body)});
  };
  if (!ask(name, commands, answers, take)) return std::nullopt;
  CHECK(responses.size() == answers);
  return responses;
}

std::optional<Response> Remote::ask(std::string_view command) {
  CHECK(command.find_first_of("\r\n") == std::string_view::npos);
  Response response;
  const auto take = [&response](const Answer& answer) {
    response = {answer.code, answer.number, std::string(answer.line), std::string(answer.body)};
  };
  const std::string_view name = command.substr(0, command.find(' '));
  if (!ask(name, std::string(command) + "\r\n", 1, take)) return std::nullopt;
  return response;
}

std::optional<Response> Remote::ask(std::string_view command, ReplyCode wanted) {
  std::optional<Response> response = ask(command);
  if (!response || response->code == wanted || response->code == ReplyCode::not_found) {
    return response;
  }
  refuse(command.substr(0, command.find(' ')), response->code, response->line);
  return std::nullopt;
}

void Remote::refuse(std::string_view command, ReplyCode code, std::string_view line) {
  std::string reason;
  if (code == ReplyCode::unknown_command) {
    reason = "the server at " + address_.name() + " does not know " + std::string(command);
    // Not by ask_stats(), which would call this function again if `stats` is unknown too.
    const std::optional<Response> response = ask("stats");
    const std::optional<StatsText> stats = response && response->code == ReplyCode::ok
                                               ? StatsText::parse(response->body)
                                               : std::nullopt;
    if (stats) reason += ": it is " + server_words(*stats);
  } else {
    reason = std::string(command) + " was answered: " + safe_word(line);
    if (!explanation(code).empty()) reason += ": " + std::string(explanation(code));
  }
  fail(std::move(reason), kExitRefused);
}

void Remote::cannot_read(std::string_view command) {
  fail(address_.name() + " is not a beanstalk server: invalid answer to " +
           std::string(command.substr(0, command.find(' '))),
       kExitNoServer);
}

std::optional<StatsText> Remote::ask_stats(std::string_view command, bool& is_there) {
  const std::optional<Response> response = ask(command, ReplyCode::ok);
  if (!response) return std::nullopt;
  is_there = response->code == ReplyCode::ok;
  if (!is_there) return StatsText{};
  std::optional<StatsText> stats = StatsText::parse(response->body);
  if (!stats) cannot_read(command);
  return stats;
}

std::optional<std::vector<std::string>> Remote::ask_list() {
  const std::optional<Response> response = ask("list-tubes", ReplyCode::ok);
  if (!response) return std::nullopt;
  std::optional<std::vector<std::string>> names = parse_list(response->body);
  if (!names) cannot_read("list-tubes");
  return names;
}

namespace {

constexpr std::size_t kBufferBytes = 256 * 1024;
// Progress in bytes that renews the deadline: a peer that moves them in time is slow, not stuck.
constexpr std::size_t kBytesOfProgress = 64 * 1024;

// Returns true if the line can be the beginning of an answer of a beanstalk server, such as "OK 4".
bool begins_answer(std::string_view line) {
  constexpr std::string_view kBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789 \r";
  return line.find_first_not_of(kBytes) == std::string_view::npos;
}

int timeout_ms(Duration patience) {
  constexpr std::int64_t kMax = 1'000'000'000;
  return static_cast<int>(std::min(patience.count() / 1'000'000, kMax));
}

}  // namespace

std::string describe_unexpected(std::string_view command, const Answer& answer) {
  std::string text(command);
  if (answer.code == ReplyCode::reserved && !answer.body_matches) {
    return text + " returned another body than was put";
  }
  if (answer.line.empty()) return text + " was answered with an empty line";
  text += " was answered: ";
  for (const char c : answer.line.substr(0, 100)) text += c >= ' ' && c <= '~' ? c : '?';
  return text;
}

bool Dialogue::open(const Address& address, std::string& error) {
  socket_ = address.connect(error, patience_);
  parser_.restart();
  foreign_words_.clear();
  buffer_.resize(kBufferBytes);
  return static_cast<bool>(socket_);
}

bool Dialogue::run(std::string_view name, std::string_view commands, std::uint64_t answers,
                   const Check& check, std::string& error) {
  CHECK(socket_);
  mark_progress(0, true);
  is_answering_ = false;
  while (!commands.empty() || answers > 0) {
    if (!commands.empty() && !send_some(commands, error)) return false;
    if (!wait(!commands.empty(), error)) {
      error.insert(0, "no answer to " + std::string(name) + ": ");
      return false;
    }
    if (!receive(name, answers, check, error)) return false;
  }
  return true;
}

bool Dialogue::run(std::string_view name, std::string_view commands, std::uint64_t answers,
                   ReplyCode code, std::string& error) {
  return run(
      name, commands, answers, [code](const Answer& answer) { return answer.code == code; }, error);
}

void Dialogue::mark_progress(std::size_t bytes, bool is_answer) {
  bytes_moved_ += bytes;
  if (!is_answer && bytes_moved_ < kBytesOfProgress) return;
  bytes_moved_ = 0;
  deadline_ = os::read_clock() + patience_;
}

bool Dialogue::send_some(std::string_view& commands, std::string& error) {
  const ssize_t sent = ::send(socket_.get(), commands.data(), commands.size(), MSG_NOSIGNAL);
  if (sent > 0) {
    CHECK(static_cast<std::size_t>(sent) <= commands.size());
    commands.remove_prefix(static_cast<std::size_t>(sent));
    mark_progress(static_cast<std::size_t>(sent), false);
  }
  if (sent >= 0 || errno == EAGAIN || errno == EINTR) return true;
  error = std::string("cannot send: ") + std::strerror(errno);
  return false;
}

// Waits until the socket is readable, or also writable if `to_send` is set.
bool Dialogue::wait(bool to_send, std::string& error) {
  std::vector<pollfd> wanted = {
      {socket_.get(), static_cast<short>(POLLIN | (to_send ? POLLOUT : 0)), 0}};
  for (const int descriptor : watched_) wanted.push_back({descriptor, POLLIN, 0});
  while (true) {
    // Reads input that arrived while this process was not scheduled, even after the deadline.
    const Duration left = std::max(deadline_ - os::read_clock(), Duration{});
    const int ready = ::poll(wanted.data(), wanted.size(), timeout_ms(left));
    if (ready < 0 && errno == EINTR && !is_interrupted()) return true;
    if (ready <= 0) {
      error = is_answering_ ? "the server stopped in the middle of the answer"
                            : "the server sent nothing in time";
      if (ready < 0) error = std::strerror(errno);
      if (!begins_answer(parser_.unfinished_line())) foreign_words_ = parser_.unfinished_line();
      return false;
    }
    if (wanted[0].revents != 0) return true;
    if (!on_ready_()) {
      error = "aborted";
      return false;
    }
  }
}

bool Dialogue::receive(std::string_view name, std::uint64_t& answers, const Check& check,
                       std::string& error) {
  const ssize_t received = ::recv(socket_.get(), buffer_.data(), buffer_.size(), 0);
  if (received < 0) {
    if (errno == EAGAIN || errno == EINTR) return true;
    error = std::string("cannot receive: ") + std::strerror(errno);
    return false;
  }
  if (received == 0) {
    foreign_words_ = parser_.unfinished_line();
    error = "the server closed the connection during " + std::string(name);
    return false;
  }
  std::string_view bytes(buffer_.data(), static_cast<std::size_t>(received));
  const std::uint64_t answers_before = answers;
  is_answering_ = false;
  while (!bytes.empty()) {
    const AnswerParser::Result result = parser_.next(bytes);
    is_answering_ = result == AnswerParser::Result::more;
    if (is_answering_) break;
    const Answer& answer = parser_.answer();
    if (result == AnswerParser::Result::malformed) foreign_words_ = answer.line;
    if (result == AnswerParser::Result::malformed || answers == 0 || !check(answer)) {
      Answer odd = answer;
      odd.body_matches = true;  // Bodies are not compared here.
      error = describe_unexpected(name, odd);
      return false;
    }
    --answers;
  }
  CHECK(answers <= answers_before);
  mark_progress(static_cast<std::size_t>(received), answers < answers_before);
  return true;
}

void drain_to_end(int socket, Instant deadline) {
  ::shutdown(socket, SHUT_WR);
  char ignored[4096];
  while (true) {
    const ssize_t received = ::recv(socket, ignored, sizeof ignored, 0);
    if (received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR)) return;
    const Duration left = deadline - os::read_clock();
    if (left.count() <= 0) return;
    pollfd wanted{socket, POLLIN, 0};
    if (received < 0) ::poll(&wanted, 1, timeout_ms(left) + 1);
  }
}

}  // namespace haricot::tool
