#include "haricot/service/request_runner.hpp"

#include <new>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/service/admission.hpp"

namespace haricot {

namespace {

// Returns the steps of writing the reply. A report is formatted number by number; a body is only
// copied.
std::uint64_t steps_for(const Reply& reply) {
  const bool is_report = reply.code == ReplyCode::ok;
  return body_size(reply) /
         (is_report ? turn_limits::kReportBytesPerStep : turn_limits::kBodyBytesPerStep);
}

// Returns true for the reply to a put whose key another job owns.
bool is_about_another_job(ReplyCode code) {
  return code == ReplyCode::inserted_again || code == ReplyCode::inserted_raised;
}

}  // namespace

void RequestRunner::receive(Session& session, std::string_view bytes, Instant now) {
  // A session that is in a list, or has an obstacle, keeps its place.
  if (session.stopped() != Session::Stopped::needs_input) {
    if (session.is_ended()) return;
    if (!session.client().is_busy()) session.restart_idle_time(parts_.turn.began);
    keep(session, bytes);
    if (session.client().is_waiting_for_input()) [[unlikely]]
      abort_wait(session);
    return;
  }
  session.restart_idle_time(parts_.turn.began);
  if (!session.requests.input.empty()) {
    keep(session, bytes);
    if (!session.is_ended()) run_kept(session, now, parts_.shares.share_of_read());
    return;
  }
  // The usual case: there is no older input, and commands run without a copy of the bytes.
  const std::size_t used = run(session, bytes, now, parts_.shares.share_of_read());
  if (session.is_ended()) return;
  keep(session, bytes.substr(used));
}

void RequestRunner::receive_directly(Session& session, std::size_t bytes) {
  session.restart_idle_time(parts_.turn.began);
  session.requests.reader.took_directly(bytes);
}

void RequestRunner::half_close(Session& session) {
  Session::Peer& peer = session.requests.peer;
  if (peer == Session::Peer::open) peer = Session::Peer::half_closed;
  parts_.engine.stop_waiting(session.client(), Delivery::Kind::timed_out);
  parts_.outbox.answer_deliveries();
}

void RequestRunner::end_input(Session& session) {
  session.requests.peer = Session::Peer::read_to_end;
  half_close(session);
  parts_.outbox.push(session);
}

void RequestRunner::run_kept(Session& session, Instant now, const Budget& share) {
  ByteBuffer& input = session.requests.input;
  const std::size_t used = run(session, input.view(), now, share);
  input.consume(used);
  input.release_if_empty();
}

// Keeps input for later. Ends the session if memory is short, because a part of its input is lost.
void RequestRunner::keep(Session& session, std::string_view rest) {
  ByteBuffer& input = session.requests.input;
  if (rest.empty() || input.append(rest)) return;
  parts_.cushion.give_up();
  if (!input.append(rest)) parts_.outbox.end(session, Session::Stopped::quit);
}

// Runs requests until the session has to stop. Returns the number of used bytes of the input.
std::size_t RequestRunner::run(Session& session, std::string_view input, Instant now,
                               const Budget& share) {
  using Stopped = Session::Stopped;
  std::uint64_t& steps = parts_.engine.steps();
  const std::uint64_t before = steps;
  std::size_t used = 0;
  const bool is_in_list = session.is_answered_in_pieces() && !parts_.lists.resume(session, share);
  while (!is_in_list) {
    session.stop(session.obstacle(parts_.turn.number));
    if (session.stopped() != Stopped::not_stopped) break;
    if (share.is_used_up()) {
      parts_.run_queue.push(session, Stopped::has_had_share);
      break;
    }
    // Usually the last command has used all input, so this saves a call of the reader.
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
    parts_.shares.end_first_command();
    if (session.is_answered_in_pieces()) [[unlikely]]
      break;
  }
  CHECK(session.stopped() != Stopped::not_stopped);
  if (used < input.size() && session.client().is_waiting_for_input()) [[unlikely]] {
    parts_.run_queue.push(session, Stopped::has_had_share);
    abort_wait(session);
  }
  parts_.dispatcher.release_line();
  const bool did_much = steps - before >= turn_limits::kStepsPerShareMin;
  if (did_much || share.is_used_up()) parts_.shares.count_busy();
  if (session.has_output() && session.stopped() != Stopped::held_back) {
    steps += turn_limits::kStepsPerSend;
  }
  if (session.is_finished()) {
    steps += turn_limits::kStepsPerClose;
    parts_.outbox.push(session);
  }
  return used;
}

// Ends a reserve-with-abort, because the client has sent more input.
void RequestRunner::abort_wait(Session& session) {
  parts_.engine.stop_waiting(session.client(), Delivery::Kind::aborted);
  parts_.outbox.answer_deliveries();
}

// Runs a piece of the input. Returns false if the piece has to wait and stays in the input.
bool RequestRunner::run_piece(Session& session, const RequestPiece& piece, Instant now,
                              const Budget& share) {
  std::uint64_t& steps = parts_.engine.steps();
  switch (piece.kind) {
    case RequestPiece::Kind::line:
      return run_line(session, piece.text, now, share);
    case RequestPiece::Kind::body:
      return finish_put(session, piece.text, now);
    case RequestPiece::Kind::end_of_long_line:
      steps += piece.bytes / turn_limits::kBodyBytesPerStep;
      parts_.outbox.answer(session, {ReplyCode::bad_format});
      break;
    case RequestPiece::Kind::body_without_end:
      parts_.dispatcher.forget_put(session.requests.reader.put());
      parts_.outbox.answer(session, {ReplyCode::expected_crlf});
      break;
    case RequestPiece::Kind::end_of_refused:
      steps += piece.bytes / turn_limits::kBodyBytesPerStep;
      parts_.outbox.answer(session, {session.requests.reader.put().refusal});
      break;
    case RequestPiece::Kind::part_of_body:
    case RequestPiece::Kind::discarded:
      steps += piece.bytes / turn_limits::kBodyBytesPerStep;
      break;
    case RequestPiece::Kind::nothing:
      break;
  }
  return true;
}

bool RequestRunner::run_line(Session& session, std::string_view line, Instant now,
                             const Budget& share) {
  Command command;
  const ParseResult parsed = parse_command(line, command, session.requests.commands);
  // If there are few tubes, no command of beanstalkd takes long: a kick continues as a task.
  const bool may_be_long = are_many_tubes();
  if (may_be_long || is_extended(command.verb)) [[unlikely]] {
    // A put is priced when its body is there.
    const bool has_price = parsed == ParseResult::ok && command.verb != Verb::put;
    if (has_price && must_wait(session, command)) return false;
  }
  parts_.engine.steps() += turn_limits::kStepsPerCommand;
  session.count_command();
  if (trace_.function != nullptr) trace_.function(trace_.context, session, line);
  if (parsed != ParseResult::ok && refuse_line(session, parsed, command)) return true;
  if (command.verb == Verb::quit) {
    session.stop(Session::Stopped::quit);
    return true;
  }
  if (command.verb == Verb::put) {
    session.requests.reader.expect_body(parts_.dispatcher.begin_put(session.client(), command));
    return true;
  }
  if (may_be_long && parts_.lists.is_long(session, command)) [[unlikely]] {
    parts_.dispatcher.count(command.verb);
    parts_.lists.begin(session, command, share);
    return true;
  }
  return run_command(session, command, now);
}

// Runs a command and answers it. Returns false if it has to wait for the journal's disk.
bool RequestRunner::run_command(Session& session, const Command& command, Instant now) {
  Outbox& outbox = parts_.outbox;
  const std::uint64_t records = parts_.journal.records();
  outbox.begin_answers(session);
  try {
    const Reply reply =
        parts_.dispatcher.run(session.client(), command, session.requests.commands, now);
    if (reply.code == ReplyCode::none || reply.code == ReplyCode::not_yet) [[unlikely]] {
      if (reply.code == ReplyCode::not_yet) {
        parts_.dispatcher.uncount(command.verb);
        session.uncount_command();
        parts_.run_queue.defer(session);
        return false;
      }
      CHECK(row_of(command.verb).answer == Answer::may_wait);
    }
    parts_.engine.steps() += steps_for(reply);
    outbox.answer(session, reply);
  } catch (const std::bad_alloc&) {
    outbox.answer(session, {ReplyCode::out_of_memory});
  }
  outbox.hold_back_if_recorded(session, records);
  // A client whose peer has closed its writing side does not wait.
  if (!session.peer_may_write()) {
    parts_.engine.stop_waiting(session.client(), Delivery::Kind::timed_out);
  }
  outbox.answer_deliveries();
  return true;
}

// Returns true if the command has to wait, and stops the session then.
bool RequestRunner::must_wait(Session& session, const Command& command) {
  const Answer answer = row_of(command.verb).answer;
  const bool begins_page = answer == Answer::page || answer == Answer::tubes_in_pieces;
  if (begins_page && parts_.page_limit.free_pages() == 0) {
    parts_.run_queue.wait_for_memory(session);
    return true;
  }
  if (must_wait_for_steps(session, price_of(parts_.engine, session.client(), command))) return true;
  // An answer that is held back may be revoked, which is impossible for a list in pieces. The
  // session runs again when its answers are safe.
  if (session.is_held_back() && parts_.lists.is_long(session, command)) {
    session.stop(Session::Stopped::held_back);
    return true;
  }
  if (begins_page) parts_.page_limit.begin(session);
  return false;
}

bool RequestRunner::must_wait_for_steps(Session& session, std::uint64_t price) {
  if (parts_.shares.admit(price)) return false;
  parts_.run_queue.push(session, Session::Stopped::put_off);
  return true;
}

// Answers a malformed line. Returns false if the line is run nevertheless: a put that is too big,
// whose body is discarded.
//
// Compat: beanstalkd checks the size of a put before the rest of its line, and counts a put that is
// malformed after the size. docs/compatibility.md, "Taken over".
bool RequestRunner::refuse_line(Session& session, ParseResult parsed, const Command& command) {
  switch (parsed) {
    case ParseResult::ok:
      return false;
    case ParseResult::unknown_command:
      parts_.outbox.answer(session, {ReplyCode::unknown_command});
      return true;
    case ParseResult::late_bad_format:
      if (command.verb == Verb::put && parts_.dispatcher.is_too_big(command.body_bytes)) {
        return false;
      }
      parts_.dispatcher.count(command.verb);
      break;
    case ParseResult::bad_format:
      break;
  }
  parts_.outbox.answer(session, {ReplyCode::bad_format});
  return true;
}

// Runs a put whose body is complete. Returns false if it has to wait for the journal's disk or for
// a later turn; nothing has changed then.
bool RequestRunner::finish_put(Session& session, std::string_view bytes, Instant now) {
  RequestReader& reader = session.requests.reader;
  // The put may end the wait of a worker that watches many tubes.
  if (are_many_tubes() &&
      must_wait_for_steps(session, price_of_put(parts_.engine, session.client()))) [[unlikely]] {
    reader.take_back_body();
    return false;
  }
  PutPlan& plan = reader.put();
  Outbox& outbox = parts_.outbox;
  const std::uint64_t records = parts_.journal.records();
  bool reports_another_job = false;
  outbox.begin_answers(session);
  try {
    NewBody body{.bytes = bytes, .blob = std::move(plan.body)};
    const Reply reply = parts_.dispatcher.finish_put(session.client(), plan, body, now);
    if (reply.code == ReplyCode::not_yet) [[unlikely]] {
      plan.body = std::move(body.blob);
      reader.take_back_body();
      parts_.engine.steps() += turn_limits::kStepsPerCommand;
      parts_.run_queue.defer(session);
      return false;
    }
    reports_another_job = is_about_another_job(reply.code);
    outbox.answer(session, reply);
  } catch (const std::bad_alloc&) {
    outbox.answer(session, {ReplyCode::out_of_memory});
  }
  parts_.dispatcher.forget_put(plan);
  if (reports_another_job) [[unlikely]] {
    outbox.hold_back(session);  // The record of the other job may not be safe yet.
  } else {
    outbox.hold_back_if_recorded(session, records);
  }
  outbox.answer_deliveries();
  return true;
}

}  // namespace haricot
