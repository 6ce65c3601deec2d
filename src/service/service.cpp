#include "haricot/service/service.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/protocol/limits.hpp"

namespace haricot {
namespace {

// A line is at most 224 bytes with its CR LF; the rest of a longer one is thrown away.
constexpr std::string_view kLineEnd = "\r\n";

// The length of the first line, or npos when its end is not there. std::string_view::find would
// call memcmp for the second byte: 3 % of the instructions of a command.
std::size_t line_length(std::string_view input) {
  const char* const end = input.data() + input.size();
  for (const char* at = input.data(); end - at >= 2; ++at) {
    at = static_cast<const char*>(
        std::memchr(at, kLineEnd[0], static_cast<std::size_t>(end - at - 1)));
    if (at == nullptr) break;
    if (at[1] == kLineEnd[1]) return static_cast<std::size_t>(at - input.data());
  }
  return std::string_view::npos;
}

// Of the engine's steps, as many as take as long as a small command.
constexpr std::uint32_t kStepsPerWork = Engine::kStepsPerJob;

// How much of a session's share of a turn an answer of that many bytes takes.
std::uint32_t work_for(std::size_t bytes) {
  return static_cast<std::uint32_t>(1 + bytes / 512);
}

// A report has to be written, number by number, where a body is only copied.
std::uint32_t work_for(const Reply& reply) {
  constexpr std::size_t kTimesAsLong = 4;
  return work_for(reply.code == ReplyCode::ok ? kTimesAsLong * body_size(reply) : body_size(reply));
}

}  // namespace

Service::Service(const ServerInfo& info, Journal& journal, Instant now, const HashKey& key)
    : journal_(journal),
      engine_(now, journal, key),
      dispatcher_(engine_, journal, info, now),
      now_(now),
      limits_(info.limits) {
  if (limits_.job_memory_bytes_max > 0) engine_.limit_job_memory(limits_.job_memory_bytes_max);
}

Service::~Service() {
  while (!sessions_.empty()) close(sessions_.front(), Instant{});
}

bool Service::admit_connection() {
  const std::uint32_t allowed = limits_.connections_max;
  if (allowed == 0 || engine_.counts().clients < allowed) return true;
  dispatcher_.count_refused_connection();
  return false;
}

Session* Service::open(void* owner) {
  auto* session = new (std::nothrow) Session(owner);
  if (session == nullptr) return nullptr;
  if (!engine_.open(session->client_)) {
    delete session;
    return nullptr;
  }
  session->active_ = now_;
  sessions_.push_back(*session);
  dispatcher_.count_connection();
  return session;
}

void Service::close(Session& session, Instant now) {
  forget_list(session);
  engine_.close(session.client_, now);
  engine_.take_steps();  // No other session is to pay for them.
  if (session.runnable_.linked()) runnable_.remove(session);
  if (session.to_send_.linked()) to_send_.remove(session);
  if (session.held_hook_.linked()) held_.remove(session);
  sessions_.remove(session);
  delete &session;
  hand_out_deliveries();  // Jobs that it held may have come to others.
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
  BlobRef::reclaim_retired();
}

void Service::receive(Session& session, std::string_view bytes, Instant now) {
  if (limits_.idle_timeout_s > 0) note_activity(session);
  if (session.quit_) return;
  if (!session.input_.empty() || !may_run(session)) {
    keep_input(session, bytes);
    session.starved_ = false;
    if (may_run(session)) run(session, now);
    return;
  }
  // The usual case: nothing is left from before, and the commands run straight from the bytes.
  const std::size_t used = run_some(session, bytes, now);
  if (session.quit_) return;
  keep_input(session, bytes.substr(used));
}

void Service::receive_directly(Session& session, std::size_t bytes) {
  CHECK(bytes <= session.body_bytes_left_);
  if (limits_.idle_timeout_s > 0) note_activity(session);
  session.body_bytes_left_ -= bytes;
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
  if (may_run(session)) run(session, now);
  mark_to_send(session);
}

// Each session once: one that has more is put behind the others, for the next turn. A session that
// used its input up may want more again without having answered anything, when it stands in a body,
// so its connection has to look at it in any case.
void Service::run_backlog(Instant now) {
  IntrusiveList<Session, &Session::runnable_> this_turn;
  this_turn.append(runnable_);
  if (std::exchange(costly_put_off_, false)) costly_work_ = Session::kCostlyWorkPerTurn;
  while (!this_turn.empty()) {
    Session& session = this_turn.front();
    this_turn.remove(session);
    if (!may_run(session)) continue;
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
  session.output_.release_if_empty();
  if (may_run(session)) wake(session);
  // Its end was waiting for the last of its output.
  if (session.is_finished() && !session.has_output()) mark_to_send(session);
}

void Service::end_turn(Instant now) {
  journal_.end_turn(now);
  if (!held_.empty()) settle_held();
}

void Service::settle_held() {
  const std::uint64_t safe = journal_.held_records();
  const std::uint64_t doubtful = journal_.doubtful_records();
  Session* next = nullptr;
  for (Session* session = held_.first(); session != nullptr; session = next) {
    next = held_.after(*session);
    if (session->held_until_ > std::max(safe, doubtful)) continue;
    if (session->held_until_ > safe) answer_as_failed(*session);
    session->held_ = false;
    held_.remove(*session);
    mark_to_send(*session);
    if (may_run(*session)) wake(*session);
  }
}

Instant Service::next_event() const {
  if (!runnable_.empty() || BlobRef::retired_bytes() > 0) return Instant{};
  return std::min({engine_.next_event(), journal_.next_event(), next_idle_look()});
}

// Running commands ------------------------------------------------------------------------------

// A session whose answers are held back goes on to the end of the turn, so that one sync is enough
// for all that a client sent at once; and no further, because each new record would put the moment
// off at which they may leave.
bool Service::may_run(const Session& session) const {
  return !session.quit_ && !session.client_.is_busy() &&
         (!session.held_ || session.held_turn_ == turn_) && !session.output_is_full();
}

// Runs what the session has kept.
void Service::run(Session& session, Instant now) {
  const std::size_t used = run_some(session, session.input_.view(), now);
  session.input_.consume(used);
  session.input_.release_if_empty();
}

Service::Work Service::share_of_turn() const {
  const Work share = Session::kWorkOfAllPerTurn / std::max(busy_last_turn_, Work{1});
  return std::clamp(share, Session::kWorkPerTurnMin, Session::kWorkPerTurn);
}

// What a command will take, as far as that is known beforehand.
Service::Work Service::price_of(const Session& session, const Command& command) const {
  switch (command.verb) {
    case Verb::reserve:
    case Verb::reserve_with_timeout:
      // Looking through the tubes, and waiting on each.
      return 2 * engine_.reserve_steps(session.client_) / kStepsPerWork;
    case Verb::list_tubes:
      // Every page is looked at when the list begins, and again when it is sent.
      return engine_.tubes().size() / TubeList::kTubesPerPage / 2;
    default:
      return 1;
  }
}

// Whether a command has to wait for a later turn. The first costly one of a turn always runs.
bool Service::is_put_off(const Session& session, const Command& command) const {
  // An answer that is held back may be taken back, and a list in pieces could not be.
  if (session.held_ && is_long_list(session, command)) return true;
  const Work price = price_of(session, command);
  return price > Session::kCostlyWork && price > costly_work_ &&
         costly_work_ < Session::kCostlyWorkPerTurn;
}

void Service::pay_if_costly(const Session& session, const Command& command) {
  const Work price = price_of(session, command);
  if (price > Session::kCostlyWork) costly_work_ -= std::min(price, costly_work_);
}

// Takes what the engine did for a command, beyond what every command takes, off a share.
void Service::charge_steps(Work& work) {
  const std::uint64_t steps = engine_.take_steps();
  if (steps >= kStepsPerWork) [[unlikely]]
    work -= static_cast<Work>(std::min<std::uint64_t>(work, steps / kStepsPerWork));
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
    const std::string_view rest = input.substr(used);
    const Session::Expecting before = session.expecting_;
    std::size_t taken = 0;
    switch (before) {
      case Session::Expecting::line:
        taken = take_line(session, rest, now, work);
        break;
      case Session::Expecting::rest_of_line:
        taken = take_rest_of_line(session, rest);
        break;
      case Session::Expecting::body:
        taken = take_body(session, rest, now, work);
        break;
      case Session::Expecting::list_of_watched:  // These two have stopped the session.
      case Session::Expecting::list_of_tubes:
      case Session::Expecting::rest_of_body:
        taken = take_rest_of_body(session, rest);
        break;
    }
    used += taken;
    if (taken == 0 && session.expecting_ == before && work > 0) {
      session.starved_ = true;
      break;
    }
  }
  if (share - work >= Session::kWorkPerTurnMin) ++busy_;
  if (session.is_finished()) mark_to_send(session);
  return used;
}

std::size_t Service::take_line(Session& session, std::string_view input, Instant now, Work& work) {
  const std::size_t length = line_length(input.substr(0, kLineBytesMax));
  if (length == std::string_view::npos) {
    if (input.size() < kLineBytesMax) return 0;
    session.expecting_ = Session::Expecting::rest_of_line;
    return 0;
  }
  const std::string_view line = input.substr(0, length);
  const std::size_t taken = length + kLineEnd.size();
  --work;
  if (trace_.function != nullptr) trace_.function(trace_.context, session, line);

  Command command;
  const ParseResult parsed = parse_command(line, command);
  if (parsed != ParseResult::ok && refuse_line(session, parsed, command)) return taken;
  if (command.verb == Verb::quit) {
    session.quit_ = true;
    return taken;
  }
  if (command.verb == Verb::put) {
    begin_put(session, command);
    return taken;
  }
  // Where there are few tubes, no command takes long.
  if (engine_.tubes().size() >= WatchIndex::kIndexedFrom) [[unlikely]] {
    if (is_put_off(session, command)) {
      costly_put_off_ = true;
      work = 0;  // The command stays where it is.
      return 0;
    }
    pay_if_costly(session, command);
    if (is_long_list(session, command)) {
      begin_list(session, command, work);
      return taken;
    }
  }
  const std::uint64_t records = journal_.records();
  begin_answers(session);
  try {
    const Reply reply = dispatcher_.run(session.client_, command, now);
    work -= std::min(work, work_for(reply) - 1);
    answer(session, reply);
  } catch (const std::bad_alloc&) {
    answer(session, {ReplyCode::out_of_memory});
  }
  hold_if_recorded(session, records);
  // A peer that has closed its side cannot be waited for.
  if (session.half_closed_) engine_.stop_waiting(session.client_);
  charge_steps(work);
  hand_out_deliveries();
  return taken;
}

// Answers a line that did not parse. Returns false for the one that has to go on like a good one: a
// put that is too big, whose body is thrown away.
//
// Compat: beanstalkd looks at the size of a put before it looks at what stands behind the size, and
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

// Up to the next line end. A CR at the end may be the first half of one and stays.
std::size_t Service::take_rest_of_line(Session& session, std::string_view input) {
  const std::size_t end = input.find(kLineEnd);
  if (end == std::string_view::npos) {
    return input.ends_with('\r') ? input.size() - 1 : input.size();
  }
  session.expecting_ = Session::Expecting::line;
  answer(session, {ReplyCode::bad_format});
  return end + kLineEnd.size();
}

// Put -------------------------------------------------------------------------------------------

void Service::begin_put(Session& session, const Command& command) {
  session.put_ = dispatcher_.begin_put(session.client_, command);
  PutPlan& put = session.put_;
  if (put.refusal == ReplyCode::none && !cushion_.hold()) put.refusal = ReplyCode::out_of_memory;
  if (put.refusal == ReplyCode::none && put.body_bytes > JobStore::kInlineBodyBytesMax) {
    // One that is above the limit of memory for jobs now is not collected in the first place.
    if (engine_.admit_put(put.body_bytes)) session.body_ = BlobRef::allocate(put.body_bytes);
    session.body_bytes_left_ = put.body_bytes;
    if (!session.body_) put.refusal = dispatcher_.refusal_for_memory();
  }
  if (put.refusal == ReplyCode::none) {
    session.expecting_ = Session::Expecting::body;
    return;
  }
  session.expecting_ = Session::Expecting::rest_of_body;
  session.body_bytes_left_ = std::uint64_t{put.body_bytes} + kTrailerBytes;
}

// A small body is used where it stands as soon as it is there with its CR LF. A large one goes
// piece by piece to where it will stay.
std::size_t Service::take_body(Session& session, std::string_view input, Instant now, Work& work) {
  if (!session.body_) {
    const std::size_t bytes = session.put_.body_bytes;
    if (input.size() < bytes + kTrailerBytes) return 0;
    finish_put(session, NewBody{.bytes = input.substr(0, bytes), .blob = {}},
               input.substr(bytes, kTrailerBytes), now, work);
    return bytes + kTrailerBytes;
  }
  if (session.body_bytes_left_ > 0) {
    const std::size_t bytes = std::min<std::uint64_t>(session.body_bytes_left_, input.size());
    if (bytes == 0) return 0;
    std::memcpy(session.body_place(), input.data(), bytes);
    session.body_bytes_left_ -= bytes;
    work -= std::min(work, work_for(bytes) - 1);
    return bytes;
  }
  if (input.size() < kTrailerBytes) return 0;
  finish_put(session, NewBody{.bytes = {}, .blob = std::move(session.body_)},
             input.substr(0, kTrailerBytes), now, work);
  return kTrailerBytes;
}

void Service::finish_put(Session& session, NewBody body, std::string_view trailer, Instant now,
                         Work& work) {
  session.expecting_ = Session::Expecting::line;
  if (trailer != kLineEnd) {
    answer(session, {ReplyCode::expected_crlf});
    return;
  }
  const std::uint64_t records = journal_.records();
  begin_answers(session);
  try {
    answer(session,
           dispatcher_.finish_put(session.client_, session.put_.job, std::move(body), now));
  } catch (const std::bad_alloc&) {
    answer(session, {ReplyCode::out_of_memory});
  }
  hold_if_recorded(session, records);
  charge_steps(work);
  hand_out_deliveries();
}

std::size_t Service::take_rest_of_body(Session& session, std::string_view input) {
  const std::size_t bytes = std::min<std::uint64_t>(session.body_bytes_left_, input.size());
  session.body_bytes_left_ -= bytes;
  if (session.body_bytes_left_ == 0) {
    session.expecting_ = Session::Expecting::line;
    answer(session, {session.put_.refusal});
  }
  return bytes;
}

// Answers ---------------------------------------------------------------------------------------

void Service::answer(Session& session, const Reply& reply) {
  if (reply.code == ReplyCode::none) return;
  ++session.held_answers_;
  if (reply.code == ReplyCode::out_of_memory) cushion_.give_up();
  bool is_added = session.output_.add(reply);
  if (!is_added) {
    cushion_.give_up();
    is_added = session.output_.add(reply);
  }
  // An answer that cannot be given would shift all later ones: the connection has to go.
  if (!is_added) session.quit_ = true;
  mark_to_send(session);
}

// What is answered from here on may come to be held back.
void Service::begin_answers(Session& session) {
  if (session.held_) return;
  session.held_mark_ = session.output_.mark();
  session.held_answers_ = 0;
}

// Keeps back the answers of a session whose last command made a record that is not safe yet.
void Service::hold_if_recorded(Session& session, std::uint64_t records_before) {
  const std::uint64_t records = journal_.records();
  if (records == records_before || records <= journal_.held_records()) return;
  session.held_until_ = records;
  if (session.held_) return;
  held_.push_back(session);
  session.held_ = true;
  session.held_turn_ = turn_;
}

// What was held back reports changes that the journal could not write. They have happened here, and
// may be written later or not; whoever asked for them must not take them for done.
void Service::answer_as_failed(Session& session) {
  session.output_.cut_back(session.held_mark_);
  for (std::uint32_t i = session.held_answers_; i > 0; --i) {
    if (!session.output_.add({ReplyCode::internal_error})) session.quit_ = true;
  }
}

void Service::hand_out_deliveries() {
  for (const Delivery& delivery : engine_.deliveries()) {
    Session& session = *static_cast<Session*>(delivery.client->owner());
    begin_answers(session);
    answer(session, dispatcher_.delivered(delivery));
    // A long kick has written records along the way; which ones is not worth keeping.
    if (delivery.kind == Delivery::Kind::kicked) hold_if_recorded(session, 0);
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

char* Session::body_place() {
  return body_.data() + (put_.body_bytes - body_bytes_left_);
}

// What is kept already comes before what arrives next, so there is no direct way past it.
std::span<char> Session::direct_space() {
  if (expecting_ != Expecting::body || !body_ || body_bytes_left_ == 0) return {};
  if (!input_.empty()) return {};
  return {body_place(), static_cast<std::size_t>(body_bytes_left_)};
}

}  // namespace haricot
