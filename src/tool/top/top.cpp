// haricot top: a server and its tubes, live.

#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "os/clock.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/sample.hpp"
#include "tool/top/terminal.hpp"
#include "tool/top/top_screen.hpp"
#include "tool/top/top_view.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "top", "[OPTIONS] [PATTERN...]",
    "Shows again and again what a server does: its jobs, its rates, and a table of all tubes\n"
    "or of those that match one of the shell patterns. h shows the keys, q quits. Without a\n"
    "terminal, and with --batch or --json, top writes one screen after the other and reads no\n"
    "keys.\n"};

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
      : errand_(errand), view_(choice.view), choice_(std::move(choice)) {}

  int run_batch();
  int run_live();

 private:
  bool ask();
  bool handle_events(const Terminal::Events& events);
  bool draw();
  void wait(Terminal& terminal, Instant until);

  Errand& errand_;
  TopView view_;
  Choice choice_;
  TopState state_;
  bool has_sample_ = false;

  // While the terminal is open.
  Terminal* terminal_ = nullptr;
  KeyReader keys_;
  std::vector<ScreenLine> shown_;
  bool is_over_ = false;
  bool asks_now_ = false;
};

// False: there is nothing newer, and state_.trouble says why.
bool Top::ask() {
  Remote& server = errand_.server();
  Sample sample;
  if ((!server.is_open() && !server.open()) || !take_sample(server, choice_.patterns, sample)) {
    state_.trouble = server.failure().reason;
    server.close();
    return false;
  }
  if (has_sample_) {
    state_.rates = rates_between(state_.sample, sample);
    set_tube_rates(state_.sample, sample);
  }
  state_.address = server.address().name();
  state_.sample = std::move(sample);
  state_.trouble.clear();
  has_sample_ = true;
  return true;
}

int Top::run_batch() {
  if (!ask()) return errand_.failed();
  for (std::uint64_t i = 0; i < choice_.count; ++i) {
    const Instant end =
        os::read_clock() + Duration::milliseconds(static_cast<std::int64_t>(view_.interval_ms));
    for (Duration left; (left = end - os::read_clock()).count() > 0;) {
      ::poll(nullptr, 0, static_cast<int>(left.count() / 1'000'000) + 1);
    }
    if (!ask()) return errand_.failed();
    if (errand_.json()) {
      print(batch_json(state_, view_));
    } else {
      print((i > 0 ? "\n" : "") + batch_text(state_, view_));
    }
    if (const int status = errand_.done(); status != 0) return status;
  }
  return errand_.done();
}

int Top::run_live() {
  // A failure at the start ends the command with the usual message.
  if (!ask()) return errand_.failed();
  Terminal terminal;
  std::string error;
  if (!terminal.open(error)) return errand_.no(error);
  terminal_ = &terminal;
  errand_.server().also_watch(terminal.descriptors(),
                              [this] { return handle_events(terminal_->read()) && draw(); });
  Duration cost;
  for (std::uint64_t screens = 1; draw(); ++screens) {
    if (screens >= choice_.count) break;
    const Instant now = os::read_clock();
    const auto interval = Duration::milliseconds(static_cast<std::int64_t>(view_.interval_ms));
    wait(terminal, now + std::max(interval, Duration::nanoseconds(cost.count() * kPauseFactor)));
    if (is_over_) break;
    const Instant begin = os::read_clock();
    ask();
    if (is_over_) break;
    cost = os::read_clock() - begin;
  }
  errand_.server().also_watch({}, {});
  return errand_.done();
}

// Until then, or until a key says that it is time.
void Top::wait(Terminal& terminal, Instant until) {
  asks_now_ = false;
  while (!is_over_ && !asks_now_) {
    const Duration left = until - os::read_clock();
    if (left.count() <= 0) return;
    std::vector<pollfd> wanted;
    for (const int descriptor : terminal.descriptors()) wanted.push_back({descriptor, POLLIN, 0});
    ::poll(wanted.data(), wanted.size(), static_cast<int>(left.count() / 1'000'000) + 1);
    if (!handle_events(terminal.read()) || !draw()) is_over_ = true;
  }
}

// False: it is over.
bool Top::handle_events(const Terminal::Events& events) {
  if (events.is_lost) shown_.clear();
  if (events.is_over) is_over_ = true;
  for (const Key key : keys_.read(events.bytes)) {
    if (key == Key::quit) is_over_ = true;
    if (key == Key::refresh || key == Key::faster) asks_now_ = true;
    if (key == Key::redraw) shown_.clear();
    apply(key, tubes_in_view(state_, view_).size(), page_of(terminal_->size()), view_);
  }
  return !is_over_;
}

// False: the terminal is gone.
bool Top::draw() {
  const ScreenSize size = terminal_->size();
  std::vector<ScreenLine> lines = draw_top(state_, view_, size);
  const bool is_same_size = shown_.size() == lines.size() && !lines.empty() &&
                            shown_[0].text.size() == lines[0].text.size();
  if (!is_same_size) shown_.clear();
  const std::string bytes = repaint(shown_, lines);
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
  if (const std::optional<int> over = errand.read(words)) return *over;
  choice.patterns.assign(errand.operands().begin(), errand.operands().end());
  if (const std::optional<int> over = errand.connect()) return *over;
  const bool is_live = !choice.batch && !errand.json() && Terminal::is_there();
  Top run(errand, std::move(choice));
  return is_live ? run.run_live() : run.run_batch();
}

}  // namespace haricot::tool
