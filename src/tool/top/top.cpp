// haricot top: a server and its tubes, live.

#include <poll.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "os/clock.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/sample.hpp"
#include "tool/top/key_reader.hpp"
#include "tool/top/server_memory.hpp"
#include "tool/top/server_sum.hpp"
#include "tool/top/terminal.hpp"
#include "tool/top/top_batch.hpp"
#include "tool/top/top_screen.hpp"
#include "tool/top/top_view.hpp"
#include "tool/top/tube_screen.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "top", "[OPTIONS] [PATTERN...]",
    "Shows again and again what a server does: its jobs, its rates, and a table of all tubes\n"
    "or of those that match one of the shell patterns. Of several servers it shows the sum, and\n"
    "v shows one after the other. h shows the keys, q quits. Without a terminal, and with\n"
    "--batch or --json, top writes one screen after the other and reads no keys.\n",
    "    haricot top\n"
    "    haricot top --hide-idle --sort buried 'mail*'\n"
    "    haricot top --batch --count 1 --interval 10         # for a script\n"};

struct Choice {
  TopView view;
  std::vector<std::string> patterns;
  bool batch = false;
  std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
};

// A server with very many tubes is asked less often than the person wants: at most a tenth of the
// time may go into asking.
constexpr std::int64_t kPauseFactor = 10;

class Top {
 public:
  Top(Errand& errand, Choice choice)
      : errand_(errand),
        view_(choice.view),
        choice_(std::move(choice)),
        has_sample_(errand.servers().size(), false),
        has_abilities_(errand.servers().size(), false) {
    view_.servers = errand.servers().size();
    states_.resize(view_.servers + first());
    for (std::size_t i = 0; i < view_.servers; ++i) {
      states_[first() + i].address = errand.servers()[i].address().name();
    }
  }

  int run_batch();
  int run_live();

 private:
  bool ask();
  bool ask_server(std::size_t index);
  void ask_details();
  void ask_jobs(std::size_t index);
  void perform_act();
  bool handle_events(const Terminal::Events& events);
  void handle_keys(const std::vector<Keystroke>& strokes);
  bool draw();
  void wait(Terminal& terminal, Instant until);

  // Where the states of servers begin: after that of their sum, if there are several.
  std::size_t first() const { return view_.servers > 1 ? 1 : 0; }
  // What the view shows.
  TopState& shown_state() { return states_[view_.server]; }
  // The index of the server that the view shows; nothing: it shows the sum.
  std::optional<std::size_t> chosen() const {
    if (view_.server < first()) return std::nullopt;
    return view_.server - first();
  }
  // Why nothing works, as the usual message.
  int failed() const;

  Errand& errand_;
  TopView view_;
  Choice choice_;
  std::vector<TopState> states_;
  std::vector<bool> has_sample_;  // Of each server, as the next one.

  // While the terminal is open.
  Terminal* terminal_ = nullptr;
  ScreenStyle style_;
  KeyReader keys_;
  Instant escape_end_;  // When an ESC, if the last byte was one, is the key.
  std::vector<ScreenLine> shown_;
  std::vector<bool> has_abilities_;  // Of the server of this connection.
  bool is_over_ = false;
  bool asks_now_ = false;
  std::optional<Act> act_;
};

// False: there is nothing newer of any server, and the states say why.
bool Top::ask() {
  bool is_good = false;
  for (std::size_t i = 0; i < view_.servers && !is_over_; ++i) {
    if (ask_server(i)) is_good = true;
  }
  if (is_good && first() > 0) {
    add_up(std::span(states_).subspan(first()), states_.front());
  } else if (first() > 0) {
    states_.front().trouble = states_[first()].trouble;
  }
  return is_good;
}

// False: there is nothing newer, and the trouble of its state says why.
bool Top::ask_server(std::size_t index) {
  Remote& server = errand_.servers()[index];
  TopState& state = states_[first() + index];
  Sample sample;
  if (!server.is_open()) has_abilities_[index] = false;
  if ((!server.is_open() && !server.open()) || !take_sample(server, choice_.patterns, sample)) {
    state.trouble = server.failure().reason;
    server.close();
    return false;
  }
  if (has_sample_[index]) {
    state.rates = rates_between(state.sample, sample);
    set_tube_rates(state.sample, sample);
  }
  state.sample = std::move(sample);
  state.trouble.clear();
  has_sample_[index] = true;
  return true;
}

