#include "haricot/service/long_lists.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "haricot/base/check.hpp"

namespace haricot {
namespace {

// A list has this head, and for each name two bytes before it and one after it.
constexpr std::string_view kListHead = "---\n";
constexpr std::uint64_t kBytesAroundName = 3;

// Number of names that are added to an output at once, so that it stays below 64 KiB.
constexpr std::uint32_t kNamesPerPiece = 64;

}  // namespace

LongLists::LongLists(Engine& engine, RunQueue& run_queue, Outbox& outbox, const Turn& turn)
    : engine_(engine), run_queue_(run_queue), outbox_(outbox), turn_(turn) {}

bool LongLists::is_long(const Session& session, const Command& command) const {
  const Answer answer = row_of(command.verb).answer;
  if (answer == Answer::tubes_in_pieces) return engine_.tubes().size() > TubeList::kTubesPerPage;
  return answer == Answer::watched_in_pieces && session.client().counted_name_bytes() > 0;
}

void LongLists::begin(Session& session, const Command& command, const Budget& share) {
  CHECK(!session.is_held_back());
  try {
    if (row_of(command.verb).answer == Answer::tubes_in_pieces) {
      begin_tubes(session);
    } else {
      begin_watched(session);
    }
  } catch (const std::bad_alloc&) {
    outbox_.answer(session, {ReplyCode::out_of_memory});
  }
  (void)resume(session, share);
}

void LongLists::begin_watched(Session& session) {
  const Client& client = session.client();
  session.list = std::make_unique<Session::LongList>();
  session.list->number = client.watched_tubes();
  session.list->kind = Session::List::watched_tubes;
  begin_text(session, client.counted_name_bytes() + kBytesAroundName * client.watched_tubes());
}

void LongLists::begin_tubes(Session& session) {
  auto list = std::make_unique<Session::LongList>();
  list->number = engine_.tube_list().ask();
  engine_.steps() += engine_.tubes().size() / TubeList::kTubesPerPage * turn_limits::kStepsPerPage;
  engine_.write_list();
  list->kind = Session::List::all_tubes;
  session.list = std::move(list);
  ++waiting_;
}

void LongLists::begin_text(Session& session, std::uint64_t bytes) {
  outbox_.answer(session, {.code = ReplyCode::ok_in_pieces, .number = kListHead.size() + bytes});
  if (!session.output().add_text(kListHead)) outbox_.end(session, Session::Stopped::quit);
}

void LongLists::end_text(Session& session) {
  session.list.reset();
  if (!session.output().add_text("\r\n")) outbox_.end(session, Session::Stopped::quit);
  outbox_.push(session);
}

bool LongLists::resume(Session& session, const Budget& share) {
  bool has_to_wait = false;
  while (session.is_answered_in_pieces() && !has_to_wait) {
    session.stop(session.obstacle(turn_.number));
    if (session.stopped() != Session::Stopped::not_stopped) break;
    has_to_wait = share.is_used_up();
    if (has_to_wait) break;
    if (session.list->kind == Session::List::watched_tubes) {
      add_watched(session);
    } else {
      has_to_wait = !add_page(session);
    }
  }
  if (has_to_wait) run_queue_.push(session, Session::Stopped::has_had_share);
  return !session.is_answered_in_pieces();
}

void LongLists::add_watched(Session& session) {
  const Client& client = session.client();
  const auto left = static_cast<std::uint32_t>(session.list->number);
  CHECK(left > 0 && left <= client.watched_tubes());
  const std::uint32_t first = client.watched_tubes() - left;
  const std::uint32_t names = std::min(left, kNamesPerPiece);
  for (std::uint32_t i = first; i < first + names; ++i) {
    Output& output = session.output();
    const bool is_added =
        output.add_text("- ") && output.add_text(client.watched(i).name) && output.add_text("\n");
    if (!is_added) {
      outbox_.end(session, Session::Stopped::quit);  // A part of an answer cannot be revoked.
      return;
    }
  }
  session.list->number -= names;
  engine_.steps() += std::uint64_t{names} * turn_limits::kStepsPerName;
  outbox_.push(session);
  if (session.list->number == 0) end_text(session);
}

// Adds the next page, or begins the text when the pages are complete. Returns false if they are
// not.
bool LongLists::add_page(Session& session) {
  if (session.list->waits_for_pages()) return begin_pages(session);
  Session::LongList& list = *session.list;
  engine_.steps() += turn_limits::kStepsPerPage;
  if (list.next_page == list.pages->size()) {
    end_text(session);
  } else if (!session.output().add_blob((*list.pages)[list.next_page++])) {
    outbox_.end(session, Session::Stopped::quit);  // A part of an answer cannot be revoked.
  }
  outbox_.push(session);
  return true;
}

bool LongLists::begin_pages(Session& session) {
  const TubeList& list = engine_.tube_list();
  engine_.steps() += turn_limits::kStepsPerTimer;
  if (!list.is_complete(session.list->number)) return false;
  if (list.has_failed()) {
    session.list.reset();
    outbox_.answer(session, {ReplyCode::out_of_memory});
  } else {
    session.list->pages = list.share_pages();
    begin_text(session, list.bytes());
  }
  end_wait_for_pages();
  return true;
}

void LongLists::end_wait_for_pages() {
  CHECK(waiting_ > 0);
  if (--waiting_ == 0) engine_.tube_list().drop_complete();
}

void LongLists::remove(Session& session) {
  const auto list = std::move(session.list);
  if (list != nullptr && list->waits_for_pages()) end_wait_for_pages();
}

// Hand-over ---------------------------------------------------------------------------------------

void LongLists::add_all_pages(Session& session) {
  const bool has_pages = session.is_answered_in_pieces() && session.list->pages != nullptr;
  while (has_pages && session.is_answered_in_pieces() && !session.is_ended()) add_page(session);
}

void LongLists::write(StateWriter& to, const Session& session) {
  const Session::LongList none;
  const Session::LongList& list = session.list == nullptr ? none : *session.list;
  to.value(list.kind);
  to.value(list.number);
}

Session::LongList LongLists::read(StateReader& from) {
  Session::LongList list;
  from.value(list.kind);
  from.value(list.number);
  return list;
}

bool LongLists::restore(Session& session, const Session::LongList& list) {
  switch (list.kind) {
    case Session::List::none:
      return true;
    case Session::List::watched_tubes:
      if (list.number == 0 || list.number > session.client().watched_tubes()) return false;
      session.list = std::make_unique<Session::LongList>(list);
      return true;
    case Session::List::all_tubes: {
      auto again = std::make_unique<Session::LongList>(list);
      again->number = engine_.tube_list().ask();
      session.list = std::move(again);
      ++waiting_;
      return true;
    }
  }
  CHECK(false);
  return false;
}

}  // namespace haricot
