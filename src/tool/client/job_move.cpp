#include "tool/client/job_move.hpp"

#include <algorithm>
#include <cstddef>

#include "haricot/base/check.hpp"
#include "haricot/protocol/reply.hpp"

namespace haricot::tool {
namespace {

constexpr std::uint64_t kDelayMaxS = 4294967295;

std::string line_of(std::string_view command, std::uint64_t id, std::string_view more = {}) {
  std::string text(command);
  text += ' ';
  text += std::to_string(id);
  text += more;
  return text + "\r\n";
}

std::string job_called(std::uint64_t id) {
  return "job " + std::to_string(id);
}

// A server without reserve-job parses the command as a malformed reserve.
bool lacks_reserve_job(const Response& answer) {
  return answer.code == ReplyCode::bad_format || answer.code == ReplyCode::unknown_command;
}

// Returns false if the caller stored only a part of the body.
bool has_whole_body(const Response& taken) {
  ReplyLine line;
  return read_reply_line(taken.line, line) && line.body_bytes == taken.body.size();
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

ListedJob listed_job(const StatsText& job) {
  return {.id = job.number("id").value_or(0),
          .tags = tags_of(job),
          .has_note = job.find("note") != nullptr};
}

std::vector<std::string> commands_to_finish(std::uint64_t copy, std::string_view note, Place place,
                                            std::uint64_t priority) {
  std::vector<std::string> commands;
  if (!note.empty()) {
    commands.push_back(line_of("note", copy, " " + std::to_string(note.size())) +
                       std::string(note) + "\r\n");
  }
  if (place == Place::buried) {
    commands.push_back(line_of("reserve-job", copy));
    commands.push_back(line_of("bury", copy, " " + std::to_string(priority)));
  } else if (place == Place::ready && !note.empty()) {
    commands.push_back(line_of("kick-job", copy));
  }
  return commands;
}

JobMove::JobMove(ListedJob job, std::string from, std::string to, PlaceFlags places)
    : job_(std::move(job)), from_(std::move(from)), to_(std::move(to)), places_(places) {
  const std::string_view command = is_held() ? "peek" : "reserve-job";
  std::vector<std::string> commands = {line_of("stats-job", job_.id), line_of(command, job_.id),
                                       line_of("stats-job", job_.id)};
  if (job_.has_note) commands.push_back(line_of("peek-note", job_.id));
  ask(Step::take_job, command, std::move(commands));
}

void JobMove::ask(Step step, std::string_view name, std::vector<std::string> commands) {
  step_ = step;
  name_ = name;
  commands_ = std::move(commands);
}

void JobMove::take(const std::vector<Response>& answers) {
  CHECK(!is_over() && answers.size() == commands_.size());
  const Response& last = answers.back();
  switch (step_) {
    case Step::take_job:
      return took_job(answers);
    case Step::copy:
      return copied(answers.front(), last);
    case Step::drop_copy:
      if (last.code != ReplyCode::deleted && last.code != ReplyCode::not_found) {
        return refuse("delete", last);
      }
      if (last.code == ReplyCode::not_found) {
        messages_.push_back(job_called(copy_) + ", a copy of " + job_called(job_.id) +
                            ", was reserved before it could be deleted");
      }
      return give_back(Outcome::failed);
    case Step::finish_copy:
      if (last.code != ReplyCode::buried && last.code != ReplyCode::kicked_job &&
          last.code != ReplyCode::noted) {
        const std::string_view done = place_ == Place::buried ? "buried" : "made ready";
        messages_.push_back(job_called(copy_) + " in tube " + to_ + " could not be " +
                            std::string(done) + ": " + last.line);
      }
      return ask(Step::remove, "delete", {line_of("delete", job_.id)});
    case Step::remove:
      return removed(last);
    case Step::undo:
      return undone(last);
    case Step::give_back:
      return gave_back(last);
    case Step::kick:
      if (last.code != ReplyCode::kicked_job && last.code != ReplyCode::not_found) {
        return refuse("kick-job", last);
      }
      return end(outcome_);
  }
}

void JobMove::lose() {
  CHECK(!is_over());
  refused_.reset();
  fail();
}

// Handles the answers to reserve-job, or to peek for a held job.
void JobMove::took_job(const std::vector<Response>& answers) {
  const Response& taken = answers[1];
  if (taken.code == ReplyCode::not_found) return end(Outcome::gone);
  if (taken.code != (is_held() ? ReplyCode::found : ReplyCode::reserved)) {
    const bool is_old = lacks_reserve_job(taken);
    refused_ = {name_, is_old ? ReplyCode::unknown_command : taken.code, taken.line};
    return end(Outcome::failed);
  }
  const StatsText before = StatsText::parse(answers[0].body).value_or(StatsText{});
  const StatsText after = StatsText::parse(answers[2].body).value_or(StatsText{});
  priority_ = after.number("pri").value_or(0);
  ttr_s_ = after.number("ttr").value_or(1);
  body_ = taken.body;
  if (job_.has_note && answers[3].code == ReplyCode::found) note_ = answers[3].body;
  if (is_held()) {
    // Meanwhile its group may have ended, or a client may have kicked it.
    const std::string* state = after.find("state");
    if (state == nullptr || *state != name_of(Place::delayed)) return end(Outcome::gone);
    place_ = Place::delayed;
    delay_s_ = after.number("delay").value_or(0);
  } else {
    // A worker has just held the job and decided its new state, which cannot be known. Treats it as
    // ready, the state after the end of a connection.
    place_ = place_at_reserve(before, after).value_or(Place::ready);
    if (place_ == Place::delayed) {
      delay_s_ = remaining_delay_s(before.number("time-left").value_or(0));
    }
  }
  if (!places_.has(place_)) return give_back(Outcome::gone);
  if (!has_whole_body(taken)) return leave("its body is too large to be copied");
  begin_copy();
}

void JobMove::begin_copy() {
  const std::uint64_t delay_s = is_copied_late() ? kDelayOfCopyS : delay_s_;
  std::string put = put_line({priority_, delay_s, ttr_s_, body_.size()}, job_.tags);
  if (is_too_long(put)) return leave("its tags do not fit into the line of a put");
  put += body_;
  put += "\r\n";
  body_ = {};
  ask(Step::copy, "put", {"use " + to_ + "\r\n", std::move(put)});
}

void JobMove::copied(const Response& use, const Response& put) {
  // If `use` failed, the connection still uses its previous tube, and the copy is there.
  const bool is_elsewhere = use.code != ReplyCode::now_using;
  const std::optional<KeyOwner> owner = read_key_owner(put.line);
  if (owner && !is_elsewhere) return leave(describe(*owner));
  if (put.code == ReplyCode::inserted && !is_elsewhere) {
    copy_ = put.number;
    return finish_copy();
  }
  const Response& no = is_elsewhere ? use : put;
  refused_ = {is_elsewhere ? "use" : "put", no.code, no.line};
  // The server buries a new job if it has no memory to make it ready.
  if (!owner && (put.code == ReplyCode::buried_new || put.code == ReplyCode::inserted)) {
    copy_ = put.number;
    return ask(Step::drop_copy, "delete", {line_of("delete", copy_)});
  }
  give_back(Outcome::failed);
}

void JobMove::finish_copy() {
  std::vector<std::string> commands = commands_to_finish(copy_, note_, place_, priority_);
  if (commands.empty()) return ask(Step::remove, "delete", {line_of("delete", job_.id)});
  ask(Step::finish_copy, place_ == Place::buried ? "bury" : "note", std::move(commands));
}

void JobMove::removed(const Response& deleted) {
  if (deleted.code == ReplyCode::deleted) return end(Outcome::moved);
  if (deleted.code != ReplyCode::not_found) return refuse("delete", deleted);
  // Its TTR has ended, and another worker may hold it, so delete the copy.
  ask(Step::undo, "delete", {line_of("delete", copy_)});
}

void JobMove::undone(const Response& deleted) {
  if (deleted.code != ReplyCode::deleted && deleted.code != ReplyCode::not_found) {
    return refuse("delete", deleted);
  }
  why_ = is_held() ? "another client took it meanwhile" : "its TTR ended before it was moved";
  is_twice_ = deleted.code == ReplyCode::not_found;
  end(Outcome::stayed);
}

void JobMove::give_back(Outcome outcome) {
  if (is_held()) return end(outcome);
  outcome_ = outcome;
  const std::string priority = " " + std::to_string(priority_);
  if (place_ == Place::buried) {
    return ask(Step::give_back, "bury", {line_of("bury", job_.id, priority)});
  }
  ask(Step::give_back, "release",
      {line_of("release", job_.id, priority + " " + std::to_string(delay_s_))});
}

void JobMove::gave_back(const Response& answer) {
  const bool is_gone = answer.code == ReplyCode::not_found;
  if (place_ == Place::buried) {
    if (answer.code != ReplyCode::buried && !is_gone) return refuse("bury", answer);
    return end(outcome_);
  }
  if (answer.code == ReplyCode::buried) {
    // Reserving the job used up its last try. A kick grants one more.
    if (place_ == Place::ready) return ask(Step::kick, "kick-job", {line_of("kick-job", job_.id)});
    messages_.push_back(job_called(job_.id) + " is now buried, because it has no try left");
    return end(outcome_);
  }
  if (answer.code != ReplyCode::released && !is_gone) return refuse("release", answer);
  end(outcome_);
}

void JobMove::leave(const std::string& why) {
  why_ = why;
  give_back(Outcome::stayed);
}

void JobMove::end(Outcome outcome) {
  outcome_ = outcome;
  commands_.clear();
  if (outcome != Outcome::stayed) return;
  const std::string where = is_twice_ ? job_here() + ", and " + copy_there() : stays();
  messages_.push_back(where + ": " + why_);
}

void JobMove::refuse(std::string_view command, const Response& answer) {
  refused_ = {command, answer.code, answer.line};
  fail();
}

void JobMove::fail() {
  const auto say = [this](std::string text) { messages_.push_back(std::move(text)); };
  switch (step_) {
    case Step::copy:
      say(job_here() + ", and may also be in tube " + to_);
      break;
    case Step::drop_copy:
      say(job_called(job_.id) + " is in both tubes");
      break;
    case Step::finish_copy:
      say(job_here() + ", and " + copy_there() + ", which may be delayed by an hour instead");
      break;
    case Step::remove:
      say(job_called(job_.id) + " is " + copy_there() + ", and may still be in tube " + from_);
      break;
    case Step::undo:
      say(job_here() + ", and " + copy_there());
      break;
    case Step::take_job:
    case Step::give_back:
    case Step::kick:
      say(stays() + ", and may be ready");
      break;
  }
  end(Outcome::failed);
}

std::string JobMove::job_here() const {
  return job_called(job_.id) + " is in tube " + from_;
}

std::string JobMove::copy_there() const {
  return "in tube " + to_ + " as " + job_called(copy_);
}

std::string JobMove::stays() const {
  return job_called(job_.id) + " stays in tube " + from_;
}

std::string_view name_of(Place place) {
  constexpr std::string_view kNames[] = {"ready", "delayed", "buried"};
  return kNames[static_cast<std::size_t>(place)];
}

bool PlaceFlags::has(Place place) const {
  const bool flags[] = {ready, delayed, buried};
  return flags[static_cast<std::size_t>(place)];
}

}  // namespace haricot::tool
