#include "tool/work/slot.hpp"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "os/clock.hpp"
#include "tool/cli/safe_text.hpp"
#include "tool/cli/subcommand.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::tool {
namespace {

// How long the server waits for a job before it is asked again: so a server that is gone without a
// word is noticed.
constexpr std::uint64_t kTurnS = 30;
constexpr auto kRestMin = Duration::milliseconds(100);
constexpr auto kRestMax = Duration::seconds(5);
// A new connection makes all slots wait.
constexpr auto kConnectPatienceMax = Duration::seconds(1);
constexpr std::size_t kPieceBytes = 16 * 1024;

Duration sum(Duration duration, std::uint64_t seconds) {
  return Duration::nanoseconds(duration.count() +
                               Duration::seconds(static_cast<std::uint32_t>(seconds)).count());
}

// A time in seconds, as short as it can be written.
std::string in_seconds(std::uint64_t milliseconds) {
  char text[40];
  std::snprintf(text, sizeof text, "%g s", static_cast<double>(milliseconds) / 1e3);
  return text;
}

// Adds what can be read now, and counts it. True: there may be more.
bool read_piece(os::Descriptor& from, LinePrefix& lines, Outlet& to, std::uint64_t& bytes_read) {
  char bytes[kPieceBytes];
  const ssize_t count = ::read(from.get(), bytes, sizeof bytes);
  if (count > 0) {
    lines.take({bytes, static_cast<std::size_t>(count)}, to);
    bytes_read += static_cast<std::uint64_t>(count);
  }
  if (count == 0) from.reset();
  return count > 0 || (count < 0 && errno == EINTR);
}

}  // namespace

Slot::Slot(Shift& shift) : shift_(shift), rest_(kRestMin) {}

void Slot::begin(Instant now) {
  left_s_ = shift_.plan.wait_s.value_or(0);
  go_on(now);
}

void Slot::finish() {
  link_.close();
  asked_.clear();
  answer_due_ = due_ = touch_due_ = time_due_ = Instant::never();
  state_ = State::finished;
}

void Slot::go_on(Instant now) {
  is_held_ = false;
  job_ = {};
  state_ = State::resting;
  const bool is_over = shift_.has_to_end || shift_.phase != Shift::Phase::working;
  if (is_over || !shift_.has_ticket()) return finish();
  if (shift_.is_choked()) {
    due_ = now + kRestMin;
    return;
  }
  if (!link_.is_open()) {
    if (!link_.open(shift_.address, std::min(shift_.patience, kConnectPatienceMax))) {
      return lose(link_.failure(), now);
    }
    asked_.clear();
    for (const std::string& tube : shift_.plan.tubes) ask(Asked::watching, "watch " + tube, now);
    const auto& tubes = shift_.plan.tubes;
    if (std::find(tubes.begin(), tubes.end(), "default") == tubes.end()) {
      ask(Asked::watching, "ignore default", now);
    }
  }
  ask_for_job(now);
}

void Slot::ask(Asked what, const std::string& command, Instant now, std::uint64_t more_s) {
  asked_.push_back(what);
  answer_due_ = now + sum(shift_.patience, more_s);
  link_.send(command);
}

void Slot::ask_for_job(Instant now) {
  state_ = State::reserving;
  ++shift_.reserving;
  turn_s_ = shift_.plan.wait_s ? std::min(left_s_, kTurnS) : kTurnS;
  ask(Asked::job, "reserve-with-timeout " + std::to_string(turn_s_), now, turn_s_);
}

void Slot::add_wanted(std::vector<pollfd>& wanted, bool reads_output) const {
  if (link_.is_open()) {
    const int events = POLLIN | (link_.has_more_to_send() ? POLLOUT : 0);
    wanted.push_back({link_.descriptor(), static_cast<short>(events), 0});
  }
  if (!reads_output) return;
  for (const os::Descriptor* pipe : {&program_.output(), &program_.error()}) {
    if (*pipe) wanted.push_back({pipe->get(), POLLIN, 0});
  }
}

Instant Slot::next_event() const {
  return std::min({due_, touch_due_, time_due_, asked_.empty() ? Instant::never() : answer_due_});
}

void Slot::handle(Instant now) {
  while (link_.is_open()) {
    Answer answer;
    const Link::Event event = link_.next(answer);
    if (event == Link::Event::nothing) break;
    if (event == Link::Event::lost) {
      lose(link_.failure(), now);
    } else if (asked_.empty()) {
      lose("an answer that nobody has asked for: " + std::string(answer.line), now);
    } else {
      take_answer(answer, now);
    }
  }
  read_output(false);
}

