// haricot top: shows a server and its tubes live.

#include <poll.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "os/clock.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/sample.hpp"
#include "tool/client/server_process.hpp"
#include "tool/top/screens.hpp"
#include "tool/top/server_watch.hpp"
#include "tool/top/terminal.hpp"
#include "tool/top/top_state.hpp"
#include "tool/top/top_view.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "top", "[OPTIONS] [PATTERN...]",
    "Shows a server live: its jobs, its rates, and a table of all tubes or of those that match\n"
    "one of the shell patterns. For several servers it shows the sum, and v switches between\n"
    "them. h shows the keys, q quits. Without a terminal, or with --batch or --json, top prints\n"
    "one screen after another and reads no keys.\n",
    "    haricot top\n"
    "    haricot top --hide-idle --sort buried 'mail*'\n"
    "    haricot top --batch --count 1 --interval 10         # for a script\n"};

struct Choice {
  TopView view;
  std::vector<std::string> patterns;
  bool batch = false;
  std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
};

// With very many tubes, asks less often than the user wants: requests take at most a tenth of the
// time, unless this would mean a longer pause than kPauseMax.
constexpr std::int64_t kPauseFactor = 10;
constexpr auto kPauseMax = Duration::seconds(3);
// Lateness after which a figure is shown with its age.
constexpr auto kAgePatience = Duration::seconds(2);
constexpr auto kLookInterval = Duration::milliseconds(500);

Duration pause_after(Duration cost) {
  return std::min(Duration::nanoseconds(cost.count() * kPauseFactor), kPauseMax);
}

class Top {
 public:
  Top(Errand& errand, Choice choice)
      : errand_(errand), view_(choice.view), choice_(std::move(choice)), details_(errand, view_) {
    view_.servers = errand.servers().size();
    states_.resize(view_.servers + first());
    for (std::size_t i = 0; i < view_.servers; ++i) {
      const Address& address = errand.servers()[i].address();
      states_[first() + i].address = address.name();
      states_[first() + i].trouble = address.name() + " has not answered yet";
      watched_.emplace_back(address, choice_.patterns, errand.patience());
    }
  }

  int run_batch();
  int run_live();

 private:
  struct Watched {
    Watched(const Address& address, const std::vector<std::string>& patterns, Duration patience)
        : watch(address, patterns, patience) {}

    ServerWatch watch;
    Instant due;  // Time of the next request.
    Failure failure;
    bool has_sample = false;
    bool is_new = false;  // A sample that is not yet in the history and has no details.
  };

  bool is_asking() const;
  bool ask_each_once();
  void sample_due_servers(Instant now);
  bool take_findings();
  void use(Finding& finding, std::size_t index);
  void add_up_servers();
  void set_ages(Instant now);
  void add_details();
  void perform_act();
  void end_pause_message(Instant now);
  bool handle_events(const Terminal::Events& events);
  void handle_keys(const std::vector<Keystroke>& strokes);
  bool draw();
  Instant next_event(Instant now) const;
  bool wait(Instant until);

  // Index of the first server in states_. The sum comes before it if there are several servers.
  std::size_t first() const { return view_.servers > 1 ? 1 : 0; }
  // Returns the state that the view shows.
  TopState& shown_state() { return states_[view_.server]; }
  // Returns the index of the server that the view shows; nothing if it shows the sum.
  std::optional<std::size_t> chosen() const {
    if (view_.server < first()) return std::nullopt;
    return view_.server - first();
  }
  // Print the reason of the failure and return the exit status.
  int failed(const Watched& server) const;
  int failed() const;

  Errand& errand_;
  TopView view_;
  Choice choice_;
  std::vector<TopState> states_;
  std::deque<Watched> watched_;
  std::string error_;

  // Set while the terminal is open.
  Terminal* terminal_ = nullptr;
  ScreenStyle style_;
  KeyReader keys_;
  Instant escape_end_;  // Time at which a pending ESC counts as the key Esc.
  std::vector<ScreenLine> shown_;
  Details details_;
  bool is_over_ = false;
  bool asks_now_ = false;
  std::optional<Act> act_;

  // The pause that the last act began.
  struct Pause {
    std::string tube;
    std::string message;
    Instant since;
    std::uint64_t seconds = 0;
  };
  std::optional<Pause> paused_;
};

bool Top::is_asking() const {
  return std::any_of(watched_.begin(), watched_.end(),
                     [](const Watched& server) { return server.watch.is_asking(); });
}

void Top::sample_due_servers(Instant now) {
  for (Watched& server : watched_) {
    if (!server.watch.is_asking() && now >= server.due) server.watch.ask();
  }
}

// Asks all servers and waits for the results. Returns false if there is no new sample.
bool Top::ask_each_once() {
  for (Watched& server : watched_) server.is_new = false;
  sample_due_servers(Instant::never());
  while (is_asking()) wait(Instant::never());
  return std::any_of(watched_.begin(), watched_.end(),
                     [](const Watched& server) { return server.is_new; });
}

