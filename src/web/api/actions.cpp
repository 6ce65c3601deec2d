#include "web/api/actions.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tool/client/put_tags.hpp"
#include "tool/client/stats_text.hpp"
#include "web/api/action_request.hpp"
#include "web/api/answer.hpp"
#include "web/api/job_move.hpp"
#include "web/api/jobs.hpp"

namespace haricot::web {
namespace {

// A server that frees or kicks very many jobs answers only at the end.
constexpr Duration kLongPatience = Duration::seconds(300);
// Time of a piece of work that needs a loop on beanstalkd.
constexpr Duration kPieceTime = Duration::milliseconds(200);

// Larger than any report of stats-job.
constexpr std::uint64_t kReportBytes = 4096;

// Result of an action.
struct Outcome {
  std::uint16_t status = 200;
  std::uint64_t done = 0;
  std::vector<std::uint64_t> not_found = {};  // Jobs for which a command was answered NOT_FOUND.
  std::uint64_t stayed = 0;                   // Jobs that exist and could not be acted on.
  bool goes_on = false;                       // A piece is done; the request has to be repeated.
  std::string message = {};                   // Reason for another status than 200.
};

// Sets the result to a lost server, and keeps the numbers of what was done.
Outcome lost(Outcome outcome = {}) {
  outcome.status = 502;
  outcome.message = "the server does not answer";
  return outcome;
}

Outcome refused(const tool::Response& answer) {
  const bool is_unknown =
      answer.code == ReplyCode::unknown_command || answer.code == ReplyCode::bad_format;
  if (is_unknown) return {.status = 501, .message = "the server does not have this command"};
  return {.status = 502, .message = "the server answered: " + answer.line};
}

// Formats the result for the log: "done=7 not_found=1".
std::string words_of(const Outcome& outcome) {
  std::string text = outcome.status == 200 ? "" : "refused: ";
  text += outcome.message;
  const auto add = [&text](const char* name, std::uint64_t number) {
    if (!text.empty()) text += ' ';
    text += name + std::to_string(number);
  };
  if (outcome.status == 200 || outcome.done > 0) add("done=", outcome.done);
  if (!outcome.not_found.empty()) add("not_found=", outcome.not_found.size());
  if (outcome.stayed > 0) add("stayed=", outcome.stayed);
  if (outcome.goes_on) text += " goes_on=true";
  return text;
}

Outcome lacks(std::string_view what) {
  return {.status = 501, .message = "the server does not have " + std::string(what)};
}

Outcome no_tube() {
  return {.status = 404, .message = "the server has no such tube"};
}

// Counts the answer for one job. The code `done` means success.
void count(Outcome& outcome, std::uint64_t id, const tool::Answer& answer, ReplyCode done) {
  if (answer.code == done) {
    ++outcome.done;
  } else if (answer.code == ReplyCode::not_found) {
    outcome.not_found.push_back(id);
  } else if (outcome.status == 200) {
    outcome = refused({answer.code, 0, std::string(answer.line), {}});
  }
}

// Sends the command for each job.
Part<Outcome> act_on_each(Server& server, std::string command,
                          const std::vector<std::uint64_t>& ids, ReplyCode done) {
  std::vector<std::string> commands;
  commands.reserve(ids.size());
  for (const std::uint64_t id : ids) {
    commands.push_back(command + " " + std::to_string(id) + "\r\n");
  }
  Outcome outcome;
  Server::Take take = [&](std::size_t index, const tool::Answer& answer) {
    count(outcome, ids[index], answer, done);
  };
  const bool is_there = co_await server.ask_all(std::move(commands), std::move(take), 0);
  co_return is_there ? std::move(outcome) : lost(std::move(outcome));
}

Part<Outcome> kick(Server& server, const ActionRequest& request) {
  // Using a tube that does not exist would create it, so check first.
  const auto tube = co_await server.ask("stats-tube " + request.tube + "\r\n");
  if (!tube) co_return lost();
  if (tube->code == ReplyCode::not_found) co_return no_tube();
  std::vector<std::string> commands;
  commands.push_back("kick " + std::to_string(request.count) + "\r\n");
  const Server::Responses told =
      co_await server.ask_together(in_tube(request.tube, std::move(commands)), 0, kLongPatience);
  if (!told) co_return lost();
  const tool::Response& answer = (*told)[1];
  if (answer.code != ReplyCode::kicked) co_return refused(answer);
  co_return Outcome{.done = answer.number};
}

Part<Outcome> pause(Server& server, const ActionRequest& request) {
  const auto answer = co_await server.ask("pause-tube " + request.tube + " " +
                                          std::to_string(request.seconds) + "\r\n");
  if (!answer) co_return lost();
  if (answer->code == ReplyCode::not_found) co_return no_tube();
  if (answer->code != ReplyCode::paused) co_return refused(*answer);
  co_return Outcome{.done = 1};
}

// Reserves each job and buries it with its own priority. Releases a job that could not be buried.
Part<Outcome> bury(Server& server, const ActionRequest& request) {
  if (!server.facts().has_reserve_job()) co_return lacks("reserve-job");
  std::vector<std::string> commands;
  for (const std::uint64_t id : request.ids) {
    commands.push_back("stats-job " + std::to_string(id) + "\r\n");
  }
  Outcome outcome;
  std::vector<std::string> acts;
  std::vector<std::string> ends;  // For each job, like the next one.
  std::vector<std::uint64_t> ids;
  Server::Take look = [&](std::size_t index, const tool::Answer& answer) {
    const auto stats = tool::StatsText::parse(answer.body);
    if (answer.code != ReplyCode::ok || !stats) {
      outcome.not_found.push_back(request.ids[index]);
      return;
    }
    const std::string* state = stats->find("state");
    if (state != nullptr && *state == "buried") {
      ++outcome.done;
      return;
    }
    const std::string id = std::to_string(request.ids[index]);
    const std::string priority = std::to_string(stats->number("pri").value_or(0));
    acts.push_back("reserve-job " + id + "\r\n");
    acts.push_back("bury " + id + " " + priority + "\r\n");
    ends.push_back("release " + id + " " + priority + " 0\r\n");
    ids.push_back(request.ids[index]);
  };
  const bool is_there = co_await server.ask_all(std::move(commands), std::move(look), kReportBytes);
  if (!is_there) co_return lost();
  std::vector<std::string> held;
  Server::Take take = [&](std::size_t index, const tool::Answer& answer) {
    if (index % 2 == 0) return;  // The bury is answered NOT_FOUND if this reserve failed.
    count(outcome, ids[index / 2], answer, ReplyCode::buried);
    const bool is_held = answer.code != ReplyCode::buried && answer.code != ReplyCode::not_found;
    if (is_held) held.push_back(std::move(ends[index / 2]));
  };
  bool is_done = co_await server.ask_all(std::move(acts), std::move(take), 0);
  if (is_done && !held.empty()) {
    is_done = co_await server.ask_all(
        std::move(held), [](std::size_t, const tool::Answer&) {}, 0);
  }
  co_return is_done ? std::move(outcome) : lost();
}

// Deletes the next jobs repeatedly, for kPieceTime.
Part<Outcome> flush_by_peeking(Server& server, const ActionRequest& request) {
  std::vector<std::string> peeks;
  for (const std::string_view state : {"ready", "delayed", "buried"}) {
    if (request.state.empty() || request.state == state) {
      peeks.push_back("peek-" + std::string(state) + "\r\n");
    }
  }
  Outcome outcome;
  const Instant until = Observer::now() + kPieceTime;
  while (Observer::now() < until) {
    std::vector<std::uint64_t> ids;
    std::optional<Outcome> odd;
    Server::Take take = [&](std::size_t, const tool::Answer& answer) {
      if (answer.code == ReplyCode::found) {
        ids.push_back(answer.number);
      } else if (answer.code != ReplyCode::not_found && answer.code != ReplyCode::now_using) {
        odd = refused({answer.code, 0, std::string(answer.line), {}});
      }
    };
    const bool is_there = co_await server.ask_all(in_tube(request.tube, peeks), std::move(take), 0);
    if (!is_there) co_return lost();
    if (odd) co_return std::move(*odd);
    if (ids.empty()) co_return outcome;
    const Outcome deleted = co_await act_on_each(server, "delete", ids, ReplyCode::deleted);
    if (deleted.status != 200) co_return deleted;
    outcome.done += deleted.done;
  }
  outcome.goes_on = true;
  co_return outcome;
}

Part<Outcome> flush(Server& server, const ActionRequest& request) {
  if (!server.facts().can("flush-tube")) {
    const auto tube = co_await server.ask("stats-tube " + request.tube + "\r\n");
    if (!tube) co_return lost();
    if (tube->code == ReplyCode::not_found) co_return no_tube();
    co_return co_await flush_by_peeking(server, request);
  }
  const std::string state = request.state.empty() ? std::string() : " " + request.state;
  const auto answer =
      co_await server.ask("flush-tube " + request.tube + state + "\r\n", 0, kLongPatience);
  if (!answer) co_return lost();
  if (answer->code == ReplyCode::not_found) co_return no_tube();
  if (answer->code != ReplyCode::flushed) co_return refused(*answer);
  co_return Outcome{.done = answer->number};
}

Part<Outcome> move(Server& server, const ActionRequest& request) {
  if (!server.facts().has_reserve_job()) co_return lacks("reserve-job");
  Outcome outcome;
  for (const std::uint64_t id : request.ids) {
    const std::optional<Moved> moved = co_await move_job(server, id, request.to);
    if (!moved) co_return lost();
    switch (moved->outcome) {
      case tool::JobMove::Outcome::moved:
        ++outcome.done;
        break;
      case tool::JobMove::Outcome::gone:
        outcome.not_found.push_back(id);
        break;
      case tool::JobMove::Outcome::stayed:
      case tool::JobMove::Outcome::failed:
        if (outcome.stayed++ == 0) outcome.message = moved->message;
        break;
    }
  }
  co_return outcome;
}

Part<Outcome> put(Server& server, const ActionRequest& request) {
  std::vector<std::string> commands;
  commands.push_back(tool::put_line({.priority = request.priority,
                                     .delay_s = request.delay,
                                     .ttr_s = request.ttr,
                                     .body_bytes = request.body.size()},
                                    {}) +
                     request.body + "\r\n");
  const Server::Responses told =
      co_await server.ask_together(in_tube(request.tube, std::move(commands)));
  if (!told) co_return lost();
  const tool::Response& answer = (*told)[1];
  if (answer.code != ReplyCode::inserted) co_return refused(answer);
  co_return Outcome{.done = 1, .message = "job " + std::to_string(answer.number)};
}

// Asks for the jobs that were not found. A command also answers NOT_FOUND for a job in another
// state, or one that a worker holds; these have stayed. Returns false if the server was lost.
Part<bool> find_stayed(Server& server, Outcome& outcome) {
  std::vector<std::string> commands;
  for (const std::uint64_t id : outcome.not_found) {
    commands.push_back("stats-job " + std::to_string(id) + "\r\n");
  }
  std::vector<std::uint64_t> gone;
  Server::Take take = [&](std::size_t index, const tool::Answer& answer) {
    if (answer.code == ReplyCode::not_found) gone.push_back(outcome.not_found[index]);
  };
  const bool is_there = co_await server.ask_all(std::move(commands), std::move(take), 0);
  outcome.stayed += outcome.not_found.size() - gone.size();
  outcome.not_found = std::move(gone);
  co_return is_there;
}

Part<Outcome> act(Server& server, const ActionRequest& request) {
  switch (request.action) {
    case Action::kick:
      co_return co_await kick(server, request);
    case Action::kick_job:
      co_return co_await act_on_each(server, "kick-job", request.ids, ReplyCode::kicked_job);
    case Action::pause:
      co_return co_await pause(server, request);
    case Action::bury:
      co_return co_await bury(server, request);
    case Action::delete_jobs:
      co_return co_await act_on_each(server, "delete", request.ids, ReplyCode::deleted);
    case Action::flush:
      co_return co_await flush(server, request);
    case Action::move:
      co_return co_await move(server, request);
    case Action::put:
      co_return co_await put(server, request);
  }
  co_return Outcome{};
}

}  // namespace

Task answer_action(Observer& observer, std::shared_ptr<Exchange> exchange) {
  std::string error;
  const std::optional<ActionRequest> request = ActionRequest::read(exchange->request().body, error);
  if (!request) {
    exchange->log_action("none", "", "", "refused: " + error);
    refuse(*exchange, 400, error);
    co_return;
  }
  Server* server = observer.find(request->server);
  if (server == nullptr) {
    exchange->log_action(name_of(request->action), request->server, request->words(),
                         "refused: no such server");
    refuse(*exchange, 404, "no such server");
    co_return;
  }
  Outcome outcome = co_await act(*server, *request);
  if (outcome.status == 200 && !co_await find_stayed(*server, outcome)) {
    outcome = lost(std::move(outcome));
  }
  server->end_act();
  exchange->log_action(name_of(request->action), request->server, request->words(),
                       words_of(outcome));
  if (outcome.status != 200) {
    refuse(*exchange, outcome.status, outcome.message);
    co_return;
  }
  answer(*exchange, JsonWriter()
                        .add("done", outcome.done)
                        .add("not_found", std::uint64_t{outcome.not_found.size()})
                        .add("stayed", outcome.stayed)
                        .add("message", outcome.message)
                        .add("goes_on", outcome.goes_on)
                        .take());
}

}  // namespace haricot::web