void Slot::advance(Instant now) {
  if (!asked_.empty() && now >= answer_due_) return lose("the server stays silent", now);
  if (now >= due_) {
    due_ = Instant::never();
    return go_on(now);
  }
  if (now >= time_due_) end_time(now);
  if (now >= touch_due_) {
    // Half of the TTR from now on; for a TTR of a second, half a second.
    touch_due_ = now + Duration::milliseconds(static_cast<std::int64_t>(job_.ttr_s) * 500);
    ask(Asked::touch, "touch " + std::to_string(job_.id), now);
  }
}

void Slot::take_answer(const Answer& answer, Instant now) {
  const Asked what = asked_.front();
  asked_.pop_front();
  // Answers come in order, and the one that was asked for last is due last.
  switch (what) {
    case Asked::watching:
      if (answer.code == ReplyCode::watching) return;
      return lose("watch was answered: " + std::string(answer.line), now);
    case Asked::job:
      return take_job(answer, now);
    case Asked::stats:
      return take_stats(answer, now);
    case Asked::touch:
      return take_touch(answer);
    case Asked::ending:
      return take_ending(answer, now);
  }
}

void Slot::take_job(const Answer& answer, Instant now) {
  if (answer.code != ReplyCode::reserved && answer.code != ReplyCode::timed_out) {
    return lose("reserve-with-timeout was answered: " + std::string(answer.line), now);
  }
  --shift_.reserving;
  if (shift_.is_server_lost) shift_.say(shift_.address.name() + " answers again");
  shift_.is_server_lost = false;
  lost_since_.reset();
  rest_ = kRestMin;
  if (answer.code == ReplyCode::timed_out) return take_no_job(now);
  ++shift_.begun;
  left_s_ = shift_.plan.wait_s.value_or(0);
  state_ = State::asking;
  is_held_ = true;
  job_.id = answer.number;
  job_.body = std::string(answer.body);
  ask(Asked::stats, "stats-job " + std::to_string(job_.id), now);
}

void Slot::take_no_job(Instant now) {
  left_s_ -= std::min(left_s_, turn_s_);
  if (shift_.plan.wait_s && left_s_ == 0) return finish();
  go_on(now);
}

void Slot::take_stats(const Answer& answer, Instant now) {
  std::optional<StatsText> stats;
  if (answer.code == ReplyCode::ok) stats = StatsText::parse(answer.body);
  const std::string* tube = stats ? stats->find("tube") : nullptr;
  if (answer.code != ReplyCode::not_found && tube == nullptr) {
    return lose("stats-job was answered: " + std::string(answer.line), now);
  }
  if (tube == nullptr) {  // Its TTR is over, and another worker has deleted it.
    --shift_.begun;
    return go_on(now);
  }
  job_.tube = *tube;
  job_.priority = stats->number("pri").value_or(0);
  job_.ttr_s = std::max<std::uint64_t>(stats->number("ttr").value_or(1), 1);
  job_.reserves = std::max<std::uint64_t>(stats->number("reserves").value_or(1), 1);
  run_program(now);
}

void Slot::run_program(Instant now) {
  run_ = {};
  run_.id = job_.id;
  run_.tube = job_.tube;
  run_.reserves = job_.reserves;
  run_.body_bytes = job_.body.size();
  std::optional<std::vector<std::string>> words = words_for(shift_.plan, job_.body);
  if (!words) return end_badly("has a body that cannot be an argument", false, now);
  ProgramStart start;
  start.words = std::move(*words);
  start.environment = environment_of(job_);
  if (!has_body_mark(shift_.plan)) start.input = job_.body;
  start.captures_output = !shift_.plan.plain;
  start.signal_mask = shift_.program_mask;
  std::string error;
  if (!program_.start(start, error)) return end_unstarted(error, kExitNotExecuted, now);
  std::string().swap(job_.body);
  run_.start_ns = os::read_wall_clock();
  started_ = now;
  took_too_long_ = false;
  if (shift_.plan.max_time_ms > 0) {
    time_due_ = now + Duration::milliseconds(static_cast<std::int64_t>(shift_.plan.max_time_ms));
  }
  output_ = LinePrefix("[" + std::to_string(job_.id) + "] ");
  error_ = output_;
  state_ = State::working;
  touch_due_ = now + Duration::milliseconds(static_cast<std::int64_t>(job_.ttr_s) * 500);
}

