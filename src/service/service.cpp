#include "haricot/service/service.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/service/prices.hpp"

namespace haricot {

namespace {

// A report has to be written, number by number, where a body is only copied.
std::uint64_t steps_for(const Reply& reply) {
  const bool is_report = reply.code == ReplyCode::ok;
  return body_size(reply) /
         (is_report ? turn_limits::kReportBytesPerStep : turn_limits::kBodyBytesPerStep);
}

// The reply to a put whose key a job has already.
bool is_about_another_job(ReplyCode code) {
  return code == ReplyCode::inserted_again || code == ReplyCode::inserted_raised;
}

}  // namespace

Service::Service(const ServerInfo& info, Journal& journal, Instant now, const HashKey& key)
    : journal_(journal),
      engine_(now, journal, key),
      dispatcher_(engine_, journal, info, cushion_, now),
      shares_(engine_.steps()),
      limits_(info.limits) {
  now_ = now;
  engine_.limit_tries(limits_.tries_max);
  if (limits_.job_memory_bytes_max > 0) engine_.memory().limit(limits_.job_memory_bytes_max);
}

Service::~Service() {
  while (!sessions_.empty()) close(sessions_.front(), Instant{});
}

// A turn ----------------------------------------------------------------------------------------

void Service::advance(Instant now) {
  begin_turn(now);
  engine_.advance(now);
  share_out_turn();
  if (limits_.idle_timeout_s > 0) look_for_idle(now);
}

void Service::advance_tasks(Instant now) {
  begin_turn(now);
  engine_.advance_tasks(now);
  share_out_turn();
}

inline void Service::begin_turn(Instant now) {
  ++turn_;
  now_ = now;
  shares_.begin_turn();
}

inline void Service::share_out_turn() {
  hand_out_deliveries();
  shares_.begin_reading(!backlog_.empty());
}

void Service::receive(Session& session, std::string_view bytes, Instant now) {
  if (limits_.idle_timeout_s > 0) mark_active(session);
  // One that has a place in the backlog, or waits for something else, keeps it.
  if (session.stopped_ != Stopped::needs_input) {
    if (session.is_ended()) return;
    if (!session.client_.is_busy()) session.still_since_ = CoarseInstant(now_);
    keep_input(session, bytes);
    if (session.client_.is_waiting_for_input()) [[unlikely]]
      abort_wait(session);
    return;
  }
  session.still_since_ = CoarseInstant(now_);
  if (!session.input_.empty()) {
    keep_input(session, bytes);
    if (!session.is_ended()) run(session, now, shares_.share_of_read());
    return;
  }
  // The usual case: nothing is left from before, and the commands run straight from the bytes.
  const std::size_t used = run_some(session, bytes, now, shares_.share_of_read());
  if (session.is_ended()) return;
  keep_input(session, bytes.substr(used));
}

void Service::receive_directly(Session& session, std::size_t bytes) {
  if (limits_.idle_timeout_s > 0) mark_active(session);
  session.still_since_ = CoarseInstant(now_);
  session.reader_.took_directly(bytes);
}

void Service::peer_half_closed(Session& session) {
  if (session.peer_ == Session::Peer::open) session.peer_ = Session::Peer::half_closed;
  engine_.stop_waiting(session.client_, Delivery::Kind::timed_out);
  hand_out_deliveries();
}

void Service::end_of_input(Session& session) {
  session.peer_ = Session::Peer::read_to_end;
  peer_half_closed(session);
  mark_to_send(session);
}

// Each session once, in their order, as far as the budget goes. One that has more is put behind the
// others. One whose command does not fit in what is left stays in front of them, and everybody else
// waits with it: in the next turn the budget is untouched.
//
// A session that used its input up may want more again without having answered anything, when it
// stands in a body, so its connection has to look at it in any case.
void Service::run_backlog(Instant now) {
  // Also where nobody waits any more: the journal wants turns until somebody has asked.
  if (journal_.may_try_again()) [[unlikely]]
    try_again(now);
  if (!short_of_memory_.empty()) wake_for_pages();
  if (backlog_.empty()) return;
  IntrusiveList<Session, &Session::to_run_> this_turn;
  this_turn.append(backlog_);
  shares_.begin_backlog();
  while (!this_turn.empty() && !shares_.is_used_up()) {
    Session& session = this_turn.front();
    this_turn.remove(session);
    run(session, now, shares_.share_of_waiting());
    mark_to_send(session);
    if (session.stopped_ != Stopped::put_off) continue;
    backlog_.remove(session);
    this_turn.push_front(session);
    break;
  }
  this_turn.append(backlog_);
  backlog_.append(this_turn);
}

Session* Service::next_to_send() {
  if (to_send_.empty()) return nullptr;
  Session& session = to_send_.front();
  to_send_.remove(session);
  return &session;
}

void Service::sent(Session& session, std::size_t bytes) {
  if (limits_.idle_timeout_s > 0 && bytes > 0) mark_active(session);
  session.output_.consume(bytes);
  session.output_.release_if_empty(spare_);
  if (session.has_page_) end_page(session);
  wake(session);
  // Its end was waiting for the last of its output.
  if (session.is_finished() && !session.has_output()) mark_to_send(session);
}

void Service::end_turn(Instant now) {
  journal_.end_turn(now);
  has_safe_answers_ = false;
  if (!held_back_.empty()) settle_held_back();
}

Instant Service::next_event() const {
  if (!backlog_.empty() || has_safe_answers_ || can_wake_for_pages()) return Instant{};
  return std::min({engine_.next_event(), journal_.next_event(), next_idle_look()});
}

// Running commands ------------------------------------------------------------------------------

// Runs what the session has kept.
void Service::run(Session& session, Instant now, Budget share) {
  const std::size_t used = run_some(session, session.input_.view(), now, share);
  session.input_.consume(used);
  session.input_.release_if_empty();
}

// Runs complete commands until there is none, something stops the session, or its share of the turn
// is used up. Returns how many bytes of the input it used. Requires: it is not stopped; afterwards
// it is.
std::size_t Service::run_some(Session& session, std::string_view input, Instant now, Budget share) {
  const std::uint64_t before = engine_.steps();
  std::size_t used = 0;
  if (session.is_answered_in_pieces() && !go_on_with_list(session, share)) [[unlikely]]
    return used;
  while ((session.stopped_ = obstacle_of(session)) == Stopped::not_stopped) {
    if (share.is_used_up()) {
      wait_in_backlog(session, Stopped::has_had_share);
      break;
    }
    // Most often the last command has used all that there is, and the reader need not look.
    if (used == input.size()) {
      session.stopped_ = Stopped::needs_input;
      break;
    }
    const RequestPiece piece = session.reader_.next(input.substr(used));
    if (piece.kind == RequestPiece::Kind::nothing) {
      session.stopped_ = Stopped::needs_input;
      break;
    }
    if (!run_piece(session, piece, now, share)) break;
    used += piece.bytes;
    shares_.end_first_command();
    if (session.is_answered_in_pieces()) [[unlikely]]
      break;
  }
  CHECK(session.stopped_ != Stopped::not_stopped);
  if (used < input.size() && session.client_.is_waiting_for_input()) [[unlikely]] {
    wait_in_backlog(session, Stopped::has_had_share);
    abort_wait(session);
  }
  dispatcher_.let_line_go();
  const bool did_much = engine_.steps() - before >= turn_limits::kStepsPerShareMin;
  if (did_much || share.is_used_up()) shares_.count_busy();
  if (session.has_output() && session.stopped_ != Stopped::held_back) {
    engine_.steps() += turn_limits::kStepsPerSend;
  }
  if (session.is_finished()) {
    engine_.steps() += turn_limits::kStepsPerClose;
    mark_to_send(session);
  }
  return used;
}

// What the client sends ends a wait for it.
void Service::abort_wait(Session& session) {
  engine_.stop_waiting(session.client_, Delivery::Kind::aborted);
  hand_out_deliveries();
}

// Whether the piece was dealt with. If not, it stays for a later turn.
bool Service::run_piece(Session& session, const RequestPiece& piece, Instant now,
                        const Budget& share) {
  switch (piece.kind) {
    case RequestPiece::Kind::line:
      return run_line(session, piece.text, now, share);
    case RequestPiece::Kind::body:
      return finish_put(session, piece.text, now);
    case RequestPiece::Kind::end_of_long_line:
      engine_.steps() += piece.bytes / turn_limits::kBodyBytesPerStep;
      answer(session, {ReplyCode::bad_format});
      break;
    case RequestPiece::Kind::body_without_end:
      dispatcher_.forget_put(session.reader_.put());
      answer(session, {ReplyCode::expected_crlf});
      break;
    case RequestPiece::Kind::end_of_refused:
      engine_.steps() += piece.bytes / turn_limits::kBodyBytesPerStep;
      answer(session, {session.reader_.put().refusal});
      break;
    case RequestPiece::Kind::part_of_body:
    case RequestPiece::Kind::thrown_away:
      engine_.steps() += piece.bytes / turn_limits::kBodyBytesPerStep;
      break;
    case RequestPiece::Kind::nothing:
      break;
  }
  return true;
}

bool Service::run_line(Session& session, std::string_view line, Instant now, const Budget& share) {
  Command command;
  const ParseResult parsed = parse_command(line, command, session.commands_);
  // Where there are few tubes, none of beanstalkd's commands takes long: a kick goes on as a task.
  const bool are_many_tubes = engine_.tubes().size() >= WatchIndex::kIndexedFrom;
  if (are_many_tubes || is_extended(command.verb)) [[unlikely]] {
    // The price of a put is asked for when its body is there.
    const bool has_price = parsed == ParseResult::ok && command.verb != Verb::put;
    if (has_price && put_off(session, command)) return false;
  }
  engine_.steps() += turn_limits::kStepsPerCommand;
  ++session.commands_run_;
  if (trace_.function != nullptr) trace_.function(trace_.context, session, line);
  if (parsed != ParseResult::ok && refuse_line(session, parsed, command)) return true;
  if (command.verb == Verb::quit) {
    session.stopped_ = Stopped::quit;
    return true;
  }
  if (command.verb == Verb::put) {
    session.reader_.expect_body(dispatcher_.begin_put(session.client_, command));
    return true;
  }
  if (are_many_tubes && is_long_list(session, command)) [[unlikely]] {
    begin_list(session, command, share);
    return true;
  }
  const std::uint64_t records = journal_.records();
  begin_answers(session);
  try {
    const Reply reply = dispatcher_.run(session.client_, command, session.commands_, now);
    static_assert(ReplyCode::none < ReplyCode::not_yet &&
                  ReplyCode::not_yet < ReplyCode::bad_format);
    if (reply.code <= ReplyCode::not_yet) [[unlikely]] {
      if (reply.code == ReplyCode::not_yet) {
        dispatcher_.count_less(command.verb);
        --session.commands_run_;
        defer(session);
        return false;  // The command stays where it is.
      }
      CHECK(row_of(command.verb).answer == Answer::may_wait);
    }
    engine_.steps() += steps_for(reply);
    answer(session, reply);
  } catch (const std::bad_alloc&) {
    answer(session, {ReplyCode::out_of_memory});
  }
  hold_back_if_recorded(session, records);
  // A peer that has closed its side cannot be waited for.
  if (!session.peer_may_write()) engine_.stop_waiting(session.client_, Delivery::Kind::timed_out);
  hand_out_deliveries();
  return true;
}

// Returns true if the command has to wait; the command then stays where it is.
bool Service::put_off(Session& session, const Command& command) {
  const Answer answer = row_of(command.verb).answer;
  const bool begins_page = answer == Answer::page || answer == Answer::tubes_in_pieces;
  if (begins_page && pages_to_begin() == 0) {
    wait_for_memory(session);
    return true;
  }
  if (!shares_.admit(price_of(engine_, session.client_, command))) {
    wait_in_backlog(session, Stopped::put_off);
    return true;
  }
  // An answer that is held back may be taken back, and a list in pieces could not be. The session
  // runs again when its answers are safe.
  if (session.is_held_back_ && is_long_list(session, command)) {
    session.stopped_ = Stopped::held_back;
    return true;
  }
  if (begins_page) begin_page(session);
  return false;
}

// Answers a line that did not parse. Returns false for the one that has to go on like a good one: a
// put that is too big, whose body is thrown away.
//
// Compat: beanstalkd looks at the size of a put before it looks at what stands after the size, and
// counts what it finds malformed so late. docs/compatibility.md, "Taken over".
bool Service::refuse_line(Session& session, ParseResult parsed, const Command& command) {
  switch (parsed) {
    case ParseResult::ok:
      return false;
    case ParseResult::unknown_command:
      answer(session, {ReplyCode::unknown_command});
      return true;
    case ParseResult::late_bad_format:
      if (command.verb == Verb::put && dispatcher_.is_too_big(command.body_bytes)) return false;
      dispatcher_.count(command.verb);
      break;
    case ParseResult::bad_format:
      break;
  }
  answer(session, {ReplyCode::bad_format});
  return true;
}

// False: it has to wait for the journal's disk or for a later turn, and nothing has happened.
bool Service::finish_put(Session& session, std::string_view bytes, Instant now) {
  // It may end the wait of a worker that watches very many tubes.
  if (engine_.tubes().size() >= WatchIndex::kIndexedFrom) [[unlikely]] {
    Command put;
    put.verb = Verb::put;
    if (put_off(session, put)) {
      session.reader_.take_back_body();
      return false;
    }
  }
  PutPlan& plan = session.reader_.put();
  std::uint64_t records = journal_.records();
  begin_answers(session);
  try {
    NewBody body{.bytes = bytes, .blob = std::move(plan.body)};
    const Reply reply = dispatcher_.finish_put(session.client_, plan, body, now);
    if (reply.code == ReplyCode::not_yet) [[unlikely]] {
      plan.body = std::move(body.blob);
      session.reader_.take_back_body();
      defer(session);
      return false;
    }
    // It reports what another put has recorded, perhaps not long ago.
    if (is_about_another_job(reply.code)) [[unlikely]]
      records = 0;
    answer(session, reply);
  } catch (const std::bad_alloc&) {
    answer(session, {ReplyCode::out_of_memory});
  }
  dispatcher_.forget_put(plan);
  hold_back_if_recorded(session, records);
  hand_out_deliveries();
  return true;
}

// Answers ---------------------------------------------------------------------------------------

// Inlined into answer(), as a call would make every command dearer.
[[gnu::always_inline]] inline void Service::add_to_output(Session& session, const Reply& reply) {
  session.output_.take_memory(spare_);
  bool is_added = session.output_.add(reply);
  if (!is_added) {
    cushion_.give_up();
    is_added = session.output_.add(reply);
  }
  // An answer that cannot be given would shift all later ones: the connection has to go.
  if (!is_added) end(session, Stopped::quit);
}

void Service::answer(Session& session, const Reply& reply) {
  if (reply.code == ReplyCode::none) {
    session.still_since_ = CoarseInstant(now_);  // It waits from here on.
    return;
  }
  ++session.held_back_answers_;
  if (reply.code == ReplyCode::out_of_memory) cushion_.give_up();
  add_to_output(session, reply);
  if (reply.code == ReplyCode::reserved_batch) [[unlikely]] {
    for (const JobRef job : dispatcher_.batch()) {
      add_to_output(session, dispatcher_.with_job(ReplyCode::reserved, job));
    }
  }
  mark_to_send(session);
}

// What is answered from here on may come to be held back.
void Service::begin_answers(Session& session) {
  if (session.is_held_back_) return;
  session.held_back_mark_ = session.output_.mark();
  session.held_back_answers_ = 0;
}

void Service::hand_out_each_delivery() {
  for (const Delivery& delivery : engine_.deliveries()) {
    CHECK(delivery.client->owner() != nullptr);
    Session& session = *static_cast<Session*>(delivery.client->owner());
    CHECK(!session.is_answered_in_pieces());
    session.still_since_ = CoarseInstant(now_);
    begin_answers(session);
    answer(session, dispatcher_.delivered(delivery));
    // A long task has written records along the way; which ones is not worth keeping.
    if (delivery.may_tell_of_records()) hold_back_if_recorded(session, 0);
    wake(session);
  }
  engine_.clear_deliveries();
}

void Service::keep_input(Session& session, std::string_view rest) {
  if (rest.empty() || session.input_.append(rest)) return;
  cushion_.give_up();
  if (session.input_.append(rest)) return;
  end(session, Stopped::quit);  // No memory: what comes next would not be what was sent.
}

// An obstacle of the session has ended. If there is no other, it goes on, if there is anything to
// go on with.
void Service::look_for_obstacle(Session& session) {
  session.stopped_ = obstacle_of(session);
  if (session.stopped_ != Stopped::not_stopped) return;
  if (session.input_.empty() && !session.is_answered_in_pieces()) {
    session.stopped_ = Stopped::needs_input;
  } else {
    wait_in_backlog(session, Stopped::has_had_share);
  }
}

// Ends it, whatever stops it now.
void Service::end(Session& session, Stopped how) {
  leave_backlog(session);
  session.stopped_ = how;
  mark_to_send(session);
}

void Service::wait_in_backlog(Session& session, Stopped why) {
  session.stopped_ = why;
  backlog_.push_back(session);
}

void Service::mark_to_send(Session& session) {
  if (!session.to_send_.linked()) to_send_.push_back(session);
}

// What is kept already comes before what arrives next, so there is no direct way past it.
std::span<char> Session::direct_space() {
  return input_.empty() ? reader_.direct_space() : std::span<char>();
}

}  // namespace haricot
