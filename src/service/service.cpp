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
      run_queue_(turn_),
      outbox_(engine_, journal, dispatcher_, cushion_, run_queue_, turn_),
      lists_(engine_, run_queue_, outbox_, turn_),
      idle_(info.limits, engine_, dispatcher_, outbox_, turn_),
      limits_(info.limits) {
  turn_.began = now;
  engine_.limit_tries(limits_.tries_max);
  if (limits_.job_memory_bytes_max > 0) engine_.memory().limit(limits_.job_memory_bytes_max);
}

Service::~Service() {
  while (Session* const session = first_session()) close(*session, Instant{});
}

// A turn ----------------------------------------------------------------------------------------

void Service::advance(Instant now) {
  begin_turn(now);
  engine_.advance(now);
  share_out_turn();
  idle_.end_idle_sessions(now);
}

void Service::advance_tasks(Instant now) {
  begin_turn(now);
  engine_.advance_tasks(now);
  share_out_turn();
}

inline void Service::begin_turn(Instant now) {
  turn_.begin(now);
  shares_.begin_turn();
}

inline void Service::share_out_turn() {
  outbox_.answer_deliveries();
  shares_.begin_reading(!run_queue_.is_empty());
}

void Service::receive(Session& session, std::string_view bytes, Instant now) {
  idle_.mark_active(session);
  // One that has a place in the backlog, or waits for something else, keeps it.
  if (session.stopped() != Stopped::needs_input) {
    if (session.is_ended()) return;
    if (!session.client().is_busy()) session.mark_still(turn_.began);
    keep_input(session, bytes);
    if (session.client().is_waiting_for_input()) [[unlikely]]
      abort_wait(session);
    return;
  }
  session.mark_still(turn_.began);
  if (!session.requests.input.empty()) {
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
  idle_.mark_active(session);
  session.mark_still(turn_.began);
  session.requests.reader.took_directly(bytes);
}

void Service::peer_half_closed(Session& session) {
  if (session.requests.peer == Session::Peer::open)
    session.requests.peer = Session::Peer::half_closed;
  engine_.stop_waiting(session.client(), Delivery::Kind::timed_out);
  outbox_.answer_deliveries();
}

void Service::end_of_input(Session& session) {
  session.requests.peer = Session::Peer::read_to_end;
  peer_half_closed(session);
  outbox_.push(session);
}

// A session that has more commands than its share goes behind the others. A session whose command
// exceeds the rest of the budget keeps its place, and ends the round: in the next turn the budget
// is untouched.
//
// A session in a body may want input again without having answered anything, so its connection is
// notified in any case.
void Service::run_backlog(Instant now) {
  // Asked even if no session waits: the journal wants turns until it has been asked.
  if (journal_.may_try_again()) [[unlikely]]
    try_again(now);
  if (run_queue_.is_short_of_memory()) run_queue_.wake_for_memory(page_limit_.free_pages());
  if (run_queue_.is_empty()) return;
  run_queue_.begin_round();
  shares_.begin_backlog();
  while (!shares_.is_used_up()) {
    Session* const session = run_queue_.take_next();
    if (session == nullptr) break;
    run(*session, now, shares_.share_of_waiting());
    outbox_.push(*session);
    if (session->stopped() == Stopped::put_off) {
      run_queue_.keep_place(*session);
      break;
    }
  }
  run_queue_.end_round();
}

void Service::sent(Session& session, std::size_t bytes) {
  if (bytes > 0) idle_.mark_active(session);
  outbox_.consume(session, bytes);
  page_limit_.end_if_sent(session);
  run_queue_.wake(session);
  // Its end was waiting for the last of its output.
  if (session.is_finished() && !session.has_output()) outbox_.push(session);
}

void Service::end_turn(Instant now) {
  journal_.end_turn(now);
  outbox_.release_safe();
}

Instant Service::next_event() const {
  if (!run_queue_.is_empty() || has_safe_answers() || can_wake_for_memory()) return Instant{};
  return std::min({engine_.next_event(), journal_.next_event(), idle_.next_check()});
}

// Running commands ------------------------------------------------------------------------------

// Runs what the session has kept.
void Service::run(Session& session, Instant now, Budget share) {
  const std::size_t used = run_some(session, session.requests.input.view(), now, share);
  session.requests.input.consume(used);
  session.requests.input.release_if_empty();
}

// Runs complete commands until there is none, something stops the session, or its share of the turn
// is used up. Returns how many bytes of the input it used. Requires: it is not stopped; afterwards
// it is.
std::size_t Service::run_some(Session& session, std::string_view input, Instant now, Budget share) {
  const std::uint64_t before = engine_.steps();
  std::size_t used = 0;
  const bool is_in_list = session.is_answered_in_pieces() && !lists_.resume(session, share);
  while (!is_in_list) {
    session.stop(session.obstacle(turn_.number));
    if (session.stopped() != Stopped::not_stopped) break;
    if (share.is_used_up()) {
      run_queue_.push(session, Stopped::has_had_share);
      break;
    }
    // Most often the last command has used all that there is, and the reader need not look.
    if (used == input.size()) {
      session.stop(Stopped::needs_input);
      break;
    }
    const RequestPiece piece = session.requests.reader.next(input.substr(used));
    if (piece.kind == RequestPiece::Kind::nothing) {
      session.stop(Stopped::needs_input);
      break;
    }
    if (!run_piece(session, piece, now, share)) break;
    used += piece.bytes;
    shares_.end_first_command();
    if (session.is_answered_in_pieces()) [[unlikely]]
      break;
  }
  CHECK(session.stopped() != Stopped::not_stopped);
  if (used < input.size() && session.client().is_waiting_for_input()) [[unlikely]] {
    run_queue_.push(session, Stopped::has_had_share);
    abort_wait(session);
  }
  dispatcher_.let_line_go();
  const bool did_much = engine_.steps() - before >= turn_limits::kStepsPerShareMin;
  if (did_much || share.is_used_up()) shares_.count_busy();
  if (session.has_output() && session.stopped() != Stopped::held_back) {
    engine_.steps() += turn_limits::kStepsPerSend;
  }
  if (session.is_finished()) {
    engine_.steps() += turn_limits::kStepsPerClose;
    outbox_.push(session);
  }
  return used;
}

// What the client sends ends a wait for it.
void Service::abort_wait(Session& session) {
  engine_.stop_waiting(session.client(), Delivery::Kind::aborted);
  outbox_.answer_deliveries();
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
      outbox_.answer(session, {ReplyCode::bad_format});
      break;
    case RequestPiece::Kind::body_without_end:
      dispatcher_.forget_put(session.requests.reader.put());
      outbox_.answer(session, {ReplyCode::expected_crlf});
      break;
    case RequestPiece::Kind::end_of_refused:
      engine_.steps() += piece.bytes / turn_limits::kBodyBytesPerStep;
      outbox_.answer(session, {session.requests.reader.put().refusal});
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
  const ParseResult parsed = parse_command(line, command, session.requests.commands);
  // Where there are few tubes, none of beanstalkd's commands takes long: a kick goes on as a task.
  const bool are_many_tubes = engine_.tubes().size() >= WatchIndex::kIndexedFrom;
  if (are_many_tubes || is_extended(command.verb)) [[unlikely]] {
    // The price of a put is asked for when its body is there.
    const bool has_price = parsed == ParseResult::ok && command.verb != Verb::put;
    if (has_price && put_off(session, command)) return false;
  }
  engine_.steps() += turn_limits::kStepsPerCommand;
  session.count_command();
  if (trace_.function != nullptr) trace_.function(trace_.context, session, line);
  if (parsed != ParseResult::ok && refuse_line(session, parsed, command)) return true;
  if (command.verb == Verb::quit) {
    session.stop(Stopped::quit);
    return true;
  }
  if (command.verb == Verb::put) {
    session.requests.reader.expect_body(dispatcher_.begin_put(session.client(), command));
    return true;
  }
  if (are_many_tubes && lists_.is_long(session, command)) [[unlikely]] {
    dispatcher_.count(command.verb);
    lists_.begin(session, command, share);
    return true;
  }
  const std::uint64_t records = journal_.records();
  outbox_.begin_answers(session);
  try {
    const Reply reply = dispatcher_.run(session.client(), command, session.requests.commands, now);
    static_assert(ReplyCode::none < ReplyCode::not_yet &&
                  ReplyCode::not_yet < ReplyCode::bad_format);
    if (reply.code <= ReplyCode::not_yet) [[unlikely]] {
      if (reply.code == ReplyCode::not_yet) {
        dispatcher_.count_less(command.verb);
        session.uncount_command();
        run_queue_.defer(session);
        return false;  // The command stays where it is.
      }
      CHECK(row_of(command.verb).answer == Answer::may_wait);
    }
    engine_.steps() += steps_for(reply);
    outbox_.answer(session, reply);
  } catch (const std::bad_alloc&) {
    outbox_.answer(session, {ReplyCode::out_of_memory});
  }
  outbox_.hold_back_if_recorded(session, records);
  // A peer that has closed its side cannot be waited for.
  if (!session.peer_may_write()) engine_.stop_waiting(session.client(), Delivery::Kind::timed_out);
  outbox_.answer_deliveries();
  return true;
}

// Returns true if the command has to wait; the command then stays where it is.
bool Service::put_off(Session& session, const Command& command) {
  const Answer answer = row_of(command.verb).answer;
  const bool begins_page = answer == Answer::page || answer == Answer::tubes_in_pieces;
  if (begins_page && page_limit_.free_pages() == 0) {
    run_queue_.wait_for_memory(session);
    return true;
  }
  if (!shares_.admit(price_of(engine_, session.client(), command))) {
    run_queue_.push(session, Stopped::put_off);
    return true;
  }
  // An answer that is held back may be taken back, and a list in pieces could not be. The session
  // runs again when its answers are safe.
  if (session.is_held_back() && lists_.is_long(session, command)) {
    session.stop(Stopped::held_back);
    return true;
  }
  if (begins_page) page_limit_.begin(session);
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
      outbox_.answer(session, {ReplyCode::unknown_command});
      return true;
    case ParseResult::late_bad_format:
      if (command.verb == Verb::put && dispatcher_.is_too_big(command.body_bytes)) return false;
      dispatcher_.count(command.verb);
      break;
    case ParseResult::bad_format:
      break;
  }
  outbox_.answer(session, {ReplyCode::bad_format});
  return true;
}

