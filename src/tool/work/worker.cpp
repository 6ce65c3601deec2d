#include "tool/work/worker.hpp"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/protocol/command.hpp"
#include "os/clock.hpp"
#include "tool/cli/output.hpp"
#include "tool/cli/subcommand.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::tool {
namespace {

// Longest time that the server waits for a job, in seconds. Asking again detects a server that is
// gone without closing the connection.
constexpr std::uint64_t kTurnS = 30;
constexpr auto kRestMin = Duration::milliseconds(100);
constexpr auto kRestMax = Duration::seconds(5);
// Time limit for connecting. A server that is up accepts at once, and another attempt follows.
constexpr auto kConnectPatienceMax = Duration::seconds(1);
constexpr std::size_t kPieceBytes = 16 * 1024;

Duration sum(Duration duration, std::uint64_t seconds) {
  return Duration::nanoseconds(duration.count() +
                               Duration::seconds(static_cast<std::uint32_t>(seconds)).count());
}

// Formats a time in seconds, as short as possible.
std::string in_seconds(std::uint64_t milliseconds) {
  char text[40];
  std::snprintf(text, sizeof text, "%g s", static_cast<double>(milliseconds) / 1e3);
  return text;
}

// Reads available output and counts its bytes. Returns true if there may be more.
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

Worker::Worker(WorkRun& run, std::span<char> buffer)
    : work_(run),
      link_(run.address, buffer,
            {.lost =
                 [this](Instant now, const Loss& loss) {
                   lose(to_sentence(loss, "the server sent nothing in time"), now);
                 }}),
      rest_(kRestMin) {}

void Worker::begin(Instant now) {
  left_s_ = work_.plan.wait_s.value_or(0);
  start_next(now);
}

void Worker::finish() {
  link_.close();
  due_ = touch_due_ = time_due_ = Instant::never();
  state_ = State::finished;
}

void Worker::start_next(Instant now) {
  is_held_ = false;
  job_ = {};
  state_ = State::resting;
  const bool is_over = work_.has_to_end || work_.phase != WorkRun::Phase::working;
  if (is_over || !work_.has_ticket()) return finish();
  if (work_.is_choked()) {
    due_ = now + kRestMin;
    return;
  }
  if (now < work_.slowdown.next_start()) {
    due_ = work_.slowdown.next_start();
    return;
  }
  const bool is_new = !link_.is_open();
  if (is_new) link_.open(std::min(work_.patience, kConnectPatienceMax), now);
  ask_for_job(now, is_new);
}

// Sends commands whose answers the method takes. The server may take `more_s` longer to answer.
template <void (Worker::*kMethod)(const Answer& answer, Instant now)>
void Worker::ask(Asked& what, std::string commands, std::uint64_t answers, std::uint64_t more_s) {
  const auto take = [](void* self, Request& /*request*/, const Answer* answer) {
    auto& worker = *static_cast<Worker*>(self);
    // Without an answer the connection is closed, and perhaps lose() follows.
    if (answer != nullptr) (worker.*kMethod)(*answer, worker.link_.pipeline().received());
  };
  what.commands = std::move(commands);
  what.request.commands = what.commands;
  what.request.answers = answers;
  what.request.take = {take, this};
  what.request.patience = sum(work_.patience, more_s);
  link_.pipeline().ask(what.request);
}

void Worker::ask_for_job(Instant now, bool has_to_watch) {
  CHECK(!is_held_ && !program_.is_running());
  state_ = State::reserving;
  ++work_.reserving;
  work_.slowdown.count_start(now);
  turn_s_ = work_.plan.wait_s ? std::min(left_s_, kTurnS) : kTurnS;
  std::string commands;
  std::uint64_t answers = 1;
  if (has_to_watch) {
    commands += "capabilities\r\n";
    ++answers;
    const auto& tubes = work_.plan.tubes;
    for (const std::string& tube : tubes) commands += "watch " + tube + "\r\n";
    const bool ignores = std::find(tubes.begin(), tubes.end(), "default") == tubes.end();
    if (ignores) commands += "ignore default\r\n";
    answers += tubes.size() + (ignores ? 1 : 0);
    has_notes_ = false;
  }
  commands += "reserve-with-timeout " + std::to_string(turn_s_) + "\r\n";
  ask<&Worker::take_begin>(step_, std::move(commands), answers, turn_s_);
}

void Worker::add_wanted(std::vector<pollfd>& wanted, bool reads_output) const {
  wanted.push_back({link_.descriptor(), link_.wanted_events(), 0});
  if (!reads_output) return;
  for (const os::Descriptor* pipe : {&program_.output(), &program_.error()}) {
    if (*pipe) wanted.push_back({pipe->get(), POLLIN, 0});
  }
}

Instant Worker::next_event() const {
  return std::min({due_, touch_due_, time_due_, link_.next_event()});
}

void Worker::handle(short events) {
  link_.handle(static_cast<std::uint16_t>(events));
  read_output(false);
}

void Worker::advance(Instant now) {
  if (now >= due_) {
    due_ = Instant::never();
    start_next(now);
  }
  if (now >= time_due_) end_time(now);
  if (now >= touch_due_) {
    // Touch again after half of the TTR.
    touch_due_ = now + Duration::milliseconds(static_cast<std::int64_t>(job_.ttr_s) * 500);
    if (!touch_.request.is_pending()) {
      ask<&Worker::take_touch>(touch_, "touch " + std::to_string(job_.id) + "\r\n");
    }
  }
  link_.advance(now);
}

void Worker::take_begin(const Answer& answer, Instant now) {
  if (!step_.request.is_pending()) return take_job(answer, now);
  if (answer.code == ReplyCode::ok) {
    has_notes_ = answer.body.find("- note\n") != std::string_view::npos;
  } else if (answer.code != ReplyCode::watching && answer.code != ReplyCode::unknown_command) {
    lose("watch was answered: " + std::string(answer.line), now);
  }
}

void Worker::take_job(const Answer& answer, Instant now) {
  if (answer.code != ReplyCode::reserved && answer.code != ReplyCode::timed_out) {
    return lose("reserve-with-timeout was answered: " + std::string(answer.line), now);
  }
  work_.end_reserve();
  if (work_.is_server_lost) work_.say(work_.address.name() + " answers again");
  work_.is_server_lost = false;
  lost_since_.reset();
  rest_ = kRestMin;
  if (answer.code == ReplyCode::timed_out) return take_no_job(now);
  ++work_.begun;
  left_s_ = work_.plan.wait_s.value_or(0);
  state_ = State::asking;
  is_held_ = true;
  job_.id = answer.number;
  job_.body = std::string(answer.body);
  ask<&Worker::take_stats>(step_, "stats-job " + std::to_string(job_.id) + "\r\n");
}

void Worker::take_no_job(Instant now) {
  left_s_ -= std::min(left_s_, turn_s_);
  if (work_.plan.wait_s && left_s_ == 0) return finish();
  start_next(now);
}

void Worker::take_stats(const Answer& answer, Instant now) {
  std::optional<StatsText> stats;
  if (answer.code == ReplyCode::ok) stats = StatsText::parse(answer.body);
  const std::string* tube = stats ? stats->find("tube") : nullptr;
  if (answer.code != ReplyCode::not_found && tube == nullptr) {
    return lose("stats-job was answered: " + std::string(answer.line), now);
  }
  if (tube == nullptr) {  // The TTR has ended, and another worker has deleted the job.
    work_.take_back_begin();
    return start_next(now);
  }
  job_.tube = *tube;
  job_.priority = stats->number("pri").value_or(0);
  job_.ttr_s = std::max<std::uint64_t>(stats->number("ttr").value_or(1), 1);
  job_.reserves = std::max<std::uint64_t>(stats->number("reserves").value_or(1), 1);
  run_program(now);
}

void Worker::run_program(Instant now) {
  CHECK(state_ == State::asking && is_held_ && !program_.is_running());
  run_ = {};
  run_.id = job_.id;
  run_.tube = job_.tube;
  run_.reserves = job_.reserves;
  run_.body_bytes = job_.body.size();
  std::optional<std::vector<std::string>> words = words_for(work_.plan, job_.body);
  if (!words)
    return end_badly("its body cannot be an argument", "the body cannot be an argument", false);
  ProgramStart start;
  start.words = std::move(*words);
  start.environment = environment_of(job_);
  if (!has_body_mark(work_.plan)) start.input = job_.body;
  start.captures_output = !work_.plan.plain;
  start.signal_mask = work_.program_mask;
  std::string error;
  if (!program_.start(start, error)) return end_unstarted(error, kExitLocal, now);
  std::string().swap(job_.body);
  run_.start_ns = os::read_wall_clock();
  started_ = now;
  took_too_long_ = false;
  if (work_.plan.max_time_ms > 0) {
    time_due_ = now + Duration::milliseconds(static_cast<std::int64_t>(work_.plan.max_time_ms));
  }
  output_ = LinePrefix("[" + std::to_string(job_.id) + "] ");
  error_ = output_;
  state_ = State::working;
  touch_due_ = now + Duration::milliseconds(static_cast<std::int64_t>(job_.ttr_s) * 500);
}

void Worker::take_touch(const Answer& answer, Instant /*now*/) {
  if (answer.code == ReplyCode::touched || state_ == State::ending) return;
  touch_due_ = Instant::never();
  is_held_ = false;
  work_.say(job_name() + " is no longer reserved (touch was answered: " + std::string(answer.line) +
            "), and may be done twice");
}

// Ends a program that exceeds --max-time: first SIGTERM, later SIGKILL.
void Worker::end_time(Instant now) {
  program_.send_signal(took_too_long_ ? SIGKILL : SIGTERM);
  time_due_ = took_too_long_ ? Instant::never() : now + kKillPatience;
  took_too_long_ = true;
}

// Reads output of the program. At its end reads all of it; before, reads only while no output is
// pending, so that a slow reader slows the program down.
void Worker::read_output(bool is_over) {
  std::uint64_t ignored = 0;
  const bool is_free = !work_.output.has_more() && !work_.error.has_more();
  if (!is_over && !is_free) return;
  if (program_.output()) {
    while (read_piece(program_.output(), output_, work_.output, run_.output_bytes) && is_over) {
    }
  }
  if (program_.error()) {
    while (read_piece(program_.error(), error_, work_.error, ignored) && is_over) {
    }
  }
  if (!is_over) return;
  output_.finish(work_.output);
  error_.finish(work_.error);
  program_.output().reset();
  program_.error().reset();
}

void Worker::handle_ends(Instant now) {
  const std::optional<ProgramEnd> end = program_.take_end();
  if (!end) return;
  read_output(true);
  end_job(*end, now);
}

void Worker::end_job(const ProgramEnd& end, Instant now) {
  touch_due_ = time_due_ = Instant::never();
  run_.time = now - started_;
  run_.status = end.signal != 0 ? 0 : end.status;
  run_.signal = end.signal;
  if (end.start_error != 0) return end_unstarted(end.start_error, now);
  std::string what = end.signal != 0 ? "was killed by signal " + std::to_string(end.signal)
                                     : "exited with status " + std::to_string(end.status);
  if (took_too_long_) {
    what = "took longer than " + in_seconds(work_.plan.max_time_ms) + " and " + what;
  }
  if (!is_held_) {
    count(Fate::in_doubt);
    work_.say("the program of " + job_name() + " " + what +
              ", but the job was no longer reserved: it may be done twice");
    return start_next(now);
  }
  if (end.is_good()) {
    work_.slowdown.count_success();
    return ask_for_end(Fate::done, 0);
  }
  // A status of --bury-on means a bad job, so it is no sign of a general failure.
  const bool is_bad_job = buries_at_once(work_.plan, run_.status);
  if (!is_bad_job && work_.slowdown.count_failure(now) && !work_.plan.quiet) {
    work_.say(std::to_string(Slowdown::kFreeFailures) +
              " programs in a row have failed: slowing down until one succeeds");
  }
  std::string reason = what;
  if (!error_.last_line().empty()) reason += ": " + error_.last_line();
  end_badly("its program " + what, reason, !is_bad_job);
}

void Worker::end_badly(const std::string& what, const std::string& reason, bool may_try_again) {
  const bool is_last = is_last_try(work_.plan, job_.reserves);
  Fate fate = !may_try_again || is_last ? Fate::buried : Fate::released;
  if (work_.phase == WorkRun::Phase::giving_back) fate = Fate::given_back;
  const std::uint64_t delay = delay_of_release(work_.plan, job_.reserves);
  if (!work_.plan.quiet) {
    std::string then = "released, ready in " + std::to_string(delay) + " s";
    if (fate == Fate::given_back) then = "released, ready now";
    if (fate == Fate::buried) then = "buried";
    if (fate == Fate::buried && is_last) {
      then += " after " + std::to_string(job_.reserves) + " tries";
    }
    work_.say(job_name() + ": " + what + ": " + then);
  }
  ask_for_end(fate, fate == Fate::released ? delay : 0,
              fate == Fate::given_back ? std::string_view() : std::string_view(reason));
}

// Ends the run if the program cannot be started, because every job would fail. The job is released,
// even after its last try.
void Worker::end_unstarted(int reason, Instant now) {
  // The body makes the arguments and the environment too large.
  if (reason == E2BIG)
    return end_badly("its body cannot be an argument", "the body cannot be an argument", false);
  const bool is_missing = reason == ENOENT || reason == ENOTDIR;
  run_.status = is_missing ? kExitNotFound : kExitNotExecuted;
  end_unstarted("cannot execute " + work_.plan.command.front() + ": " + std::strerror(reason),
                run_.status, now);
}

void Worker::end_unstarted(const std::string& what, int status, Instant now) {
  work_.end(status);
  if (!is_held_) {
    count(Fate::in_doubt);
    return start_next(now);
  }
  work_.say(job_name() + ": " + what + ": released, ready now");
  ask_for_end(Fate::given_back, 0);
}

void Worker::ask_for_end(Fate fate, std::uint64_t delay_s, std::string_view note) {
  CHECK(is_held_ && !program_.is_running() && fate != Fate::in_doubt);
  const std::string id = std::to_string(job_.id);
  const std::string and_priority = " " + std::to_string(job_.priority);
  state_ = State::ending;
  wanted_end_ = fate;
  was_kicked_ = false;
  std::string command = "release " + id + and_priority + " " + std::to_string(delay_s) + "\r\n";
  if (fate == Fate::done) command = "delete " + id + "\r\n";
  if (fate == Fate::buried) command = "bury " + id + and_priority + "\r\n";
  if (note.empty() || !has_notes_) return ask<&Worker::take_ending>(step_, std::move(command));
  note = note.substr(0, kNoteBytesMax);
  std::string commands = "note " + id + " " + std::to_string(note.size()) + "\r\n";
  commands += note;
  commands += "\r\n" + command;
  ask<&Worker::take_ending>(step_, std::move(commands), 2);
}

void Worker::take_ending(const Answer& answer, Instant now) {
  CHECK(state_ == State::ending);
  if (step_.request.is_pending()) return;  // Without the note the job ends the same way.
  const bool is_done = answer.code == ReplyCode::deleted || answer.code == ReplyCode::kicked_job ||
                       answer.code == ReplyCode::released;
  if (is_done || (answer.code == ReplyCode::buried && wanted_end_ == Fate::buried)) {
    count(wanted_end_);
    return start_next(now);
  }
  if (answer.code == ReplyCode::buried && wanted_end_ == Fate::given_back) {
    // The job had no try left. A kick grants one more.
    was_kicked_ = true;
    return ask<&Worker::take_ending>(step_, "kick-job " + std::to_string(job_.id) + "\r\n");
  }
  if (answer.code == ReplyCode::buried || was_kicked_) {
    count(Fate::buried);
    work_.say(job_name() +
              " was buried: it has no try left, or the server had no memory to release it");
    return start_next(now);
  }
  if (answer.code == ReplyCode::not_found) {
    count(Fate::in_doubt);
    work_.say(job_name() +
              " was no longer reserved when its program had exited: it may be done twice");
    return start_next(now);
  }
  lose("the last command for " + job_name() + " was answered: " + std::string(answer.line), now);
}

void Worker::count(Fate fate) {
  switch (fate) {
    case Fate::done:
      ++work_.done;
      run_.end = "done";
      break;
    case Fate::released:
    case Fate::given_back:
      ++work_.released;
      run_.end = "released";
      break;
    case Fate::buried:
      ++work_.buried;
      run_.end = "buried";
      break;
    case Fate::in_doubt:
      ++work_.in_doubt;
      run_.end = "doubt";
      break;
  }
  std::string error;
  if (work_.log.write(run_, error)) return;
  if (!work_.has_to_end) work_.say(error);
  work_.end(kExitLocal);
}

// Handles the loss of the connection. The server releases the job that the connection held.
void Worker::lose(const std::string& reason, Instant now) {
  link_.close();
  const std::string what = work_.address.name() + ": " + reason;
  if (state_ == State::working) {
    is_held_ = false;
    touch_due_ = Instant::never();
    work_.say(what + ": the program of " + job_name() +
              " continues, and the server releases the job to other workers");
    return;
  }
  if (state_ == State::ending) {
    count(Fate::in_doubt);
    work_.say(what + ": it is unknown if " + job_name() + " has ended, it may be done twice");
  } else if (!work_.is_server_lost) {
    work_.say(what + ": reconnecting");
  }
  work_.is_server_lost = true;
  if (state_ == State::reserving) work_.end_reserve();
  if (state_ == State::asking) work_.take_back_begin();
  rest(now);
}

void Worker::rest(Instant now) {
  if (!lost_since_) lost_since_ = now;
  const bool gives_up =
      work_.plan.wait_s && now - *lost_since_ >= sum(Duration{}, *work_.plan.wait_s);
  if (gives_up) work_.status = kExitNoServer;
  if (gives_up || work_.phase != WorkRun::Phase::working) return finish();
  state_ = State::resting;
  due_ = now + rest_;
  rest_ = std::min(Duration::nanoseconds(rest_.count() * 2), kRestMax);
}

void Worker::change_phase(Instant now) {
  switch (state_) {
    case State::reserving:
      work_.end_reserve();
      return finish();
    case State::asking:
      work_.take_back_begin();
      return finish();
    case State::resting:
      return finish();
    case State::working:
      if (work_.phase == WorkRun::Phase::giving_back) program_.send_signal(SIGTERM);
      return handle_ends(now);
    case State::ending:
    case State::finished:
      return;
  }
}

void Worker::kill() {
  program_.send_signal(SIGKILL);
}

}  // namespace haricot::tool
