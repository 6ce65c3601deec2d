#include "tool/client/remote.hpp"

#include <cstddef>
#include <utility>

#include "haricot/base/check.hpp"
#include "tool/cli/safe_text.hpp"
#include "tool/cli/subcommand.hpp"

namespace haricot::tool {
namespace {

constexpr std::size_t kForeignBytesShown = 60;

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
                  safe_word(std::string_view(foreign).substr(0, kForeignBytesShown)),
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
    bool is_there = false;
    const std::optional<StatsText> stats = ask_stats("stats", is_there);
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
