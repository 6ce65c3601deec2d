// Answers to list-tubes and list-tubes-watched that are too long to be written at once.
//
// What a client watches cannot change while it waits for an answer, so the list of it is written as
// it is read: never more is in the output than of other answers. The list of all tubes is one that
// all who ask at about the same time share (TubeList). Its pages are sent from where they are, and
// an output holds no more of them than of other answers.
//
// Short lists are written at once, by the dispatcher.

#include <algorithm>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/service/service.hpp"

namespace haricot {
namespace {

// A report of names: this, and for each name two bytes before and one after it.
constexpr std::string_view kListHead = "---\n";
constexpr std::uint64_t kBytesAroundName = 3;

// So many names are added to an output at once: it stays below 64 KiB.
constexpr std::uint32_t kNamesPerPiece = 64;

}  // namespace

bool Service::is_long_list(const Session& session, const Command& command) const {
  const Answer answer = row_of(command.verb).answer;
  if (answer == Answer::tubes_in_pieces) return engine_.tubes().size() > TubeList::kTubesPerPage;
  return answer == Answer::watched_in_pieces && session.client().counted_name_bytes() > 0;
}

// Requires: no answer of the session is held back, because that one may be taken back.
void Service::begin_list(Session& session, const Command& command, const Budget& share) {
  CHECK(!session.is_held_back());
  dispatcher_.count(command.verb);
  try {
    auto list = std::make_unique<Session::LongList>();
    if (row_of(command.verb).answer == Answer::tubes_in_pieces) {
      begin_list_of_tubes(*list);
      session.list = std::move(list);
    } else {
      session.list = std::move(list);
      begin_list_of_watched(session);
    }
  } catch (const std::bad_alloc&) {
    answer(session, {ReplyCode::out_of_memory});
  }
  go_on_with_list(session, share);
}

void Service::begin_list_of_watched(Session& session) {
  const Client& client = session.client();
  session.list->number = client.watched_tubes();
  session.list->kind = Session::List::watched_tubes;
  begin_text(session, client.counted_name_bytes() + kBytesAroundName * client.watched_tubes());
}

void Service::begin_list_of_tubes(Session::LongList& list) {
  list.number = engine_.tube_list().ask();
  engine_.steps() += engine_.tubes().size() / TubeList::kTubesPerPage * turn_limits::kStepsPerPage;
  engine_.write_list();
  list.kind = Session::List::all_tubes;
  ++waiting_for_tubes_;
}

void Service::begin_text(Session& session, std::uint64_t bytes) {
  answer(session, {.code = ReplyCode::ok_in_pieces, .number = kListHead.size() + bytes});
  if (!session.output().add_text(kListHead)) end(session, Stopped::quit);
}

void Service::end_text(Session& session) {
  session.list.reset();
  if (!session.output().add_text("\r\n")) end(session, Stopped::quit);
  mark_to_send(session);
}

// Goes on with the session's list until the output is full, or its share is used up. False: it is
// not complete, and the session goes on with it in a later turn.
bool Service::go_on_with_list(Session& session, const Budget& share) {
  bool has_to_wait = false;
  while (session.is_answered_in_pieces() && !has_to_wait) {
    session.stop(session.obstacle(turn_.number));
    if (session.stopped() != Stopped::not_stopped) break;
    has_to_wait = share.is_used_up();
    if (has_to_wait) break;
    if (session.list->kind == Session::List::watched_tubes) {
      add_watched(session);
    } else {
      has_to_wait = !add_tubes(session);
    }
  }
  if (has_to_wait) run_queue_.push(session, Stopped::has_had_share);
  return !session.is_answered_in_pieces();
}

void Service::add_watched(Session& session) {
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
      end(session, Stopped::quit);  // Half an answer cannot be taken back.
      return;
    }
  }
  session.list->number -= names;
  engine_.steps() += std::uint64_t{names} * turn_limits::kStepsPerName;
  mark_to_send(session);
  if (session.list->number == 0) end_text(session);
}

// Adds a page, or begins. False: the list is not complete.
bool Service::add_tubes(Session& session) {
  if (session.list->waits_for_pages()) return begin_pages(session);
  Session::LongList& list = *session.list;
  engine_.steps() += turn_limits::kStepsPerPage;
  if (list.next_page == list.pages->size()) {
    end_text(session);
  } else if (!session.output().add_blob((*list.pages)[list.next_page++])) {
    end(session, Stopped::quit);  // Half an answer cannot be taken back.
  }
  mark_to_send(session);
  return true;
}

bool Service::begin_pages(Session& session) {
  const TubeList& list = engine_.tube_list();
  engine_.steps() += turn_limits::kStepsPerTimer;
  if (!list.is_complete(session.list->number)) return false;
  if (list.has_failed()) {
    session.list.reset();
    answer(session, {ReplyCode::out_of_memory});
  } else {
    session.list->pages = list.share_pages();
    begin_text(session, list.bytes());
  }
  stop_waiting_for_tubes();
  return true;
}

// Adds all pages that are left, whatever the output holds.
void Service::add_all_pages(Session& session) {
  const bool has_pages = session.is_answered_in_pieces() && session.list->pages != nullptr;
  while (has_pages && session.is_answered_in_pieces() && !session.is_ended()) add_tubes(session);
}

// The session goes, and will not take the list that it waits for.
void Service::forget_list(Session& session) {
  const auto list = std::move(session.list);
  if (list != nullptr && list->waits_for_pages()) stop_waiting_for_tubes();
}

void Service::stop_waiting_for_tubes() {
  CHECK(waiting_for_tubes_ > 0);
  if (--waiting_for_tubes_ == 0) engine_.tube_list().drop_complete();
}

}  // namespace haricot
