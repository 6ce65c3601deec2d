#include "haricot/service/service.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "haricot/base/check.hpp"

namespace haricot {
namespace {

// Memory for bodies that nobody has needed for so long, and at most twice that, goes back.
constexpr Duration kBlobAge = Duration::seconds(1);

// How much of a session's share of a turn an answer of that many bytes takes.
std::uint32_t work_for(std::size_t bytes) {
  return static_cast<std::uint32_t>(1 + bytes / 512);
}

// A report has to be written, number by number, where a body is only copied.
std::uint32_t work_for(const Reply& reply) {
  constexpr std::size_t kTimesAsLong = 4;
  return work_for(reply.code == ReplyCode::ok ? kTimesAsLong * body_size(reply) : body_size(reply));
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
      now_(now),
      limits_(info.limits) {
  engine_.limit_tries(limits_.tries_max);
  if (limits_.job_memory_bytes_max > 0) engine_.limit_job_memory(limits_.job_memory_bytes_max);
}

Service::~Service() {
  while (!sessions_.empty()) close(sessions_.front(), Instant{});
}

// A turn ----------------------------------------------------------------------------------------

void Service::advance(Instant now) {
  ++turn_;
  now_ = now;
  busy_last_turn_ = std::exchange(busy_, 0);
  engine_.advance(now);
  engine_.take_steps();  // Those of the time, which no session pays for.
  // Who was put off comes first, from the backlog.
  costly_work_ = costly_put_off_ ? 0 : Session::kCostlyWorkPerTurn;
  hand_out_deliveries();
  if (limits_.idle_timeout_s > 0) look_for_idle(now);
  if (now_ >= age_blobs_again_) {
    BlobRef::age();
    age_blobs_again_ = now_ + kBlobAge;
  }
  BlobRef::reclaim_retired();
}

void Service::receive(Session& session, std::string_view bytes, Instant now) {
  if (limits_.idle_timeout_s > 0) note_activity(session);
  if (session.quit_) return;
  if (!session.input_.empty() || !may_run(session)) {
    keep_input(session, bytes);
    session.starved_ = false;
    if (may_run(session) && !session.is_deferred_) run(session, now);
    return;
  }
  // The usual case: nothing is left from before, and the commands run straight from the bytes.
  const std::size_t used = run_some(session, bytes, now);
  if (session.quit_) return;
  keep_input(session, bytes.substr(used));
}

void Service::receive_directly(Session& session, std::size_t bytes) {
  if (limits_.idle_timeout_s > 0) note_activity(session);
  session.reader_.took_directly(bytes);
}

void Service::peer_half_closed(Session& session) {
  session.half_closed_ = true;
  engine_.stop_waiting(session.client_);
  engine_.take_steps();
  hand_out_deliveries();
}

void Service::end_of_input(Session& session, Instant now) {
  if (session.input_ended_) return;
  session.input_ended_ = true;
  peer_half_closed(session);
  if (may_run(session) && !session.is_deferred_) run(session, now);
  mark_to_send(session);
}

// Each session once: one that has more is put behind the others, for the next turn. A session that
// used its input up may want more again without having answered anything, when it stands in a body,
// so its connection has to look at it in any case.
void Service::run_backlog(Instant now) {
  if (journal_is_waited_for_ || engine_.tasks_wait()) [[unlikely]]
    try_again(now);
  IntrusiveList<Session, &Session::runnable_> this_turn;
  this_turn.append(runnable_);
  if (std::exchange(costly_put_off_, false)) costly_work_ = Session::kCostlyWorkPerTurn;
  while (!this_turn.empty()) {
    Session& session = this_turn.front();
    this_turn.remove(session);
    if (!may_run(session)) continue;
    // Somebody in front of it has been put off already, so it would be, too. Its line is not even
    // read: many that wait for their turn would make each turn longer.
    if (session.is_put_off_ && costly_put_off_) {
      mark_runnable(session);
      continue;
    }
    session.is_put_off_ = false;
    run(session, now);
    mark_to_send(session);
  }
}

Session* Service::next_to_send() {
  if (to_send_.empty()) return nullptr;
  Session& session = to_send_.front();
  to_send_.remove(session);
  return &session;
}

void Service::sent(Session& session, std::size_t bytes) {
  if (limits_.idle_timeout_s > 0 && bytes > 0) note_activity(session);
  session.output_.consume(bytes);
  session.output_.release_if_empty(spare_);
  if (!session.starved_ && may_run(session)) wake(session);
  // Its end was waiting for the last of its output.
  if (session.is_finished() && !session.has_output()) mark_to_send(session);
}

void Service::end_turn(Instant now) {
  journal_.end_turn(now);
  if (!held_back_.empty()) settle_held_back();
}

Instant Service::next_event() const {
  if (!runnable_.empty() || BlobRef::retired_bytes() > 0) return Instant{};
  const Instant next = std::min({engine_.next_event(), journal_.next_event(), next_idle_look()});
  return BlobRef::kept_bytes() > 0 ? std::min(next, age_blobs_again_) : next;
}

// Running commands ------------------------------------------------------------------------------

// Runs what the session has kept.
void Service::run(Session& session, Instant now) {
  const std::size_t used = run_some(session, session.input_.view(), now);
  session.input_.consume(used);
  session.input_.release_if_empty();
}

Service::Work Service::share_of_turn() const {
  // Those of this turn count as well: a hundred may come at once, out of nothing.
  const Work share =
      Session::kWorkOfAllPerTurn / std::max(std::max(busy_last_turn_, busy_), Work{1});
  return std::clamp(share, Session::kWorkPerTurnMin, Session::kWorkPerTurn);
}

// Takes what the engine did for a command, beyond what every command takes, off a share.
void Service::charge_steps(Work& work) {
  const std::uint64_t steps = engine_.take_steps();
  if (steps >= Session::kStepsPerWork) [[unlikely]]
    work -= static_cast<Work>(std::min<std::uint64_t>(work, steps / Session::kStepsPerWork));
}

// Runs complete commands until there is none, something stops the session, or its share of the turn
// is used up. Returns how many bytes of the input it used.
std::size_t Service::run_some(Session& session, std::string_view input, Instant now) {
  const Work share = share_of_turn();
  Work work = share;
  std::size_t used = 0;
  session.starved_ = false;
  if (session.is_answered_in_pieces()) [[unlikely]]
    go_on_with_list(session, work);
  while (may_run(session)) {
    if (work == 0) {
      mark_runnable(session);
      break;
    }
    // Most often the last command has used all that there is, and the reader need not look.
    if (used == input.size()) {
      session.starved_ = true;
      break;
    }
    const RequestPiece piece = session.reader_.next(input.substr(used));
    if (piece.kind == RequestPiece::Kind::nothing) {
      session.starved_ = true;
      break;
    }
    if (run_piece(session, piece, now, work)) {
      used += piece.bytes;
    } else if (session.is_deferred_) {
      break;
    }
  }
  dispatcher_.let_line_go();
  if (share - work >= Session::kWorkPerTurnMin) ++busy_;
  if (session.is_finished()) mark_to_send(session);
  return used;
}

// Whether the piece was dealt with. If not, it stays for a later turn.
bool Service::run_piece(Session& session, const RequestPiece& piece, Instant now, Work& work) {
  switch (piece.kind) {
    case RequestPiece::Kind::line:
      return run_line(session, piece.text, now, work);
    case RequestPiece::Kind::body:
      return finish_put(session, piece.text, now, work);
    case RequestPiece::Kind::part_of_body:
      work -= std::min(work, work_for(piece.bytes) - 1);
      break;
    case RequestPiece::Kind::end_of_long_line:
      answer(session, {ReplyCode::bad_format});
      break;
    case RequestPiece::Kind::body_without_end:
      dispatcher_.forget_put(session.reader_.put());
      answer(session, {ReplyCode::expected_crlf});
      break;
    case RequestPiece::Kind::end_of_refused:
      answer(session, {session.reader_.put().refusal});
      break;
    case RequestPiece::Kind::thrown_away:
    case RequestPiece::Kind::nothing:
      break;
  }
  return true;
}

bool Service::run_line(Session& session, std::string_view line, Instant now, Work& work) {
  Command command;
  const ParseResult parsed = parse_command(line, command, session.commands_);
  // Where there are few tubes, none of beanstalkd's commands takes long.
  const bool are_many_tubes = engine_.tubes().size() >= WatchIndex::kIndexedFrom;
  if (are_many_tubes || is_extended(command.verb)) [[unlikely]] {
    // The price of a put is asked for when its body is there.
    const bool has_price = parsed == ParseResult::ok && command.verb != Verb::put;
    if (has_price && put_off_or_pay(session, command, work)) return false;
  }
  --work;
  if (trace_.function != nullptr) trace_.function(trace_.context, session, line);
  if (parsed != ParseResult::ok && refuse_line(session, parsed, command)) return true;
  if (command.verb == Verb::quit) {
    session.quit_ = true;
    return true;
  }
  if (command.verb == Verb::put) {
    session.reader_.expect_body(dispatcher_.begin_put(session.client_, command));
    return true;
  }
  if (are_many_tubes && is_long_list(session, command)) [[unlikely]] {
    begin_list(session, command, work);
    return true;
  }
  const std::uint64_t records = journal_.records();
  begin_answers(session);
  try {
    const Reply reply = dispatcher_.run(session.client_, command, session.commands_, now);
    if (reply.code == ReplyCode::not_yet) [[unlikely]] {
      dispatcher_.count_less(command.verb);
      defer(session);
      return false;  // The command stays where it is.
    }
    work -= std::min(work, work_for(reply) - 1);
    answer(session, reply);
  } catch (const std::bad_alloc&) {
    answer(session, {ReplyCode::out_of_memory});
  }
  hold_back_if_recorded(session, records);
  // A peer that has closed its side cannot be waited for.
  if (session.half_closed_) engine_.stop_waiting(session.client_);
  charge_steps(work);
  hand_out_deliveries();
  return true;
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
bool Service::finish_put(Session& session, std::string_view bytes, Instant now, Work& work) {
  // It may end the wait of a worker that watches very many tubes.
  if (engine_.tubes().size() >= WatchIndex::kIndexedFrom) [[unlikely]] {
    Command put;
    put.verb = Verb::put;
    if (put_off_or_pay(session, put, work)) {
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
  charge_steps(work);
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
  if (!is_added) session.quit_ = true;
}

void Service::answer(Session& session, const Reply& reply) {
  if (reply.code == ReplyCode::none) return;
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

// Keeps back the answers of a session whose last command made records up to that one.
void Service::hold_back_if_not_safe(Session& session, std::uint64_t records) {
  const JournalProgress progress = journal_.progress();
  if (records <= progress.safe) return;
  CHECK(records <= progress.records);
  session.held_back_until_ = records;
  if (session.is_held_back_) return;
  held_back_.push_back(session);
  session.is_held_back_ = true;
  session.held_back_turn_ = turn_;
}

void Service::hand_out_each_delivery() {
  for (const Delivery& delivery : engine_.deliveries()) {
    CHECK(delivery.client->owner() != nullptr);
    Session& session = *static_cast<Session*>(delivery.client->owner());
    CHECK(!session.is_answered_in_pieces());
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
  session.quit_ = true;  // No memory: what comes next would not be what was sent.
  mark_to_send(session);
}

// A session that was stopped may go on, if there is anything to go on with. One that is starved was
// not stopped: it goes on when more arrives.
void Service::wake(Session& session) {
  if (session.starved_) return;
  if (!session.input_.empty() || session.input_ended_ || session.is_answered_in_pieces()) {
    mark_runnable(session);
  }
}

void Service::mark_runnable(Session& session) {
  if (!session.runnable_.linked()) runnable_.push_back(session);
}

void Service::mark_to_send(Session& session) {
  if (!session.to_send_.linked()) to_send_.push_back(session);
}

// What is kept already comes before what arrives next, so there is no direct way past it.
std::span<char> Session::direct_space() {
  return input_.empty() ? reader_.direct_space() : std::span<char>();
}

}  // namespace haricot
