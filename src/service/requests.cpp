#include "haricot/service/requests.hpp"

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

bool are_many_tubes(const ServiceParts& parts) {
  return parts.engine.tubes().size() >= WatchIndex::kIndexedFrom;
}

// Keeps input for later. Ends the session if memory is short, because a part of its input is lost.
void keep(ServiceParts& parts, Session& session, std::string_view rest) {
  ByteBuffer& input = session.requests.input;
  if (rest.empty() || input.append(rest)) return;
  parts.cushion.give_up();
  if (!input.append(rest)) parts.outbox.end(session, Session::Stopped::quit);
}

// Ends a reserve-with-abort, because the client has sent more input.
// Cold functions are not inlined, because they would make every command slower.
[[gnu::cold, gnu::noinline]] void abort_wait(ServiceParts& parts, Session& session) {
  parts.engine.stop_waiting(session.client(), Delivery::Kind::aborted);
  parts.outbox.answer_deliveries();
}

[[gnu::cold, gnu::noinline]] bool must_wait_for_steps(ServiceParts& parts, Session& session,
                                                      std::uint64_t price) {
  if (parts.shares.admit(price)) return false;
  parts.run_queue.push(session, Session::Stopped::put_off);
  return true;
}

// Does a piece of the search for the reserved jobs of a tube. Returns true if another piece has to
// follow. Ends the search if memory is short; the command is run and reports that.
[[gnu::cold, gnu::noinline]] bool must_search(ServiceParts& parts, Session& session,
                                              const Command& command) {
  Engine& engine = parts.engine;
  const Tube* const tube = engine.find_tube(command.tube);
  try {
    if (tube != nullptr) {
      if (engine.queries().search_reserved(session.client(), *tube, command.bound)) return false;
      parts.run_queue.push(session, Session::Stopped::put_off);
      return true;
    }
  } catch (const std::bad_alloc&) {
  }
  engine.queries().forget_search(session.client());
  return false;
}

// Returns true if the command has to wait, and stops the session then.
[[gnu::cold, gnu::noinline]] bool must_wait(ServiceParts& parts, Session& session,
                                            const Command& command) {
  const Answer answer = row_of(command.verb).answer;
  const bool begins_page = answer == Answer::page || answer == Answer::tubes_in_pieces;
  if (begins_page && parts.page_limit.free_pages() == 0) {
    parts.run_queue.wait_for_memory(session);
    return true;
  }
  if (must_wait_for_steps(parts, session, price_of(parts.engine, session.client(), command)))
    return true;
  // An answer that is held back may be revoked, which is impossible for a list in pieces. The
  // session runs again when its answers are safe.
  if (session.is_held_back() && parts.lists.is_long(session, command)) {
    session.stop(Session::Stopped::held_back);
    return true;
  }
  if (command.verb == Verb::list_jobs && command.state == StateWord::reserved &&
      must_search(parts, session, command)) {
    return true;
  }
  if (begins_page) parts.page_limit.begin(session);
  return false;
}

// Answers a malformed line. Returns false if the line is run nevertheless: a put that is too big,
// whose body is discarded.
//
// Compat: beanstalkd checks the size of a put before the rest of its line, and counts a put that is
// malformed after the size. docs/compatibility.md, "Taken over".
bool refuse_line(ServiceParts& parts, Session& session, ParseResult parsed,
                 const Command& command) {
  switch (parsed) {
    case ParseResult::ok:
      return false;
    case ParseResult::unknown_command:
      parts.outbox.answer(session, {ReplyCode::unknown_command});
      return true;
    case ParseResult::late_bad_format:
      if (command.verb == Verb::put && parts.dispatcher.is_too_big(command.body_bytes)) {
        return false;
      }
      parts.dispatcher.count(command.verb);
      break;
    case ParseResult::bad_format:
      break;
  }
  parts.outbox.answer(session, {ReplyCode::bad_format});
  return true;
}

// Begins the wait of a command that is answered later.
[[gnu::cold, gnu::noinline]] void begin_wait(Session& session, const Command& command) {
  if (command.verb == Verb::note) {
    session.requests.reader.expect_body(Dispatcher::begin_note(command));
  } else {
    CHECK(row_of(command.verb).answer == Answer::may_wait);
  }
}

