#include "tool/client/remote.hpp"

#include <poll.h>

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

constexpr std::size_t kBufferBytes = 256 * 1024;

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

std::string describe_unexpected(std::string_view command, const Answer& answer) {
  std::string text(command);
  if (answer.line.empty()) return text + " was answered with an empty line";
  text += " was answered: ";
  for (const char c : answer.line.substr(0, 100)) text += c >= ' ' && c <= '~' ? c : '?';
  return text;
}

Response copy_of(const Answer& answer) {
  return {answer.code, answer.number, std::string(answer.line), std::string(answer.body)};
}

Remote::Remote(Address address, Duration patience)
    : address_(std::move(address)),
      patience_(patience),
      buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)),
      link_(address_, {buffer_.get(), kBufferBytes},
            {.lost = [this](Instant /*now*/, const Loss& loss) { loss_ = loss; }}) {}

bool Remote::fail(std::string reason, int status) {
  failure_ = {std::move(reason), status};
  if (status == kExitNoServer) close();
  return false;
}

bool Remote::open() {
  close();
  gave_up_.clear();
  link_.open(patience_, os::read_clock());
  while (link_.is_open() && !link_.is_connected()) wait_once();
  if (link_.is_connected()) return true;
  if (gave_up_.empty()) return fail_by_loss({});
  return fail("cannot connect to " + address_.name() + ": " + gave_up_, kExitNoServer);
}

// Waits until the connection or another descriptor is ready, or an answer is late, and handles it.
void Remote::wait_once() {
  link_.advance(os::read_clock());
  if (!link_.is_open()) return;
  std::vector<pollfd> wanted = {{link_.descriptor(), link_.wanted_events(), 0}};
  for (const int descriptor : watched_) wanted.push_back({descriptor, POLLIN, 0});
  // Input that arrived while this process was not scheduled is read even after the deadline.
  const int timeout = os::timeout_ms(os::read_clock(), link_.next_event());
  const int ready = ::poll(wanted.data(), wanted.size(), timeout);
  if (ready < 0 && (errno != EINTR || is_interrupted())) give_up(std::strerror(errno));
  if (ready <= 0) return;
  if (wanted[0].revents != 0) {
    link_.handle(static_cast<std::uint16_t>(wanted[0].revents));
  } else if (!on_ready_()) {
    give_up("aborted");
  }
}

void Remote::give_up(std::string_view reason) {
  gave_up_ = reason;
  loss_ = {.kind = Loss::Kind::late, .was_connected = is_open()};
  close();
}

// Returns a message about the lost connection. `name` describes the commands.
std::string Remote::describe_loss(std::string_view name) const {
  std::string_view reason = loss_.was_in_answer ? "the server stopped in the middle of the answer"
                                                : "the server sent nothing in time";
  if (!gave_up_.empty()) reason = gave_up_;
  return to_sentence(loss_, "no answer to " + std::string(name) + ": " + std::string(reason), name);
}

bool Remote::ask(std::string_view name, std::string_view commands, std::uint64_t answers,
                 const std::function<void(const Answer&)>& take) {
  if (answers == 0) return true;
  CHECK(is_open());
  auto pass_on = [&take](const Request& /*request*/, const Answer* answer) {
    if (answer != nullptr) take(*answer);
  };
  Request request{.commands = commands,
                  .answers = answers,
                  .take = AnswerHandler::of(pass_on),
                  .patience = patience_};
  gave_up_.clear();
  link_.pipeline().ask(request);
  // The answers may arrive before all commands are sent.
  while (link_.is_open() && !link_.pipeline().is_idle()) wait_once();
  return is_open() || fail_by_loss(name);
}

bool Remote::fail_by_loss(std::string_view name) {
  std::string reason = describe_loss(name);
  const bool is_foreign = loss_.kind == Loss::Kind::foreign;
  if (loss_.was_connected) reason.insert(0, address_.name() + (is_foreign ? " is " : ": "));
  const bool is_local = loss_.error == EMFILE || loss_.error == ENFILE;
  return fail(std::move(reason), is_local ? kExitLocal : kExitNoServer);
}

bool Remote::open(std::string& error) {
  if (open()) return true;
  error = failure_.reason;
  return false;
}

bool Remote::run(std::string_view name, std::string_view commands, std::uint64_t answers,
                 const Check& check, std::string& error) {
  std::string odd;
  const bool is_good = ask(name, commands, answers, [&](const Answer& answer) {
    if (odd.empty() && !check(answer)) odd = describe_unexpected(name, answer);
  });
  if (is_good && odd.empty()) return true;
  error = odd.empty() ? describe_loss(name) : odd;
  return false;
}

bool Remote::run(std::string_view name, std::string_view commands, std::uint64_t answers,
                 ReplyCode code, std::string& error) {
  const auto check = [code](const Answer& answer) { return answer.code == code; };
  return run(name, commands, answers, check, error);
}

std::optional<std::vector<Response>> Remote::ask_together(std::string_view name,
                                                          std::string_view commands,
                                                          std::uint64_t answers) {
  std::vector<Response> responses;
  const auto take = [&](const Answer& answer) { responses.push_back(copy_of(answer)); };
  if (!ask(name, commands, answers, take)) return std::nullopt;
  return responses;
}

std::optional<Response> Remote::ask(std::string_view command) {
  CHECK(command.find_first_of("\r\n") == std::string_view::npos);
  auto responses =
      ask_together(command.substr(0, command.find(' ')), std::string(command) + "\r\n", 1);
  if (!responses) return std::nullopt;
  return std::move(responses->front());
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

}  // namespace haricot::tool
