#include "web/api/job_move.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "tool/client/put_tags.hpp"
#include "web/api/jobs.hpp"

namespace haricot::web {
namespace {

// A buried job is put with this delay and then buried, so that no worker gets it in between.
constexpr std::uint64_t kDelayBeforeBuryS = 3600;
// A job with a larger body stays where it is: the body has to fit into the memory of this program.
constexpr std::uint64_t kBodyBytesMax = 64 * 1024 * 1024;

std::string words(std::string_view command, std::uint64_t id, std::string_view more = {}) {
  return std::string(command) + " " + std::to_string(id) + std::string(more) + "\r\n";
}

// The job as it was, once it is reserved.
struct Held {
  std::uint64_t id = 0;
  std::string state;
  std::uint64_t priority = 0;
  std::uint64_t left_s = 0;  // Of a delayed job's delay.
  std::uint64_t ttr_s = 0;
  tool::PutTags tags;
  std::string body;
};

std::vector<std::string> in_list(std::string command) {
  std::vector<std::string> commands;
  commands.push_back(std::move(command));
  return commands;
}

// Makes of the reserved job what it was. False: the server is lost.
Part<bool> give_back(Server& server, const Held& job) {
  const std::string priority = " " + std::to_string(job.priority);
  std::vector<std::string> commands;
  if (job.state == "buried") {
    commands = in_list(words("bury", job.id, priority));
  } else {
    const std::uint64_t delay = job.state == "delayed" ? job.left_s + 1 : 0;
    commands = in_list(words("release", job.id, priority + " " + std::to_string(delay)));
  }
  co_return co_await server.ask_all(std::move(commands), nullptr, 0);
}

// Puts the job into the other tube. `copy` is its id there; 0: the server has not taken it. False:
// the server is lost.
Part<bool> copy_job(Server& server, const Held& job, const std::string& to, std::uint64_t& copy) {
  const bool is_buried = job.state == "buried";
  const std::uint64_t delay =
      is_buried ? kDelayBeforeBuryS : (job.state == "delayed" ? job.left_s + 1 : 0);
  std::string put = tool::put_line({.priority = job.priority,
                                    .delay_s = delay,
                                    .ttr_s = job.ttr_s,
                                    .body_bytes = job.body.size()},
                                   job.tags);
  copy = 0;
  if (tool::is_too_long(put)) co_return true;
  put += job.body;
  put += "\r\n";
  const Server::Responses told = co_await server.ask_together(in_tube(to, in_list(std::move(put))));
  if (!told) co_return false;
  const tool::Response& answer = (*told)[1];
  // A duplicate of a unique job is no copy.
  if (answer.code == ReplyCode::inserted) copy = answer.number;
  if (answer.code == ReplyCode::buried_new) {
    // The server had no memory to make it ready.
    co_return co_await server.ask_all(in_list(words("delete", answer.number)), nullptr, 0);
  }
  if (copy == 0 || !is_buried) co_return true;
  std::vector<std::string> bury = {words("reserve-job", copy),
                                   words("bury", copy, " " + std::to_string(job.priority))};
  co_return co_await server.ask_all(std::move(bury), nullptr, 0);
}

}  // namespace

Part<std::optional<Moved>> move_job(Server& server, std::uint64_t id, std::string to) {
  const MaybeJob before = co_await ask_job(server, id);
  if (!before) co_return std::nullopt;
  if (!*before) co_return Moved::gone;
  const std::string* tube = (*before)->find("tube");
  if (tube != nullptr && *tube == to) co_return Moved::stayed;
  const std::optional<tool::Response> reserved =
      co_await server.ask(words("reserve-job", id), kBodyBytesMax);
  if (!reserved) co_return std::nullopt;
  if (reserved->code != ReplyCode::reserved) co_return Moved::gone;
  ReplyLine line;
  const bool is_whole =
      read_reply_line(reserved->line, line) && line.body_bytes == reserved->body.size();
  const tool::StatsText& stats = **before;
  const std::string* state = stats.find("state");
  const Held job{
      .id = id,
      .state = state == nullptr ? std::string() : *state,
      .priority = stats.number("pri").value_or(0),
      .left_s = std::min<std::uint64_t>(stats.number("time-left").value_or(0), 4294967294),
      .ttr_s = stats.number("ttr").value_or(1),
      .tags = tool::tags_of(stats),
      .body = reserved->body};
  std::uint64_t copy = 0;
  if (is_whole) {
    const bool is_there = co_await copy_job(server, job, to, copy);
    if (!is_there) co_return std::nullopt;
  }
  if (copy == 0) {
    const bool is_there = co_await give_back(server, job);
    if (!is_there) co_return std::nullopt;
    co_return Moved::stayed;
  }
  const std::optional<tool::Response> deleted = co_await server.ask(words("delete", id));
  if (!deleted) co_return std::nullopt;
  if (deleted->code == ReplyCode::deleted) co_return Moved::yes;
  // Its TTR has ended meanwhile, and it is a worker's again: so the other one has to go.
  const std::optional<tool::Response> undone = co_await server.ask(words("delete", copy));
  if (!undone) co_return std::nullopt;
  co_return Moved::stayed;
}

}  // namespace haricot::web
