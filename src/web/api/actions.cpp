#include "web/api/actions.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "haricot/base/name_bytes.hpp"
#include "haricot/base/number.hpp"
#include "tool/client/job_move.hpp"
#include "tool/client/json_object.hpp"
#include "tool/client/put_tags.hpp"
#include "tool/client/stats_text.hpp"
#include "web/api/jobs.hpp"
#include "web/api/messages.hpp"

namespace haricot::web {
namespace {

constexpr std::array<std::string_view, 8> kNames = {"kick",   "kick-job", "pause", "bury",
                                                    "delete", "flush",    "move",  "put"};
constexpr std::uint64_t kNumberMax = std::numeric_limits<std::uint32_t>::max();

using Value = tool::JsonObject::Value;

// Reads members of the object. The first mistake becomes the error.
class Reader {
 public:
  Reader(const tool::JsonObject& object, std::string& error) : object_(object), error_(error) {}

  void reject(std::string_view name, std::string_view what) {
    if (error_.empty()) error_ = std::string(name) + " " + std::string(what);
  }
  std::string text(std::string_view name) {
    const Value* value = object_.find(name);
    if (value == nullptr) return {};
    if (value->kind != Value::Kind::string) reject(name, "is not a string");
    return value->text;
  }
  std::string tube(std::string_view name) {
    std::string value = text(name);
    if (!is_tube_name(value)) reject(name, "is not a tube name");
    return value;
  }
  std::uint64_t number(std::string_view name, std::optional<std::uint64_t> otherwise) {
    const Value* value = object_.find(name);
    if (value == nullptr && otherwise) return *otherwise;
    const std::optional<std::uint64_t> number =
        value != nullptr && value->kind == Value::Kind::number ? read_number(value->text)
                                                               : std::nullopt;
    if (!number || *number > kNumberMax) reject(name, "is not a number up to 4294967295");
    return number.value_or(0);
  }
  std::vector<std::uint64_t> ids() {
    const Value* value = object_.find("ids");
    std::vector<std::uint64_t> ids;
    if (value != nullptr && value->kind == Value::Kind::numbers) {
      for (const std::string& item : value->items) {
        const std::optional<std::uint64_t> id = read_number(item);
        if (!id) reject("ids", "contains an invalid job id");
        ids.push_back(id.value_or(0));
      }
    }
    if (ids.empty() || ids.size() > ActionRequest::kIdsMax) {
      reject("ids", "must be an array of 1 to 1000 job ids");
    }
    return ids;
  }
  std::string body() {
    if (object_.find("body_base64") == nullptr) return text("body");
    std::optional<std::string> bytes = tool::from_base64(text("body_base64"));
    if (!bytes) reject("body_base64", "is not base64");
    return std::move(bytes).value_or(std::string());
  }