void Slot::take_touch(const Answer& answer) {
  if (answer.code == ReplyCode::touched || state_ == State::ending) return;
  touch_due_ = Instant::never();
  is_held_ = false;
  shift_.say(job_name() + " is not held any more (touch was answered: " + std::string(answer.line) +
             "), and may be done twice");
}

// The program has used up its time: it is told so, and if that does not help it is killed.
void Slot::end_time(Instant now) {
  program_.send_signal(took_too_long_ ? SIGKILL : SIGTERM);
  time_due_ = took_too_long_ ? Instant::never() : now + kKillPatience;
  took_too_long_ = true;
}

// At the end of the program all of its output that is there; otherwise only while nothing waits to
// be written, so that a reader who is slow slows the program down.
void Slot::read_output(bool is_over) {
  std::uint64_t ignored = 0;
  const bool is_free = !shift_.output.has_more() && !shift_.error.has_more();
  if (!is_over && !is_free) return;
  if (program_.output()) {
    while (read_piece(program_.output(), output_, shift_.output, run_.output_bytes) && is_over) {
    }
  }
  if (program_.error()) {
    while (read_piece(program_.error(), error_, shift_.error, ignored) && is_over) {
    }
  }
  if (!is_over) return;
  output_.finish(shift_.output);
  error_.finish(shift_.error);
  program_.output().reset();
  program_.error().reset();
}

void Slot::handle_ends(Instant now) {
  const std::optional<ProgramEnd> end = program_.take_end();
  if (!end) return;
  read_output(true);
  end_job(*end, now);
}

void Slot::end_job(const ProgramEnd& end, Instant now) {
  touch_due_ = time_due_ = Instant::never();
  run_.time = now - started_;
  run_.status = end.signal != 0 ? 0 : end.status;
  run_.signal = end.signal;
  if (end.start_error != 0) return end_unstarted(end.start_error, now);
  std::string what = end.signal != 0 ? "was ended by signal " + std::to_string(end.signal)
                                     : "ended with status " + std::to_string(end.status);
  if (took_too_long_) {
    what = "took longer than " + in_seconds(shift_.plan.max_time_ms) + " and " + what;
  }
  if (!is_held_) {
    count(Fate::in_doubt);
    shift_.say("the program of " + job_name() + " " + what +
               ", but the job was not held any more: it may be done twice");
    return go_on(now);
  }
  if (end.is_good()) return ask_for_end(Fate::done, 0, now);
  end_badly("its program " + what, !buries_at_once(shift_.plan, run_.status), now);
}

void Slot::end_badly(const std::string& what, bool may_try_again, Instant now) {
  const bool is_last = is_last_try(shift_.plan, job_.reserves);
  Fate fate = !may_try_again || is_last ? Fate::buried : Fate::released;
  if (shift_.phase == Shift::Phase::giving_back) fate = Fate::given_back;
  const std::uint64_t delay = delay_of_release(shift_.plan, job_.reserves);
  if (!shift_.plan.quiet) {
    std::string then = "released, ready in " + std::to_string(delay) + " s";
    if (fate == Fate::given_back) then = "given back";
    if (fate == Fate::buried) then = "buried";
    if (fate == Fate::buried && is_last) {
      then += " after " + std::to_string(job_.reserves) + " tries";
    }
    shift_.say(job_name() + ": " + what + ": " + then);
  }
  ask_for_end(fate, fate == Fate::released ? delay : 0, now);
}

// No job would fare better. This one gets its try back, and the run ends.
void Slot::end_unstarted(int reason, Instant now) {
  // The body is what does not fit, together with the other arguments and the environment.
  if (reason == E2BIG) return end_badly("has a body that cannot be an argument", false, now);
  const bool is_missing = reason == ENOENT || reason == ENOTDIR;
  run_.status = is_missing ? kExitNotFound : kExitNotExecuted;
  end_unstarted("cannot execute " + shift_.plan.command.front() + ": " + std::strerror(reason),
                run_.status, now);
}

void Slot::end_unstarted(const std::string& what, int status, Instant now) {
  shift_.end(status);
  if (!is_held_) {
    count(Fate::in_doubt);
    return go_on(now);
  }
  shift_.say(job_name() + ": " + what + ": given back");
  ask_for_end(Fate::given_back, 0, now);
}