// Returns true if there is a new result.
bool Top::take_findings() {
  bool is_new = false;
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    std::optional<Finding> finding = watched_[i].watch.take();
    if (!finding) continue;
    use(*finding, i);
    is_new = true;
  }
  if (is_new) add_up_servers();
  return is_new;
}

// Sets the sample of a server, or its trouble.
void Top::use(Finding& finding, std::size_t index) {
  Watched& server = watched_[index];
  TopState& state = states_[first() + index];
  const auto interval = Duration::milliseconds(static_cast<std::int64_t>(view_.interval_ms));
  server.due = os::read_clock() + std::max(interval, pause_after(finding.cost));
  if (!finding.sample) {
    server.failure = finding.failure;
    state.trouble = finding.failure.reason;
    return;
  }
  if (server.has_sample) {
    state.rates = rates_between(state.sample, *finding.sample);
    set_tube_rates(state.sample, *finding.sample);
  }
  state.sample = std::move(*finding.sample);
  state.trouble.clear();
  server.has_sample = server.is_new = true;
}

// Adds up the servers that have a sample.
void Top::add_up_servers() {
  if (first() > 0) add_up(std::span(states_).subspan(first()), states_.front());
}

void Top::set_ages(Instant now) {
  const auto usual = Duration::nanoseconds(
      static_cast<std::int64_t>(view_.interval_ms) * 1'000'000 + kAgePatience.count());
  Duration oldest;
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    TopState& state = states_[first() + i];
    const Duration age = now - state.sample.at;
    const bool is_old = watched_[i].has_sample && age > usual;
    state.age_s = is_old ? static_cast<std::uint64_t>(age.count() / 1'000'000'000) : 0;
    if (is_old && state.trouble.empty()) oldest = std::max(oldest, age);
  }
  // The sum leaves out servers with trouble.
  if (first() > 0) {
    states_.front().age_s = static_cast<std::uint64_t>(oldest.count() / 1'000'000'000);
  }
}

// Updates the data that the screen shows besides the samples.
void Top::add_details() {
  bool is_new = false;
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    if (!std::exchange(watched_[i].is_new, false)) continue;
    is_new = true;
    TopState& state = states_[first() + i];
    state.history.add(state.sample);
    state.memory = server_memory(state.sample.server);
    const bool is_chosen = chosen() == i;
    if (!is_chosen || !view_.clients.is_shown) state.clients.reset();
    if (!is_chosen) continue;
    const Duration cost = details_.ask(i, jobs_wanted(terminal_->size()), state);
    watched_[i].due = std::max(watched_[i].due, os::read_clock() + pause_after(cost));
  }
  if (is_new && first() > 0) states_.front().history.add(states_.front().sample);
}

int Top::failed(const Watched& server) const {
  errand_.warn(server.failure.reason);
  return errand_.done(server.failure.status);
}

int Top::failed() const {
  int status = 0;
  for (const Watched& server : watched_) status = failed(server);
  return status;
}

// Performs the act that the user has confirmed.
void Top::perform_act() {
  const std::optional<std::size_t> index = chosen();
  if (!act_ || !index) return;
  Remote& server = errand_.servers()[*index];
  const Act act = *act_;
  act_.reset();
  server.set_patience(errand_.patience());
  std::optional<std::string> done;
  if (server.is_open() || server.open()) done = perform(act, server);
  if (is_over_) return;
  view_.message = done ? *done : server.failure().reason;
  view_.message_is_bad = !done;
  const bool is_pause = done && act.kind == Act::Kind::pause && act.number > 0;
  if (is_pause) paused_ = {{act.tube, view_.message, os::read_clock(), act.number}};
}

// Removes the message about a pause when the pause has ended, by its time or by another client.
void Top::end_pause_message(Instant now) {
  if (!paused_) return;
  const Sample& sample = shown_state().sample;
  const auto tube =
      std::find_if(sample.tubes.begin(), sample.tubes.end(),
                   [this](const TubeStats& one) { return one.name == paused_->tube; });
  const bool is_seen = tube != sample.tubes.end() && tube->paused_s > 0;
  // An earlier sample may have been requested before the pause.
  const bool is_new = sample.at > paused_->since + kLookInterval;
  const auto time = Duration::seconds(static_cast<std::uint32_t>(paused_->seconds));
  if (now < paused_->since + time && (is_seen || !is_new)) return;
  if (view_.message == paused_->message) view_.message.clear();
  paused_.reset();
}

int Top::run_batch() {
  if (!ask_each_once()) return failed();
  int status = 0;
  for (std::uint64_t i = 0; i < choice_.count; ++i) {
    const Instant end =
        os::read_clock() + Duration::milliseconds(static_cast<std::int64_t>(view_.interval_ms));
    for (int left = 0; (left = os::timeout_ms(os::read_clock(), end)) > 0;) {
      ::poll(nullptr, 0, left);
    }
    if (!ask_each_once()) return failed();
    if (first() > 0) {
      for (std::size_t k = 0; k < view_.servers; ++k) {
        if (!states_[first() + k].trouble.empty()) status = failed(watched_[k]);
      }
    }
    if (errand_.json()) {
      print(batch_json(std::span(states_).subspan(first()), view_));
    } else {
      print((i > 0 ? "\n" : "") + (first() > 0 ? batch_text_of_several(states_, view_)
                                               : batch_text(shown_state(), view_)));
    }
    if (const int written = errand_.done(); written != 0) return written;
  }
  return errand_.done(status);
}

