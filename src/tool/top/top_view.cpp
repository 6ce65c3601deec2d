#include "tool/top/top_view.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <iterator>

#include "tool/cli/command_line.hpp"
#include "tool/cli/output.hpp"
#include "tool/top/screen_text.hpp"
#include "tool/top/screens.hpp"

namespace haricot::tool {
namespace {

TubeColumn moved(TubeColumn column, std::size_t steps) {
  return static_cast<TubeColumn>((static_cast<std::size_t>(column) + steps) % kTubeColumns);
}

bool matches(const std::string& name, const std::string& filter) {
  if (filter.find_first_of("*?[") == std::string::npos) {
    return name.find(filter) != std::string::npos;
  }
  return ::fnmatch(filter.c_str(), name.c_str(), 0) == 0;
}

void type_filter(const Keystroke& stroke, TopView& view) {
  constexpr std::size_t kFilterBytesMax = 200;  // Length of the longest name.
  if (stroke.key == Key::escape) {
    view.filter.clear();
    view.types_filter = false;
  } else if (stroke.key == Key::enter) {
    view.types_filter = false;
  } else if (stroke.key == Key::erase) {
    if (!view.filter.empty()) view.filter.pop_back();
  } else if (stroke.key == Key::erase_all) {
    view.filter.clear();
  } else if (stroke.character > ' ' && view.filter.size() < kFilterBytesMax) {
    view.filter += stroke.character;
  }
}

std::optional<Act> answer_question(const Keystroke& stroke, TopView& view) {
  const Question::Answer answer = view.question->take(stroke);
  std::optional<Act> act;
  if (answer == Question::Answer::yes) act = view.question->act();
  if (answer == Question::Answer::no) view.message = "nothing was changed";
  if (answer != Question::Answer::open) view.question.reset();
  return act;
}

// Returns the tube that an act would change; null if there is none.
const TubeStats* tube_at_hand(const std::vector<TubeStats>& tubes, const TopState& state,
                              const TopView& view) {
  if (view.tube.empty()) {
    return view.selected_row < tubes.size() ? &tubes[view.selected_row] : nullptr;
  }
  const auto found =
      std::find_if(state.sample.tubes.begin(), state.sample.tubes.end(),
                   [&view](const TubeStats& tube) { return tube.name == view.tube; });
  return found == state.sample.tubes.end() ? nullptr : &*found;
}

void begin_act(Act::Kind kind, const TubeStats* tube, const TopState& state, TopView& view) {
  view.message_is_bad = true;
  if (state.servers) {
    view.message = "this is the sum of several servers: select one with v";
  } else if (!view.allows_changes) {
    view.message = "to pause, kick and flush, start top with --allow-changes";
  } else if (kind == Act::Kind::flush && !state.abilities.flushes) {
    view.message = "the server does not know flush-tube";
  } else if (tube == nullptr) {
    view.message = "the tube no longer exists";
  } else {
    view.question = Question::ask(kind, *tube, view.message);
  }
}

void select_row(std::size_t row, const std::vector<TubeStats>& tubes, TopView& view) {
  row = std::min(row, tubes.empty() ? 0 : tubes.size() - 1);
  view.selected_row = row;
  view.selected = row == 0 ? "" : tubes[row].name;
}

// Applies a key that moves the selection.
void move(Key key, const std::vector<TubeStats>& tubes, std::size_t page, TopView& view) {
  const std::size_t row = view.selected_row;
  const std::size_t rows = std::max<std::size_t>(page, 1);
  if (key == Key::up) select_row(row - std::min<std::size_t>(row, 1), tubes, view);
  if (key == Key::down) select_row(row + 1, tubes, view);
  if (key == Key::page_up) select_row(row - std::min(row, rows), tubes, view);
  if (key == Key::page_down) select_row(row + rows, tubes, view);
  if (key == Key::first) select_row(0, tubes, view);
  if (key == Key::last) select_row(tubes.size(), tubes, view);
}

// Applies a key that changes the order of the table, or the tubes in it.
void arrange(Key key, TopView& view) {
  if (key == Key::next_column) view.sort = moved(view.sort, 1);
  if (key == Key::previous_column) view.sort = moved(view.sort, kTubeColumns - 1);
  if (key == Key::by_name) view.sort = TubeColumn::name;
  if (key == Key::reverse) view.reversed = !view.reversed;
  if (key == Key::idle) {
    view.hides_idle = !view.hides_idle;
    view.selected.clear();
  }
}

// Applies a key that changes the interval.
void set_pace(Key key, TopView& view) {
  if (key == Key::faster) {
    view.interval_ms = std::max(view.interval_ms / 2, TopView::kIntervalMsMin);
  }
  if (key == Key::slower) {
    view.interval_ms = std::min(view.interval_ms * 2, TopView::kIntervalMsMax);
  }
}

// Applies a key of the table of tubes, or of the screen of a tube. Returns true if the server has
// to be asked for new data.
bool apply_to_tubes(Key key, const TopState& state, std::size_t page, TopView& view) {
  const std::vector<TubeStats> tubes = tubes_in_view(state, view);
  settle(tubes, page, view);
  const TubeStats* tube = tube_at_hand(tubes, state, view);
  const bool is_about_tube =
      key == Key::enter || key == Key::pause || key == Key::kick || key == Key::flush;
  // Select the tube, so that it stays selected if rows move.
  if (is_about_tube && tube != nullptr) view.selected = tube->name;
  if (key == Key::pause) begin_act(Act::Kind::pause, tube, state, view);
  if (key == Key::kick) begin_act(Act::Kind::kick, tube, state, view);
  if (key == Key::flush) begin_act(Act::Kind::flush, tube, state, view);
  const bool opens = key == Key::enter && view.tube.empty() && tube != nullptr;
  if (opens) view.tube = tube->name;
  if (view.tube.empty()) {
    move(key, tubes, page, view);
    arrange(key, view);
  }
  return opens;
}

}  // namespace

std::vector<TubeStats> tubes_in_view(const TopState& state, const TopView& view) {
  std::vector<TubeStats> tubes;
  std::copy_if(state.sample.tubes.begin(), state.sample.tubes.end(), std::back_inserter(tubes),
               [&view](const TubeStats& tube) {
                 return (!view.hides_idle || !tube.is_idle()) && matches(tube.name, view.filter);
               });
  sort_tubes(tubes, view.sort, view.reversed);
  return tubes;
}

void settle(const std::vector<TubeStats>& tubes, std::size_t page, TopView& view) {
  if (view.selected.empty()) {
    view.selected_row = 0;
  } else {
    const auto found = std::find_if(tubes.begin(), tubes.end(), [&view](const TubeStats& tube) {
      return tube.name == view.selected;
    });
    if (found == tubes.end()) {
      select_row(view.selected_row, tubes, view);
    } else {
      view.selected_row = static_cast<std::size_t>(found - tubes.begin());
    }
  }
  const std::size_t last_first = tubes.size() > page ? tubes.size() - page : 0;
  page = std::max<std::size_t>(page, 1);
  view.first_row = std::min({view.first_row, last_first, view.selected_row});
  if (view.selected_row >= view.first_row + page) {
    view.first_row = view.selected_row + 1 - std::min(page, view.selected_row + 1);
  }
}

Wish apply(const Keystroke& stroke, const TopState& state, std::size_t page, TopView& view) {
  Wish wish;
  view.message.clear();
  view.message_is_bad = false;
  if (stroke.key == Key::quit && stroke.character == 0) {
    wish.quits = true;
  } else if (stroke.key == Key::redraw) {
    wish.redraws = true;
  } else if (view.question) {
    wish.act = answer_question(stroke, view);
  } else if (view.types_filter) {
    type_filter(stroke, view);
  } else if (stroke.key == Key::quit) {
    wish.quits = true;
  } else if (view.shows_help) {
    view.shows_help = false;
  } else if (stroke.key == Key::help) {
    view.shows_help = true;
  } else if (stroke.key == Key::clients) {
    view.clients.is_shown = !view.clients.is_shown;
    wish.asks = view.clients.is_shown;
  } else if (stroke.key == Key::escape && view.clients.is_shown) {
    view.clients.is_shown = false;
  } else if (stroke.key == Key::escape) {
    (view.tube.empty() ? view.filter : view.tube).clear();
  } else if (stroke.key == Key::filter) {
    view.types_filter = view.tube.empty() && !view.clients.is_shown;
  } else {
    if (view.clients.is_shown) {
      apply(stroke.key, state.clients ? state.clients->clients.size() : 0, page, view.clients);
    } else {
      wish.asks = apply_to_tubes(stroke.key, state, page, view);
    }
    set_pace(stroke.key, view);
    if (stroke.key == Key::next_server && view.servers > 1) {
      view.server = (view.server + 1) % (view.servers + 1);
      wish.asks = true;
    }
    wish.asks = wish.asks || stroke.key == Key::refresh || stroke.key == Key::faster;
  }
  return wish;
}

namespace {

constexpr std::size_t kTimeBytesMax = 16;
constexpr std::uint64_t kKickMax = 2147483647;  // Accepted by every server.

std::string jobs(std::uint64_t count) {
  return grouped(count) + (count == 1 ? " job" : " jobs");
}

std::string no_tube(const Act& act) {
  return "there is no tube " + safe_word(act.tube);
}

// Using a tube that does not exist would create it, so check first.
std::optional<std::string> kick(const Act& act, Remote& server) {
  bool is_there = false;
  if (!server.ask_stats("stats-tube " + act.tube, is_there)) return std::nullopt;
  if (!is_there) return no_tube(act);
  // Not sent together: after a failed `use` the connection would kick jobs of another tube.
  if (!server.ask("use " + act.tube, ReplyCode::now_using)) return std::nullopt;
  const auto kicked = server.ask("kick " + std::to_string(act.number), ReplyCode::kicked);
  if (!kicked || !server.ask("use default", ReplyCode::now_using)) return std::nullopt;
  return "kicked " + jobs(kicked->number) + " of tube " + safe_word(act.tube);
}

std::optional<std::string> pause(const Act& act, Remote& server) {
  const std::string command = "pause-tube " + act.tube + " " + std::to_string(act.number);
  const std::optional<Response> paused = server.ask(command, ReplyCode::paused);
  if (!paused) return std::nullopt;
  if (paused->code == ReplyCode::not_found) return no_tube(act);
  if (act.number == 0) return "tube " + safe_word(act.tube) + " is resumed";
  return "tube " + safe_word(act.tube) + " is paused for " + std::to_string(act.number) + " s";
}

std::optional<std::string> flush_tube(const Act& act, Remote& server) {
  const std::optional<Response> flushed = server.ask("flush-tube " + act.tube, ReplyCode::flushed);
  if (!flushed) return std::nullopt;
  if (flushed->code == ReplyCode::not_found) return no_tube(act);
  return "deleted " + jobs(flushed->number) + " of tube " + safe_word(act.tube);
}

}  // namespace

std::optional<Question> Question::ask(Act::Kind kind, const TubeStats& tube, std::string& reason) {
  const std::string name = safe_word(tube.name);
  Act act{kind, tube.name, 0};
  switch (kind) {
    case Act::Kind::pause:
      return Question(std::move(act),
                      "Pause tube " + name + " for how long (seconds, or 5m; 0 ends a pause)? ");
    case Act::Kind::kick: {
      act.number = tube.buried > 0 ? tube.buried : tube.delayed;
      if (act.number == 0) {
        reason = "tube " + name + " has no buried or delayed jobs to kick";
        return std::nullopt;
      }
      act.number = std::min(act.number, kKickMax);
      const std::string state = tube.buried > 0 ? "buried " : "delayed ";
      return Question(act, "Make " + grouped(act.number) + " " + state +
                               (act.number == 1 ? "job" : "jobs") + " of tube " + name +
                               " ready? [y/N] ");
    }
    case Act::Kind::flush:
      act.number = tube.ready + tube.delayed + tube.buried;
      if (act.number == 0) {
        reason = "tube " + name + " has no jobs to delete";
        return std::nullopt;
      }
      return Question(act, "DELETE all ready, delayed and buried jobs of tube " + name + " (" +
                               grouped(act.number) + ")? [y/N] ");
  }
  return std::nullopt;
}

std::string Question::text() const {
  return words_ + typed_;
}

Question::Answer Question::take(const Keystroke& stroke) {
  if (stroke.key == Key::escape) return Answer::no;
  if (act_.kind != Act::Kind::pause) {
    return stroke.character == 'y' || stroke.character == 'Y' ? Answer::yes : Answer::no;
  }
  if (stroke.key == Key::enter) {
    const std::optional<std::uint64_t> seconds = read_seconds(typed_);
    if (!seconds) return Answer::no;
    act_.number = *seconds;
    return Answer::yes;
  }
  if (stroke.key == Key::erase && !typed_.empty()) typed_.pop_back();
  if (stroke.key == Key::erase_all) typed_.clear();
  // Invalid characters are shown, too, so that the answer is exactly the text on screen.
  if (stroke.character > ' ' && typed_.size() < kTimeBytesMax) typed_ += stroke.character;
  return Answer::open;
}

std::optional<std::string> perform(const Act& act, Remote& server) {
  switch (act.kind) {
    case Act::Kind::pause:
      return pause(act, server);
    case Act::Kind::kick:
      return kick(act, server);
    case Act::Kind::flush:
      return flush_tube(act, server);
  }
  return std::nullopt;
}

}  // namespace haricot::tool