// What the screen of a terminal shows beside the sample.
void Top::ask_details() {
  for (TopState& state : states_) {
    if (!state.trouble.empty() && !state.servers) continue;
    state.history.add(state.sample);
    if (!state.servers) state.memory = server_memory(state.sample.server);
  }
  const std::optional<std::size_t> index = chosen();
  if (index && shown_state().trouble.empty()) ask_jobs(*index);
}

// The next jobs of the tube whose screen is shown, and what the server can do.
void Top::ask_jobs(std::size_t index) {
  Remote& server = errand_.servers()[index];
  TopState& state = states_[first() + index];
  const bool needs_jobs = !view_.tube.empty();
  if (!has_abilities_[index] && (needs_jobs || view_.allows_changes)) {
    if (const std::optional<Abilities> abilities = ask_abilities(server)) {
      state.abilities = *abilities;
      has_abilities_[index] = true;
    }
  }
  const bool is_there =
      std::any_of(state.sample.tubes.begin(), state.sample.tubes.end(),
                  [this](const TubeStats& tube) { return tube.name == view_.tube; });
  NextJobs jobs;
  const std::string tube = view_.tube;  // A key may change it meanwhile.
  if (server.is_open() && needs_jobs && is_there &&
      ask_next_jobs(server, state.abilities, tube, jobs_wanted(terminal_->size()), jobs)) {
    state.jobs = std::move(jobs);
    return;
  }
  if (server.is_open() && !(needs_jobs && is_there)) return;
  state.trouble = server.failure().reason;
}

int Top::failed() const {
  if (view_.servers == 1) return errand_.failed();
  int status = 0;
  for (const Remote& server : errand_.servers()) status = errand_.failed(server);
  return status;
}

// What somebody has said yes to.
void Top::perform_act() {
  const std::optional<std::size_t> index = chosen();
  if (!act_ || !index) return;
  Remote& server = errand_.servers()[*index];
  const Act act = *act_;
  act_.reset();
  std::optional<std::string> done;
  if (server.is_open() || server.open()) done = perform(act, server);
  if (is_over_) return;
  view_.note = done ? *done : server.failure().reason;
  view_.note_is_bad = !done;
}

int Top::run_batch() {
  if (!ask()) return failed();
  int status = 0;
  for (std::uint64_t i = 0; i < choice_.count; ++i) {
    const Instant end =
        os::read_clock() + Duration::milliseconds(static_cast<std::int64_t>(view_.interval_ms));
    for (Duration left; (left = end - os::read_clock()).count() > 0;) {
      ::poll(nullptr, 0, static_cast<int>(left.count() / 1'000'000) + 1);
    }
    if (!ask()) return failed();
    if (first() > 0) {
      for (std::size_t k = 0; k < view_.servers; ++k) {
        if (!states_[first() + k].trouble.empty()) status = errand_.failed(errand_.servers()[k]);
      }
      print(errand_.json() ? batch_json_of_several(states_, view_)
                           : (i > 0 ? "\n" : "") + batch_text_of_several(states_, view_));
    } else if (errand_.json()) {
      print(batch_json(shown_state(), view_));
    } else {
      print((i > 0 ? "\n" : "") + batch_text(shown_state(), view_));
    }
    if (const int written = errand_.done(); written != 0) return written;
  }
  return errand_.done(status);
}

int Top::run_live() {
  // A failure at the start ends the command with the usual message.
  if (!ask()) return failed();
  Terminal terminal;
  std::string error;
  if (!terminal.open(error)) return errand_.no(error);
  terminal_ = &terminal;
  for (Remote& server : errand_.servers()) {
    server.also_watch(terminal.descriptors(),
                      [this] { return handle_events(terminal_->read()) && draw(); });
  }
  style_ = Terminal::style();
  ask_details();
  Duration cost;
  for (std::uint64_t screens = 1; draw(); ++screens) {
    if (screens >= choice_.count) break;
    const Instant now = os::read_clock();
    const auto interval = Duration::milliseconds(static_cast<std::int64_t>(view_.interval_ms));
    wait(terminal, now + std::max(interval, Duration::nanoseconds(cost.count() * kPauseFactor)));
    asks_now_ = false;
    perform_act();
    if (is_over_) break;
    const Instant begin = os::read_clock();
    if (ask() && !is_over_) ask_details();
    if (is_over_) break;
    cost = os::read_clock() - begin;
  }
  for (Remote& server : errand_.servers()) server.also_watch({}, {});
  return errand_.done();
}