// Runs a command and answers it. Returns false if it has to wait for the journal's disk.
bool run_command(ServiceParts& parts, Session& session, const Command& command, Instant now) {
  Outbox& outbox = parts.outbox;
  const std::uint64_t records = parts.journal.records();
  outbox.begin_answers(session);
  try {
    const Reply reply =
        parts.dispatcher.run(session.client(), command, session.requests.commands, now);
    if (reply.code == ReplyCode::none || reply.code == ReplyCode::not_yet) [[unlikely]] {
      if (reply.code == ReplyCode::not_yet) {
        parts.dispatcher.uncount(command.verb);
        session.uncount_command();
        parts.run_queue.defer(session);
        return false;
      }
      begin_wait(session, command);
    }
    parts.engine.steps() += steps_for(reply);
    outbox.answer(session, reply);
  } catch (const std::bad_alloc&) {
    outbox.answer(session, {ReplyCode::out_of_memory});
  }
  outbox.hold_back_if_recorded(session, records);
  // A client whose peer has closed its writing side does not wait.
  if (!session.peer_may_write()) {
    parts.engine.stop_waiting(session.client(), Delivery::Kind::timed_out);
  }
  outbox.answer_deliveries();
  return true;
}

// Runs a put, or a note, whose body is complete. Returns false if it has to wait for the journal's
// disk or for a later turn; nothing has changed then.
bool finish_put(ServiceParts& parts, Session& session, std::string_view bytes, Instant now) {
  RequestReader& reader = session.requests.reader;
  // The put may end the wait of a worker that watches many tubes.
  if (are_many_tubes(parts) &&
      must_wait_for_steps(parts, session, price_of_put(parts.engine, session.client())))
      [[unlikely]] {
    reader.take_back_body();
    return false;
  }
  PutPlan& plan = reader.put();
  Outbox& outbox = parts.outbox;
  const std::uint64_t records = parts.journal.records();
  outbox.begin_answers(session);
  try {
    NewBody body{.bytes = bytes, .blob = std::move(plan.body)};
    const Reply reply = parts.dispatcher.finish_put(session.client(), plan, body, now);
    if (reply.code == ReplyCode::not_yet) [[unlikely]] {
      plan.body = std::move(body.blob);
      reader.take_back_body();
      parts.engine.steps() += turn_limits::kStepsPerCommand;
      parts.run_queue.defer(session);
      return false;
    }
    outbox.answer(session, reply);
    // The record of the other job may not be safe yet.
    if (is_about_another_job(reply.code)) [[unlikely]]
      outbox.hold_back(session);
  } catch (const std::bad_alloc&) {
    outbox.answer(session, {ReplyCode::out_of_memory});
  }
  parts.dispatcher.forget_put(plan);
  outbox.hold_back_if_recorded(session, records);
  outbox.answer_deliveries();
  return true;
}

bool run_line(ServiceParts& parts, Session& session, std::string_view line, Instant now,
              const Budget& share) {
  Command command;
  const ParseResult parsed = parse_command(line, command, session.requests.commands);
  // If there are few tubes, no command of beanstalkd takes long: a kick continues as a task.
  const bool may_be_long = are_many_tubes(parts);
  if (may_be_long || is_extended(command.verb)) [[unlikely]] {
    // A put is priced when its body is there.
    const bool has_price = parsed == ParseResult::ok && command.verb != Verb::put;
    if (has_price && must_wait(parts, session, command)) return false;
  }
  parts.engine.steps() += turn_limits::kStepsPerCommand;
  session.count_command();
  if (parts.trace.function != nullptr) parts.trace.function(parts.trace.context, session, line);
  if (parsed != ParseResult::ok && refuse_line(parts, session, parsed, command)) return true;
  if (command.verb == Verb::quit) {
    session.stop(Session::Stopped::quit);
    return true;
  }
  if (command.verb == Verb::put) {
    session.requests.reader.expect_body(parts.dispatcher.begin_put(session.client(), command));
    return true;
  }
  if (may_be_long && parts.lists.is_long(session, command)) [[unlikely]] {
    parts.dispatcher.count(command.verb);
    parts.lists.begin(session, command, share);
    return true;
  }
  return run_command(parts, session, command, now);
}