 private:
  const tool::JsonObject& object_;
  std::string& error_;
};

}  // namespace

std::string_view name_of(Action action) {
  return kNames[static_cast<std::size_t>(action)];
}

std::optional<ActionRequest> ActionRequest::read(std::string_view json, std::string& error) {
  const auto object =
      tool::JsonObject::parse(json, error, tool::JsonObject::Nested::arrays_of_numbers);
  if (!object) return std::nullopt;
  Reader reader(*object, error);
  ActionRequest request;
  request.server = reader.text("server");
  const std::string name = reader.text("action");
  std::size_t known = 0;
  while (known < kNames.size() && kNames[known] != name) ++known;
  if (known == kNames.size()) reader.reject("action", "is unknown");
  if (!error.empty()) return std::nullopt;
  request.action = static_cast<Action>(known);
  switch (request.action) {
    case Action::kick:
      request.tube = reader.tube("tube");
      request.count = reader.number("count", std::nullopt);
      break;
    case Action::pause:
      request.tube = reader.tube("tube");
      request.seconds = reader.number("seconds", std::nullopt);
      break;
    case Action::flush:
      request.tube = reader.tube("tube");
      request.state = reader.text("state");
      if (!request.state.empty() && request.state != "ready" && request.state != "delayed" &&
          request.state != "buried") {
        reader.reject("state", "is not ready, delayed or buried");
      }
      break;
    case Action::move:
      request.ids = reader.ids();
      request.to = reader.tube("to");
      break;
    case Action::kick_job:
    case Action::bury:
    case Action::delete_jobs:
      request.ids = reader.ids();
      break;
    case Action::put:
      request.tube = reader.tube("tube");
      request.priority = reader.number("priority", request.priority);
      request.delay = reader.number("delay", request.delay);
      request.ttr = reader.number("ttr", request.ttr);
      request.body = reader.body();
      break;
  }
  if (!error.empty()) return std::nullopt;
  return request;
}

std::string ActionRequest::log_text() const {
  std::string text;
  const auto add = [&text](std::string_view name, std::string_view value) {
    if (!text.empty()) text += ' ';
    text += name;
    text += '=';
    text += value;
  };
  if (!tube.empty()) add("tube", tube);
  if (!to.empty()) add("to", to);
  if (!state.empty()) add("state", state);
  if (action == Action::kick) add("count", std::to_string(count));
  if (action == Action::pause) add("seconds", std::to_string(seconds));
  if (action == Action::put) add("bytes", std::to_string(body.size()));
  if (!ids.empty()) {
    std::string list;
    for (std::size_t i = 0; i < std::min(ids.size(), kIdsLogged); ++i) {
      if (i > 0) list += ',';
      list += std::to_string(ids[i]);
    }
    add("jobs", std::to_string(ids.size()));
    add("ids", list);
    if (ids.size() > kIdsLogged) add("more", std::to_string(ids.size() - kIdsLogged));
  }
  return text;
}

// Actions -----------------------------------------------------------------------------------------

namespace {

// A job with a larger body is not moved: its body has to fit into the memory of this program.
constexpr std::uint64_t kMovedBytesMax = 64 * 1024 * 1024;

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

// Sets the result to a lost server, and keeps the numbers of jobs.
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
std::string log_text_of(const Outcome& outcome) {
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

Outcome unsupported(std::string_view what) {
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
  const Server::Responses answers =
      co_await server.ask_together(in_tube(request.tube, std::move(commands)), 0, kLongPatience);
  if (!answers) co_return lost();
  const tool::Response& answer = (*answers)[1];
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
  if (!server.facts().has_reserve_job()) co_return unsupported("reserve-job");
  std::vector<std::string> commands;
  for (const std::uint64_t id : request.ids) {
    commands.push_back("stats-job " + std::to_string(id) + "\r\n");
  }
  Outcome outcome;
  std::vector<std::string> acts;
  std::vector<std::string> ends;  // For each job, like the next one.
  std::vector<std::uint64_t> ids;
  Server::Take choose = [&](std::size_t index, const tool::Answer& answer) {
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
  const bool is_there =
      co_await server.ask_all(std::move(commands), std::move(choose), kReportBytes);
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
    std::optional<Outcome> failure;
    Server::Take take = [&](std::size_t, const tool::Answer& answer) {
      if (answer.code == ReplyCode::found) {
        ids.push_back(answer.number);
      } else if (answer.code != ReplyCode::not_found && answer.code != ReplyCode::now_using) {
        failure = refused({answer.code, 0, std::string(answer.line), {}});
      }
    };
    const bool is_there = co_await server.ask_all(in_tube(request.tube, peeks), std::move(take), 0);
    if (!is_there) co_return lost();
    if (failure) co_return std::move(*failure);
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

// Result of a move.
struct Moved {
  tool::JobMove::Outcome outcome = tool::JobMove::Outcome::stayed;
  std::string message = {};  // Message for the user; may be empty.
};

// Sends the commands of a move. Returns nothing if the server was lost.
Part<Server::Responses> ask_for_move(Server& server, std::vector<std::string> commands) {
  const std::size_t wanted = commands.size();
  // The connection is shared, so return to the default tube at once.
  if (commands.front().starts_with("use ")) commands.emplace_back("use default\r\n");
  Server::Responses answers = co_await server.ask_together(std::move(commands), kMovedBytesMax);
  if (answers) answers->resize(wanted);
  co_return answers;
}

// Moves a job to another tube. Returns nothing if the server was lost.
Part<std::optional<Moved>> move_job(Server& server, std::uint64_t id, std::string to) {
  const MaybeJob job = co_await ask_job(server, id);
  if (!job) co_return std::nullopt;
  if (!*job) co_return Moved{.outcome = tool::JobMove::Outcome::gone};
  const std::string* tube = (*job)->find("tube");
  if (tube == nullptr) co_return Moved{.outcome = tool::JobMove::Outcome::gone};
  if (*tube == to)
    co_return Moved{.message = "job " + std::to_string(id) + " is already in this tube"};
  tool::JobMove move(tool::listed_job(**job), *tube, std::move(to), tool::kAllPlaces);
  while (!move.is_over()) {
    const Server::Responses answers = co_await ask_for_move(server, move.commands());
    if (!answers) co_return std::nullopt;
    move.take(*answers);
  }
  Moved moved{.outcome = move.outcome()};
  if (const auto& refused = move.refused()) {
    moved.outcome = tool::JobMove::Outcome::stayed;
    moved.message = std::string(refused->command) + " was answered: " + refused->line;
  }
  if (!move.messages().empty()) moved.message = move.messages().back();
  co_return moved;
}

Part<Outcome> move(Server& server, const ActionRequest& request) {
  if (!server.facts().has_reserve_job()) co_return unsupported("reserve-job");
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
  const Server::Responses answers =
      co_await server.ask_together(in_tube(request.tube, std::move(commands)));
  if (!answers) co_return lost();
  const tool::Response& answer = (*answers)[1];
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
    exchange->refuse(400, error);
    co_return;
  }
  Server* server = observer.find(request->server);
  if (server == nullptr) {
    exchange->log_action(name_of(request->action), request->server, request->log_text(),
                         "refused: no such server");
    exchange->refuse(404, "no such server");
    co_return;
  }
  Outcome outcome = co_await act(*server, *request);
  if (outcome.status == 200 && !co_await find_stayed(*server, outcome)) {
    outcome = lost(std::move(outcome));
  }
  server->end_action();
  exchange->log_action(name_of(request->action), request->server, request->log_text(),
                       log_text_of(outcome));
  if (outcome.status != 200) co_return exchange->refuse(outcome.status, outcome.message);
  answer(*exchange, JsonWriter()
                        .add("done", outcome.done)
                        .add("not_found", std::uint64_t{outcome.not_found.size()})
                        .add("stayed", outcome.stayed)
                        .add("message", outcome.message)
                        .add("goes_on", outcome.goes_on)
                        .take());
}

}  // namespace haricot::web
