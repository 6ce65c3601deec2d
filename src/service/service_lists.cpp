// Answers to list-tubes and list-tubes-watched that are too long to be written at once.
//
// What a client watches cannot change while it waits for an answer, so the list of it is written as
// it is read: never more is in the output than of other answers. The list of all tubes is one that
// all who ask at about the same time share (TubeList), and is sent from where it is.
//
// Short lists are written at once, by the dispatcher.

#include <algorithm>
#include <new>
#include <string_view>

#include "haricot/base/check.hpp"
#include "haricot/service/service.hpp"

namespace haricot {
namespace {

// A report of names: this, and for each name two bytes before and one after it.
constexpr std::string_view kListHead = "---\n";
constexpr std::uint64_t kBytesAroundName = 3;

// So many names are added to an output at once: it stays below 64 KiB.
constexpr std::uint32_t kNamesPerPiece = 64;
constexpr std::uint32_t kNamesPerWork = 4;

}  // namespace

bool Service::is_long_list(const Session& session, const Command& command) const {
  if (command.verb == Verb::list_tubes) return engine_.tubes().size() > TubeList::kTubesPerPage;
  return command.verb == Verb::list_tubes_watched && session.client_.counted_name_bytes() > 0;
}

// Requires: no answer of the session is held back, for those may be taken back.
void Service::begin_list(Session& session, const Command& command, Work& work) {
  CHECK(!session.is_held_back_);
  dispatcher_.count(command.verb);
  work -= std::min(work, price_of(session, command));
  if (command.verb == Verb::list_tubes_watched) {
    begin_list_of_watched(session);
  } else {
    try {
      begin_list_of_tubes(session);
    } catch (const std::bad_alloc&) {
      answer(session, {ReplyCode::out_of_memory});
    }
  }
  go_on_with_list(session, work);
}

void Service::begin_list_of_watched(Session& session) {
  const Client& client = session.client_;
  session.list_number_ = client.watched_tubes();
  session.list_ = Session::List::watched_tubes;
  begin_text(session, client.counted_name_bytes() + kBytesAroundName * client.watched_tubes());
}

void Service::begin_list_of_tubes(Session& session) {
  TubeList& list = engine_.tube_list();
  session.list_number_ = list.ask();
  engine_.write_list();
  session.list_ = Session::List::all_tubes;
  ++waiting_for_tubes_;
}

void Service::begin_text(Session& session, std::uint64_t bytes) {
  answer(session, {.code = ReplyCode::ok_in_pieces, .number = kListHead.size() + bytes});
  if (!session.output_.add_text(kListHead)) session.quit_ = true;
}

void Service::end_text(Session& session) {
  session.list_ = Session::List::none;
  if (!session.output_.add_text("\r\n")) session.quit_ = true;
  mark_to_send(session);
}

// Goes on with the session's list until it is complete, the output is full, or no work is left for
// it in this turn.
void Service::go_on_with_list(Session& session, Work& work) {
  while (session.is_answered_in_pieces() && work > 0 && may_run(session)) {
    if (session.list_ == Session::List::watched_tubes) {
      add_watched(session, work);
    } else if (!add_tubes(session)) {
      work = 0;
    }
  }
}

void Service::add_watched(Session& session, Work& work) {
  const Client& client = session.client_;
  const auto left = static_cast<std::uint32_t>(session.list_number_);
  CHECK(left > 0 && left <= client.watched_tubes());
  const std::uint32_t first = client.watched_tubes() - left;
  const std::uint32_t names = std::min(left, kNamesPerPiece);
  for (std::uint32_t i = first; i < first + names; ++i) {
    Output& output = session.output_;
    const bool is_added =
        output.add_text("- ") && output.add_text(client.watched(i).name) && output.add_text("\n");
    if (!is_added) {
      session.quit_ = true;  // Half an answer cannot be taken back.
      return;
    }
  }
  session.list_number_ -= names;
  work -= std::min(work, names / kNamesPerWork);
  mark_to_send(session);
  if (session.list_number_ == 0) end_text(session);
}

bool Service::add_tubes(Session& session) {
  const TubeList& list = engine_.tube_list();
  if (!list.is_complete(session.list_number_)) return false;
  if (list.has_failed()) {
    session.list_ = Session::List::none;
    answer(session, {ReplyCode::out_of_memory});
  } else {
    std::uint64_t bytes = 0;
    for (const BlobRef& page : list.pages()) bytes += page.size();
    begin_text(session, bytes);
    for (const BlobRef& page : list.pages()) {
      if (!session.output_.add_blob(page)) session.quit_ = true;
    }
    end_text(session);
  }
  stop_waiting_for_tubes();
  return true;
}

// The session goes, and will not take the list that it waits for.
void Service::forget_list(Session& session) {
  if (session.list_ != Session::List::all_tubes) return;
  stop_waiting_for_tubes();
}

void Service::stop_waiting_for_tubes() {
  CHECK(waiting_for_tubes_ > 0);
  if (--waiting_for_tubes_ == 0) engine_.tube_list().drop_complete();
}

}  // namespace haricot