void Slot::ask_for_end(Fate fate, std::uint64_t delay_s, Instant now) {
  const std::string id = std::to_string(job_.id);
  const std::string and_priority = " " + std::to_string(job_.priority);
  state_ = State::ending;
  wanted_end_ = fate;
  was_kicked_ = false;
  if (fate == Fate::done) return ask(Asked::ending, "delete " + id, now);
  if (fate == Fate::buried) return ask(Asked::ending, "bury " + id + and_priority, now);
  ask(Asked::ending, "release " + id + and_priority + " " + std::to_string(delay_s), now);
}

void Slot::take_ending(const Answer& answer, Instant now) {
  const bool is_done = answer.code == ReplyCode::deleted || answer.code == ReplyCode::kicked_job ||
                       answer.code == ReplyCode::released;
  if (is_done || (answer.code == ReplyCode::buried && wanted_end_ == Fate::buried)) {
    count(wanted_end_);
    return go_on(now);
  }
  if (answer.code == ReplyCode::buried && wanted_end_ == Fate::given_back) {
    // It had no try left. A kick gives it one more.
    was_kicked_ = true;
    return ask(Asked::ending, "kick-job " + std::to_string(job_.id), now);
  }
  if (answer.code == ReplyCode::buried || was_kicked_) {
    count(Fate::buried);
    shift_.say(job_name() +
               " was buried: it has no try left, or the server no memory to release it");
    return go_on(now);
  }
  if (answer.code == ReplyCode::not_found) {
    count(Fate::in_doubt);
    shift_.say(job_name() +
               " was not held any more when its program had ended: it may be done twice");
    return go_on(now);
  }
  lose("the end of " + job_name() + " was answered: " + std::string(answer.line), now);
}

void Slot::count(Fate fate) {
  switch (fate) {
    case Fate::done:
      ++shift_.done;
      run_.end = "done";
      break;
    case Fate::released:
    case Fate::given_back:
      ++shift_.released;
      run_.end = "released";
      break;
    case Fate::buried:
      ++shift_.buried;
      run_.end = "buried";
      break;
    case Fate::in_doubt:
      ++shift_.in_doubt;
      run_.end = "doubt";
      break;
  }
  std::string error;
  if (shift_.log.write(run_, error)) return;
  if (!shift_.has_to_end) shift_.say(error);
  shift_.end(kExitLocal);
}

// The connection has no use any more. The server gives back what it held.
void Slot::lose(const std::string& reason, Instant now) {
  link_.close();
  asked_.clear();
  const std::string what = shift_.address.name() + ": " + reason;
  if (state_ == State::working) {
    is_held_ = false;
    touch_due_ = Instant::never();
    shift_.say(what + ": the program of " + job_name() +
               " goes on, and the server gives the job to another worker");
    return;
  }
  if (state_ == State::ending) {
    count(Fate::in_doubt);
    shift_.say(what + ": whether " + job_name() + " has ended is not known, it may be done twice");
  } else if (!shift_.is_server_lost) {
    shift_.say(what + ": trying again");
  }
  shift_.is_server_lost = true;
  if (state_ == State::reserving) --shift_.reserving;
  if (state_ == State::asking) --shift_.begun;
  rest(now);
}

void Slot::rest(Instant now) {
  if (!lost_since_) lost_since_ = now;
  const bool gives_up =
      shift_.plan.wait_s && now - *lost_since_ >= sum(Duration{}, *shift_.plan.wait_s);
  if (gives_up) shift_.status = kExitNoServer;
  if (gives_up || shift_.phase != Shift::Phase::working) return finish();
  state_ = State::resting;
  due_ = now + rest_;
  rest_ = std::min(Duration::nanoseconds(rest_.count() * 2), kRestMax);
}

void Slot::change_phase(Instant now) {
  switch (state_) {
    case State::reserving:
      --shift_.reserving;
      return finish();
    case State::asking:
      --shift_.begun;
      return finish();
    case State::resting:
      return finish();
    case State::working:
      if (shift_.phase == Shift::Phase::giving_back) program_.send_signal(SIGTERM);
      return handle_ends(now);
    case State::ending:
    case State::finished:
      return;
  }
}

void Slot::kill() {
  program_.send_signal(SIGKILL);
}

}  // namespace haricot::tool