int Top::run_live() {
  // If all servers fail at the start, the command ends with the usual message.
  sample_due_servers(os::read_clock());
  const auto is_known = [](const Watched& server) { return server.has_sample; };
  while (std::none_of(watched_.begin(), watched_.end(), is_known)) {
    if (!is_asking()) return failed();
    wait(Instant::never());
  }
  Terminal terminal;
  if (!terminal.open(error_)) return errand_.local(error_);
  terminal_ = &terminal;
  for (Remote& server : errand_.servers()) {
    server.also_watch(terminal.descriptors(),
                      [this] { return handle_events(terminal_->read()) && draw(); });
  }
  style_ = Terminal::style();
  add_details();
  for (std::uint64_t screens = 1; draw() && screens < choice_.count;) {
    const Instant now = os::read_clock();
    if (std::exchange(asks_now_, false)) {
      for (Watched& server : watched_) server.due = now;
    }
    sample_due_servers(now);
    const bool is_new = wait(next_event(now));
    perform_act();
    if (!is_over_ && is_new) {
      add_details();
      ++screens;
    }
    end_pause_message(os::read_clock());
  }
  for (Remote& server : errand_.servers()) server.also_watch({}, {});
  return errand_.done();
}

Instant Top::next_event(Instant now) const {
  Instant next = now + kLookInterval;  // For the displayed ages.
  for (const Watched& server : watched_) {
    if (!server.watch.is_asking()) next = std::min(next, server.due);
  }
  return keys_.may_be_escape() ? std::min(next, escape_end_) : next;
}

// Waits until then, or until a server has answered or a key was typed. Returns true if there is a
// new result.
bool Top::wait(Instant until) {
  bool is_new = false;
  bool is_typed = false;
  // Answers may arrive in many pieces.
  while (!is_new && !is_typed && os::read_clock() < until) {
    std::vector<pollfd> wanted;
    Instant next = until;
    for (Watched& server : watched_) {
      wanted.push_back(server.watch.wanted());
      next = std::min(next, server.watch.next_event());
    }
    if (terminal_ != nullptr) {
      for (const int one : terminal_->descriptors()) wanted.push_back({one, POLLIN, 0});
    }
    ::poll(wanted.data(), wanted.size(), os::timeout_ms(os::read_clock(), next));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (i < watched_.size()) watched_[i].watch.handle(wanted[i].revents);
      if (i >= watched_.size() && wanted[i].revents != 0) is_typed = true;
    }
    is_new = take_findings();
  }
  if (terminal_ == nullptr) return is_new;
  if (keys_.may_be_escape() && os::read_clock() >= escape_end_) handle_keys(keys_.take_escape());
  handle_events(terminal_->read());
  return is_new;
}

// Returns false if the program has to exit.
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

// Returns false if the terminal is gone or the program has to exit.
bool Top::draw() {
  if (is_over_) return false;
  set_ages(os::read_clock());
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
  const std::string titles = titles_in_words(kTubeColumns);
  errand.add(
      {'b', "batch", "", "print one screen after another, and read no keys", set(choice.batch)});
  errand.add(count_flag("exit after N screens", choice.count));
  errand.add({'i', "interval", "S", "sampling interval in seconds (1)",
              [&choice](std::string_view value) {
                return set_milliseconds(choice.view.interval_ms, TopView::kIntervalMsMin)(value) &&
                       choice.view.interval_ms <= TopView::kIntervalMsMax;
              },
              "a time from 0.1 to 3600 seconds"});
  errand.add({'s', "sort", "COLUMN", "sort by the column with this title (ready)",
              [&choice](std::string_view value) {
                const auto column = column_called(value, kTubeColumns);
                choice.view.sort = column.value_or(choice.view.sort);
                return column.has_value();
              },
              titles});
  errand.add({'r', "reverse", "", "reverse the order", set(choice.view.reversed)});
  errand.add({0, "hide-idle", "", "hide tubes without jobs and waiting workers",
              set(choice.view.hides_idle)});
  errand.add({0, "allow-changes", "", "enable keys that pause, kick and flush a tube",
              set(choice.view.allows_changes)});
  add_pattern_flag(errand, choice.patterns);
  if (const std::optional<int> over = errand.read(words)) return *over;
  choice.patterns.insert(choice.patterns.end(), errand.operands().begin(), errand.operands().end());
  errand.allow_several();
  if (const std::optional<int> over = errand.find()) return *over;
  const bool is_live = !choice.batch && !errand.json() && Terminal::is_there();
  Top run(errand, std::move(choice));
  return is_live ? run.run_live() : run.run_batch();
}

}  // namespace haricot::tool
