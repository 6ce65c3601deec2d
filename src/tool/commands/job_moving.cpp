#include "tool/commands/job_moving.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace haricot::tool {
namespace {

constexpr std::uint64_t kDelayMaxS = 4294967295;

std::string words(std::string_view command, std::uint64_t id, std::string_view more = {}) {
  std::string text(command);
  text += ' ';
  text += std::to_string(id);
  text += more;
  return text + "\r\n";
}

std::string job_called(std::uint64_t id) {
  return "job " + std::to_string(id);
}

// Servers that are older than reserve-job read it as a reserve with garbage after it.
bool lacks_reserve_job(const Response& answer) {
  return answer.code == ReplyCode::bad_format || answer.code == ReplyCode::unknown_command;
}

}  // namespace

std::uint64_t remaining_delay_s(std::uint64_t time_left_s) {
  return std::min(time_left_s, kDelayMaxS - 1) + 1;
}

std::optional<Place> place_at_reserve(const StatsText& before, const StatsText& after) {
  const auto grown = [&](std::string_view key) {
    return after.number(key).value_or(0) - before.number(key).value_or(0);
  };
  const std::string* state = before.find("state");
  if (state == nullptr || grown("reserves") != 1 || grown("timeouts") != 0 ||
      grown("releases") != 0 || grown("buries") != 0) {
    return std::nullopt;
  }
  if (grown("kicks") != 0) return Place::ready;
  for (const Place place : kPlaces) {
    if (*state == name_of(place)) return place;
  }
  return std::nullopt;
}

JobMover::Outcome JobMover::move(std::uint64_t id, const PutTags& tags) {
  if (!support_.takes(tags)) return Outcome::failed;
  Outcome outcome = Outcome::failed;
  std::optional<Taken> job = take(id, outcome);
  if (!job) return outcome;
  job->tags = tags;
  if (!places_.has(job->place)) {
    return give_back(*job)
               ? Outcome::gone
               : fail(job_called(id) + " stays in tube " + from_ + ", and may be ready");
  }
  const std::optional<std::uint64_t> copied = copy(*job, outcome);
  if (!copied) return outcome;
  if (job->place == Place::buried && !bury_copy(*job, *copied)) {
    return fail(job_called(id) + " is in tube " + from_ + ", and in tube " + to_ + " as " +
                job_called(*copied) + ", which may be delayed instead of buried");
  }
  return remove_original(*job, *copied);
}

// Reserves the job. Nothing: `outcome` says why.
std::optional<JobMover::Taken> JobMover::take(std::uint64_t id, Outcome& outcome) {
  Remote& server = errand_.server();
  const auto answers = server.ask_together(
      "reserve-job", words("stats-job", id) + words("reserve-job", id) + words("stats-job", id), 3);
  if (!answers) {
    outcome = fail(job_called(id) + " stays in tube " + from_ + ", and may be ready");
    return std::nullopt;
  }
  const Response& reserved = (*answers)[1];
  if (reserved.code != ReplyCode::reserved) {
    outcome = Outcome::gone;
    if (reserved.code == ReplyCode::not_found) return std::nullopt;
    const ReplyCode code = lacks_reserve_job(reserved) ? ReplyCode::unknown_command : reserved.code;
    server.refuse("reserve-job", code, reserved.line);
    outcome = Outcome::failed;
    return std::nullopt;
  }
  const StatsText before = StatsText::parse((*answers)[0].body).value_or(StatsText{});
  const StatsText after = StatsText::parse((*answers)[2].body).value_or(StatsText{});
  Taken job;
  job.id = id;
  job.priority = after.number("pri").value_or(0);
  job.ttr_s = after.number("ttr").value_or(1);
  job.body = reserved.body;
  // A worker that had the job a moment ago has decided what it is now, which nobody can see any
  // more: then it is ready, as after the end of a connection.
  job.place = place_at_reserve(before, after).value_or(Place::ready);
  if (job.place == Place::delayed) {
    job.delay_s = remaining_delay_s(before.number("time-left").value_or(0));
  }
  return job;
}