// Until then, or until a key says that there is something to ask.
void Top::wait(Terminal& terminal, Instant until) {
  while (!is_over_ && !asks_now_ && !act_) {
    const Instant now = os::read_clock();
    if (now >= until) return;
    if (keys_.may_be_escape() && now >= escape_end_) {
      handle_keys(keys_.take_escape());
      if (!draw()) is_over_ = true;
      continue;
    }
    const Instant end = keys_.may_be_escape() ? std::min(until, escape_end_) : until;
    std::vector<pollfd> wanted;
    for (const int descriptor : terminal.descriptors()) wanted.push_back({descriptor, POLLIN, 0});
    ::poll(wanted.data(), wanted.size(), static_cast<int>((end - now).count() / 1'000'000) + 1);
    if (!handle_events(terminal.read()) || !draw()) is_over_ = true;
  }
}

// False: it is over.
bool Top::handle_events(const Terminal::Events& events) {
  constexpr auto kEscapePatience = Duration::milliseconds(100);
  if (events.is_lost) shown_.clear();
  if (events.is_over) is_over_ = true;
  if (!events.bytes.empty()) escape_end_ = os::read_clock() + kEscapePatience;
  handle_keys(keys_.read(events.bytes));
  return !is_over_;
}

void Top::handle_keys(const std::vector<Keystroke>& strokes) {
  for (const Keystroke& stroke : strokes) {
    Wish wish = apply(stroke, shown_state(), page_of(terminal_->size()), view_);
    if (wish.quits) is_over_ = true;
    if (wish.asks) asks_now_ = true;
    if (wish.redraws) shown_.clear();
    if (wish.act) act_ = std::move(wish.act);
  }
}

// False: the terminal is gone.
bool Top::draw() {
  const ScreenSize size = terminal_->size();
  std::vector<ScreenLine> lines = draw_top(shown_state(), view_, size, style_);
  const bool is_same_size =
      shown_.size() == lines.size() && !lines.empty() && shown_[0].columns() == lines[0].columns();
  if (!is_same_size) shown_.clear();
  const std::string bytes = repaint(shown_, lines, style_.colours);
  shown_ = std::move(lines);
  if (!bytes.empty() && !terminal_->write(bytes)) is_over_ = true;
  return !is_over_;
}

}  // namespace

int top(Words words) {
  Errand errand(kText);
  Choice choice;
  errand.add(
      {'b', "batch", "", "write one screen after the other, and read no keys", set(choice.batch)});
  errand.add({'n', "count", "N", "end after so many screens",
              set_count(choice.count, 1, std::numeric_limits<std::uint64_t>::max()),
              "a number of at least 1"});
  errand.add({'i', "interval", "S", "ask the server every so many seconds (1)",
              [&choice](std::string_view value) {
                return set_milliseconds(choice.view.interval_ms, TopView::kIntervalMsMin)(value) &&
                       choice.view.interval_ms <= TopView::kIntervalMsMax;
              },
              "a time from 0.1 to 3600 seconds"});
  errand.add({'s', "sort", "COLUMN", "sort by the column with this title (ready)",
              [&choice](std::string_view value) {
                const std::optional<TubeColumn> column = column_called(value);
                choice.view.sort = column.value_or(choice.view.sort);
                return column.has_value();
              },
              "a column"});
  errand.add({'r', "reverse", "", "sort the other way round", set(choice.view.reversed)});
  errand.add({0, "hide-idle", "", "leave out tubes that have no job and no waiting worker",
              set(choice.view.hides_idle)});
  errand.add({0, "allow-changes", "", "let keys pause, kick and flush a tube, after a question",
              set(choice.view.allows_changes)});
  if (const std::optional<int> over = errand.read(words)) return *over;
  choice.patterns.assign(errand.operands().begin(), errand.operands().end());
  errand.allow_several();
  if (const std::optional<int> over = errand.find()) return *over;
  const bool is_live = !choice.batch && !errand.json() && Terminal::is_there();
  Top run(errand, std::move(choice));
  return is_live ? run.run_live() : run.run_batch();
}

}  // namespace haricot::tool