// Runs a piece of the input. Returns false if the piece has to wait and stays in the input.
bool run_piece(ServiceParts& parts, Session& session, const RequestPiece& piece, Instant now,
               const Budget& share) {
  std::uint64_t& steps = parts.engine.steps();
  switch (piece.kind) {
    case RequestPiece::Kind::line:
      return run_line(parts, session, piece.text, now, share);
    case RequestPiece::Kind::body:
      return finish_put(parts, session, piece.text, now);
    case RequestPiece::Kind::end_of_long_line:
      steps += piece.bytes / turn_limits::kBodyBytesPerStep;
      parts.outbox.answer(session, {ReplyCode::bad_format});
      break;
    case RequestPiece::Kind::body_without_end:
      parts.dispatcher.forget_put(session.requests.reader.put());
      parts.outbox.answer(session, {ReplyCode::expected_crlf});
      break;
    case RequestPiece::Kind::end_of_refused:
      steps += piece.bytes / turn_limits::kBodyBytesPerStep;
      parts.outbox.answer(session, {session.requests.reader.put().refusal});
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

// Runs requests until the session has to stop. Returns the number of used bytes of the input.
std::size_t run(ServiceParts& parts, Session& session, std::string_view input, Instant now,
                const Budget& share) {
  using Stopped = Session::Stopped;
  std::uint64_t& steps = parts.engine.steps();
  const std::uint64_t before = steps;
  std::size_t used = 0;
  const bool is_in_list = session.is_answered_in_pieces() && !parts.lists.resume(session, share);
  if (!is_in_list) session.stop(Stopped::not_stopped);
  while (!is_in_list) {
    const Stopped obstacle = session.obstacle(parts.turn.number);
    if (obstacle != Stopped::not_stopped) {
      session.stop(obstacle);
      break;
    }
    if (share.is_used_up()) {
      parts.run_queue.push(session, Stopped::has_had_share);
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
    if (!run_piece(parts, session, piece, now, share)) break;
    used += piece.bytes;
    parts.shares.end_first_command();
    if (session.is_answered_in_pieces()) [[unlikely]]
      break;
  }
  CHECK(session.stopped() != Stopped::not_stopped);
  if (used < input.size() && session.client().is_waiting_for_input()) [[unlikely]] {
    parts.run_queue.push(session, Stopped::has_had_share);
    abort_wait(parts, session);
  }
  parts.dispatcher.release_line();
  const bool did_much = steps - before >= turn_limits::kStepsPerShareMin;
  if (did_much || share.is_used_up()) parts.shares.count_busy();
  if (session.has_output() && session.stopped() != Stopped::held_back) {
    steps += turn_limits::kStepsPerSend;
  }
  if (session.is_finished()) {
    steps += turn_limits::kStepsPerClose;
    parts.outbox.push(session);
  }
  return used;
}

}  // namespace

ServiceParts::ServiceParts(const ServerInfo& info, Journal& journal_, Instant now,
                           const HashKey& key)
    : journal(journal_),
      engine(now, journal, key),
      dispatcher(engine, journal, info, cushion, now),
      turn{.began = now},
      shares(engine.steps()),
      run_queue(turn),
      outbox(engine, journal, dispatcher, cushion, run_queue, turn),
      lists(engine, run_queue, outbox, turn),
      idle(info.limits, engine, dispatcher, outbox, turn) {}

namespace requests {

void receive(ServiceParts& parts, Session& session, std::string_view bytes, Instant now) {
  // A session that is in a list, or has an obstacle, keeps its place.
  if (session.stopped() != Session::Stopped::needs_input) {
    if (session.is_ended()) return;
    if (!session.client().is_busy()) session.restart_idle_time(parts.turn.began);
    keep(parts, session, bytes);
    if (session.client().is_waiting_for_input()) [[unlikely]]
      abort_wait(parts, session);
    return;
  }
  session.restart_idle_time(parts.turn.began);
  if (!session.requests.input.empty()) {
    keep(parts, session, bytes);
    if (!session.is_ended()) run_kept(parts, session, now, parts.shares.share_of_read());
    return;
  }
  // The usual case: there is no older input, and commands run without a copy of the bytes.
  const std::size_t used = run(parts, session, bytes, now, parts.shares.share_of_read());
  if (session.is_ended()) return;
  keep(parts, session, bytes.substr(used));
}

void receive_directly(ServiceParts& parts, Session& session, std::size_t bytes) {
  session.restart_idle_time(parts.turn.began);
  session.requests.reader.took_directly(bytes);
}

void run_kept(ServiceParts& parts, Session& session, Instant now, const Budget& share) {
  ByteBuffer& input = session.requests.input;
  const std::size_t used = run(parts, session, input.view(), now, share);
  input.consume(used);
  input.release_if_empty();
}

void half_close(ServiceParts& parts, Session& session) {
  Session::Peer& peer = session.requests.peer;
  if (peer == Session::Peer::open) peer = Session::Peer::half_closed;
  parts.engine.stop_waiting(session.client(), Delivery::Kind::timed_out);
  parts.outbox.answer_deliveries();
}

void end_input(ServiceParts& parts, Session& session) {
  session.requests.peer = Session::Peer::read_to_end;
  half_close(parts, session);
  parts.outbox.push(session);
}

void remove(ServiceParts& parts, Session& session) {
  parts.dispatcher.forget_put(session.requests.reader.put());
}

}  // namespace requests

}  // namespace haricot
