#include "haricot/service/service_transfer.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/job_tags.hpp"

namespace haricot {
namespace {

// Numbers of the format, as those of queue/saved_state.hpp: they stay as they are.
enum Entry : std::uint32_t { kService = 100, kSession = 101, kEnd = 102 };

}  // namespace

bool ServiceTransfer::is_at_rest() const {
  return service_.engine_.is_at_rest() && !service_.outbox_.is_holding_back();
}

// Writing ----------------------------------------------------------------------------------------

void ServiceTransfer::write(StateWriter& to, Bodies bodies) const {
  CHECK(is_at_rest());
  std::vector<const Client*> clients;
  for (Session* session = service_.first_session(); session != nullptr;
       session = service_.session_after(*session)) {
    clients.push_back(&session->client());
  }
  to.begin(kService);
  to.value(bodies);
  to.value(static_cast<std::uint32_t>(clients.size()));
  service_.engine_.transfer().write(to, bodies);
  // The next server does not have the pages that an answer has begun with.
  for (Session* session = service_.first_session(); session != nullptr;
       session = service_.session_after(*session)) {
    service_.lists_.add_all_pages(*session);
  }
  for (Session* session = service_.first_session(); session != nullptr;
       session = service_.session_after(*session)) {
    write_session(to, *session);
  }
  service_.engine_.transfer().write_waits(to, clients);
  to.begin(kEnd);
  to.value(service_.dispatcher_);
}

void ServiceTransfer::write_session(StateWriter& to, const Session& session) const {
  to.begin(kSession);
  // A restart ends the shortage of memory.
  const bool lacks_memory = session.stopped() == Session::Stopped::lacks_memory;
  to.value(lacks_memory ? Session::Stopped::deferred : session.stopped());
  to.value(session.requests.peer);
  service_.idle_.write(to, session);
  Session::FactFields::write(to, session);
  LongLists::write(to, session);
  to.value(session.requests.input.view());
  session.output().write(to);
  session.requests.reader.write(to);
  const bool is_in_body = session.requests.reader.is_in_body();
  to.value(is_in_body ? service_.dispatcher_.tags_of(session.requests.reader.put())
                      : std::string_view{});
  service_.engine_.transfer().write_client(to, session.client());
}
static_assert(sizeof(Session) == 384, "a new field is written above, or need not go on");

// Reading ----------------------------------------------------------------------------------------

ServiceTransfer::Read ServiceTransfer::read_queue(StateReader& from) {
  if (!from.begin(kService)) return Read::broken;
  Bodies bodies = Bodies::in_state;
  from.value(bodies);
  from.value(sessions_);
  queue_ = service_.engine_.transfer().read(from, bodies);
  return queue_;
}

bool ServiceTransfer::read_session(StateReader& from, void* owner, bool is_local, Instant now,
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

// A session is there by now, which has to go before its owner does.
bool ServiceTransfer::try_to_read(StateReader& from, Session& session) {
  try {
    return read_fields(from, session);
  } catch (const std::bad_alloc&) {
    return forget(session);
  }
}

bool ServiceTransfer::read_fields(StateReader& from, Session& session) {
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
  if (session.requests.reader.is_in_body() && !check_id(plan)) from.refuse();
  if (!from.is_good() || !has_bytes || plan.has_tags == tags.empty()) return forget(session);
  if (!is_tag_text(tags)) return forget(session);
  // A list in pieces does not wait for input.
  const bool waits = session.stopped() == Session::Stopped::needs_input;
  if (waits && list.kind != Session::List::none) return forget(session);
  if (!service_.dispatcher_.keep_tags(plan, tags)) return forget(session);
  if (!service_.engine_.transfer().read_client(from, session.client())) return forget(session);
  return service_.lists_.restore(session, list) || forget(session);
}

// A put under way has its id already, which no other job may have. If the jobs are others than
// those that it was given among, it gets one of theirs.
bool ServiceTransfer::check_id(PutPlan& plan) {
  Engine& engine = service_.engine_;
  if (queue_ == Read::other_jobs) plan.id = engine.take_id();
  puts_.push_back(plan.id);
  return plan.id > 0 && plan.id < engine.next_id() && engine.peek(plan.id) == JobRef::none;
}

// What was read of it cannot be: it can be closed.
bool ServiceTransfer::forget(Session& session) {
  session.stop(Session::Stopped::needs_input);
  session.list.reset();
  session.requests.reader.put().has_tags = false;
  return false;
}

bool ServiceTransfer::finish(StateReader& from, Instant now, bool counts) {
  service_.turn_.began = now;
  std::sort(puts_.begin(), puts_.end());
  if (std::adjacent_find(puts_.begin(), puts_.end()) != puts_.end()) return false;
  const bool has_waits = service_.engine_.transfer().read_waits(from, clients_);
  if (!has_waits || !from.begin(kEnd)) return false;
  from.value(service_.dispatcher_);
  if (counts) service_.dispatcher_.count_hand_over();
  for (Session* session = service_.first_session(); session != nullptr;
       session = service_.session_after(*session)) {
    // It has one answer at a time.
    if (session->is_answered_in_pieces() && session->client().is_busy()) return false;
    if (session->is_ended() || session->stopped() == Session::Stopped::needs_input) continue;
    // Whatever stopped it: what does so now is asked for.
    service_.run_queue_.find_obstacle(*session);
  }
  service_.outbox_.answer_deliveries();
  return from.is_at_end();
}

}  // namespace haricot