// Puts the job into the other tube. Nothing: `outcome` says why.
std::optional<std::uint64_t> JobMover::copy(const Taken& job, Outcome& outcome) {
  Remote& server = errand_.server();
  outcome = Outcome::failed;
  const std::uint64_t delay_s = job.place == Place::buried ? kDelayBeforeBuryS : job.delay_s;
  const std::string line = put_line({job.priority, delay_s, job.ttr_s, job.body.size()}, job.tags);
  if (is_too_long(line)) {
    outcome = leave(job, "its tags are too long for the line of a put");
    return std::nullopt;
  }
  std::string commands = "use " + to_ + "\r\n";
  commands += line;
  commands += job.body;
  commands += "\r\n";
  const auto answers = server.ask_together("put", commands, 2);
  if (!answers) {
    fail(job_called(job.id) + " is in tube " + from_ + ", and may be in tube " + to_ + " too");
    return std::nullopt;
  }
  const Response& put = (*answers)[1];
  if (const std::optional<KeyOwner> owner = read_key_owner(put.line)) {
    outcome = leave(job, describe(*owner));
    return std::nullopt;
  }
  if (put.code == ReplyCode::inserted) return put.number;
  // The server may have had no memory to make the job ready. Then it has buried it.
  const bool is_there = put.code == ReplyCode::buried_new;
  if (is_there && !server.ask("delete " + std::to_string(put.number), ReplyCode::deleted)) {
    fail(job_called(job.id) + " is in both tubes");
    return std::nullopt;
  }
  if (!give_back(job)) {
    fail(job_called(job.id) + " stays in tube " + from_ + ", and may be ready");
    return std::nullopt;
  }
  server.refuse("put", put.code, put.line);
  return std::nullopt;
}

// Gives the job back, which cannot be moved.
JobMover::Outcome JobMover::leave(const Taken& job, const std::string& why) {
  const std::string stays = job_called(job.id) + " stays in tube " + from_;
  if (!give_back(job)) return fail(stays + ", and may be ready");
  errand_.warn(stays + ": " + why);
  return Outcome::stayed;
}

bool JobMover::bury_copy(const Taken& job, std::uint64_t copy) {
  const std::string commands =
      words("reserve-job", copy) + words("bury", copy, " " + std::to_string(job.priority));
  const auto answers = errand_.server().ask_together("bury", commands, 2);
  if (!answers) return false;
  if ((*answers)[1].code != ReplyCode::buried) {
    errand_.warn(job_called(copy) + " in tube " + to_ +
                 " could not be buried: " + (*answers)[1].line);
  }
  return true;
}

JobMover::Outcome JobMover::remove_original(const Taken& job, std::uint64_t copy) {
  Remote& server = errand_.server();
  const std::string twice = job_called(job.id) + " is in tube " + from_ + ", and in tube " + to_ +
                            " as " + job_called(copy);
  const std::optional<Response> deleted =
      server.ask("delete " + std::to_string(job.id), ReplyCode::deleted);
  if (!deleted) {
    return fail(job_called(job.id) + " is in tube " + to_ + " as " + job_called(copy) +
                ", and may still be in tube " + from_ + " too");
  }
  if (deleted->code == ReplyCode::deleted) return Outcome::moved;
  // Its TTR has ended meanwhile, and it is its worker's again: so the other one has to go.
  const std::optional<Response> undone =
      server.ask("delete " + std::to_string(copy), ReplyCode::deleted);
  if (!undone) return fail(twice);
  errand_.warn(undone->code == ReplyCode::deleted ? job_called(job.id) + " stays in tube " + from_ +
                                                        ": its TTR ended before it was moved"
                                                  : twice + ": its TTR ended before it was moved");
  return Outcome::stayed;
}

JobMover::Outcome JobMover::fail(const std::string& what_is_known) {
  errand_.warn(what_is_known);
  return Outcome::failed;
}

// Makes of the reserved job what it was. False: the server failed.
bool JobMover::give_back(const Taken& job) {
  Remote& server = errand_.server();
  const std::string priority = " " + std::to_string(job.priority);
  if (job.place == Place::buried) {
    return server.ask("bury " + std::to_string(job.id) + priority, ReplyCode::buried).has_value();
  }
  const std::string id = std::to_string(job.id);
  const std::optional<Response> released =
      server.ask("release " + id + priority + " " + std::to_string(job.delay_s));
  if (!released) return false;
  if (released->code == ReplyCode::buried) {
    // To reserve it was its last try. A kick gives it one more.
    if (job.place == Place::ready) {
      return server.ask("kick-job " + id, ReplyCode::kicked_job).has_value();
    }
    errand_.warn(job_called(job.id) + " is buried now, as it has no try left");
    return true;
  }
  if (released->code == ReplyCode::released || released->code == ReplyCode::not_found) return true;
  server.refuse("release", released->code, released->line);
  return false;
}

}  // namespace haricot::tool