// False: it has to wait for the journal's disk or for a later turn, and nothing has happened.
bool Service::finish_put(Session& session, std::string_view bytes, Instant now) {
  // It may end the wait of a worker that watches very many tubes.
  if (engine_.tubes().size() >= WatchIndex::kIndexedFrom) [[unlikely]] {
    Command put;
    put.verb = Verb::put;
    if (put_off(session, put)) {
      session.requests.reader.take_back_body();
      return false;
    }
  }
  PutPlan& plan = session.requests.reader.put();
  const std::uint64_t records = journal_.records();
  bool reports_another_job = false;
  outbox_.begin_answers(session);
  try {
    NewBody body{.bytes = bytes, .blob = std::move(plan.body)};
    const Reply reply = dispatcher_.finish_put(session.client(), plan, body, now);
    if (reply.code == ReplyCode::not_yet) [[unlikely]] {
      plan.body = std::move(body.blob);
      session.requests.reader.take_back_body();
      engine_.steps() += turn_limits::kStepsPerCommand;
      run_queue_.defer(session);
      return false;
    }
    reports_another_job = is_about_another_job(reply.code);
    outbox_.answer(session, reply);
  } catch (const std::bad_alloc&) {
    outbox_.answer(session, {ReplyCode::out_of_memory});
  }
  dispatcher_.forget_put(plan);
  if (reports_another_job) [[unlikely]] {
    outbox_.hold_back(session);  // The other job may have been recorded since the last sync.
  } else {
    outbox_.hold_back_if_recorded(session, records);
  }
  outbox_.answer_deliveries();
  return true;
}

void Service::keep_input(Session& session, std::string_view rest) {
  if (rest.empty() || session.requests.input.append(rest)) return;
  cushion_.give_up();
  if (session.requests.input.append(rest)) return;
  outbox_.end(session, Stopped::quit);  // No memory: what comes next would not be what was sent.
}

// All deferred commands and tasks run again.
void Service::try_again(Instant now) {
  run_queue_.retry_deferred();
  engine_.go_on_with_tasks(now);
  outbox_.answer_deliveries();
}

}  // namespace haricot
