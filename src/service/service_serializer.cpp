#include "haricot/service/service_serializer.hpp"

#include <algorithm>
#include <new>
#include <string_view>

#include "haricot/base/check.hpp"
#include "haricot/base/job_tags.hpp"

namespace haricot {
namespace {

// Numbers of the state format, like those of queue/engine_serializer.hpp. They must not change.
enum Entry : std::uint32_t { kService = 100, kSession = 101, kEnd = 102 };

}  // namespace

bool ServiceSerializer::is_at_rest() const {
  return parts_.engine.is_at_rest() && !parts_.outbox.is_holding_back();
}

// Writing ----------------------------------------------------------------------------------------

void ServiceSerializer::write(StateWriter& to, Bodies bodies) const {
  CHECK(is_at_rest());
  std::vector<const Client*> clients;
  for (Session* session = service_.first_session(); session != nullptr;
       session = service_.session_after(*session)) {
    clients.push_back(&session->client());
  }
  to.begin(kService);
  to.value(bodies);
  to.value(static_cast<std::uint32_t>(clients.size()));
  parts_.engine.serializer().write(to, bodies);
  for (Session* session = service_.first_session(); session != nullptr;
       session = service_.session_after(*session)) {
    parts_.lists.add_all_pages(*session);
  }
  for (Session* session = service_.first_session(); session != nullptr;
       session = service_.session_after(*session)) {
    write_session(to, *session);
  }
  parts_.engine.serializer().write_waits(to, clients);
  to.begin(kEnd);
  to.value(parts_.dispatcher);
}

void ServiceSerializer::write_session(StateWriter& to, const Session& session) const {
  to.begin(kSession);
  to.value(session.stopped());
  to.value(session.requests.peer);
  parts_.idle.write(to, session);
  Session::FactFields::write(to, session);
  LongLists::write(to, session);
  to.value(session.requests.input.view());
  session.output().write(to);
  session.requests.reader.write(to);
  const bool is_in_body = session.requests.reader.is_in_body();
  to.value(is_in_body ? parts_.dispatcher.tags_of(session.requests.reader.put())
                      : std::string_view{});
  parts_.engine.serializer().write_client(to, session.client());
}
static_assert(sizeof(Session) == 384,
              "a new field is written above, or is not needed by the successor");

// Reading ----------------------------------------------------------------------------------------

ServiceSerializer::Read ServiceSerializer::read_queue(StateReader& from) {
  if (!from.begin(kService)) return Read::broken;
  Bodies bodies = Bodies::in_state;
  from.value(bodies);
  from.value(sessions_);
  queue_ = parts_.engine.serializer().read(from, bodies);
  return queue_;
}

bool ServiceSerializer::read_session(StateReader& from, void* owner, bool is_local, Instant now,
                                     Session*& session) {
  clients_.push_back(nullptr);
  session = service_.open(owner, is_local);
  if (session == nullptr) return false;
  const bool is_good = try_to_read(from, *session);
  if (is_good && owner != nullptr) {
    clients_.back() = &session->client();
    return true;
  }
  service_.close(*session, now);
  session = nullptr;
  return is_good;
}

// Reads the fields of a session. Catches std::bad_alloc, because the caller has to close the
// session.
bool ServiceSerializer::try_to_read(StateReader& from, Session& session) {
  try {
    return read_fields(from, session);
  } catch (const std::bad_alloc&) {
    return refuse(session);
  }
}

bool ServiceSerializer::read_fields(StateReader& from, Session& session) {
  if (!from.begin(kSession)) return false;
  std::string_view input;
  std::string_view tags;
  auto stopped = Session::Stopped::needs_input;
  from.value(stopped);
  session.stop(stopped);
  from.value(session.requests.peer);
  IdleWatch::read(from, session);
  Session::FactFields::read(from, session);
  const Session::LongList list = LongLists::read(from);
  from.value(input);
  const bool has_bytes = session.output().read(from) &&
                         (input.empty() || session.requests.input.append(input)) &&
                         session.requests.reader.read(from);
  from.value(tags);
  PutPlan& plan = session.requests.reader.put();
  const bool is_in_put = session.requests.reader.is_in_body() && plan.kind != PutPlan::Kind::note;
  if (is_in_put && !check_id(plan)) from.refuse();
  const bool has_tags = plan.kind == PutPlan::Kind::tagged_put;
  if (!from.is_good() || !has_bytes || has_tags == tags.empty()) return refuse(session);
  if (!is_tag_text(tags)) return refuse(session);
  // A session with an incomplete list does not wait for input.
  const bool waits = session.stopped() == Session::Stopped::needs_input;
  if (waits && list.kind != Session::List::none) return refuse(session);
  if (!parts_.dispatcher.keep_tags(plan, tags)) return refuse(session);
  if (!parts_.engine.serializer().read_client(from, session.client())) return refuse(session);
  return parts_.lists.restore(session, list) || refuse(session);
}

// Checks the id of an incomplete put, which no job may have. If the jobs are not those of the last
// server, assigns a new id.
bool ServiceSerializer::check_id(PutPlan& plan) {
  Engine& engine = parts_.engine;
  if (queue_ == Read::other_jobs) plan.id = engine.take_id();
  puts_.push_back(plan.id);
  return plan.id > 0 && plan.id < engine.next_id() && engine.peek(plan.id) == JobRef::none;
}

// Prepares a session with impossible values to be closed. Returns false.
bool ServiceSerializer::refuse(Session& session) {
  session.stop(Session::Stopped::needs_input);
  session.requests.reader.put().kind = PutPlan::Kind::put;
  return false;
}

bool ServiceSerializer::finish(StateReader& from, Instant now, bool counts) {
  parts_.turn.began = now;
  std::sort(puts_.begin(), puts_.end());
  if (std::adjacent_find(puts_.begin(), puts_.end()) != puts_.end()) return false;
  const bool has_waits = parts_.engine.serializer().read_waits(from, clients_);
  if (!has_waits || !from.begin(kEnd)) return false;
  from.value(parts_.dispatcher);
  if (counts) parts_.dispatcher.count_hand_over();
  for (Session* session = service_.first_session(); session != nullptr;
       session = service_.session_after(*session)) {
    // A session has one answer at a time.
    if (session->is_answered_in_pieces() && session->client().is_busy()) return false;
    if (session->is_ended() || session->stopped() == Session::Stopped::needs_input) continue;
    // The reason why it was stopped may have ended, so it is determined again.
    parts_.run_queue.find_obstacle(*session);
  }
  parts_.outbox.answer_deliveries();
  return from.is_at_end();
}

}  // namespace haricot
