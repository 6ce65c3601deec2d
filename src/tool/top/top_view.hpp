// The choices of the user of `haricot top`, the keys that change them, and the acts: changes of a
// tube, each after a question.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tool/client/remote.hpp"
#include "tool/client/tube_stats.hpp"
#include "tool/top/terminal.hpp"
#include "tool/top/top_state.hpp"

namespace haricot::tool {

// A change that the user can make to a tube, after a question.
struct Act {
  enum class Kind : std::uint8_t { pause, kick, flush };

  Kind kind = Kind::pause;
  std::string tube;
  std::uint64_t number = 0;  // Seconds of a pause, largest number of jobs to kick, or number of
                             // jobs to delete.

  friend bool operator==(const Act&, const Act&) = default;
};

// A question about an act that is not answered yet.
class Question {
 public:
  enum class Answer : std::uint8_t { open, yes, no };

  // Returns a question, or nothing if there is nothing to do; then sets `reason`. A kick covers the
  // buried jobs, or the delayed jobs if none is buried; `tube` has their number.
  static std::optional<Question> ask(Act::Kind kind, const TubeStats& tube, std::string& reason);

  // Returns the line for the screen, with the text typed so far.
  std::string text() const;
  // Takes a key. A pause needs a time and Enter, the others a y.
  Answer take(const Keystroke& stroke);
  // Requires: the answer was yes.
  const Act& act() const { return act_; }

 private:
  Question(Act act, std::string words) : act_(std::move(act)), words_(std::move(words)) {}

  Act act_;
  std::string words_;
  std::string typed_;
};

// Performs the act and returns a line for the screen that describes the result. Returns nothing if
// it failed; server.failure() has the reason. Leaves the connection using the tube `default`.
std::optional<std::string> perform(const Act& act, Remote& server);

// The choices for the screen of the connections.
struct ClientView {
  bool is_shown = false;
  std::size_t sort = 2;  // Index into kClientColumns; by default jobs.
  bool reversed = false;
  std::size_t first_row = 0;  // May be too large if connections have closed.
};

struct TopView {
  static constexpr std::uint64_t kIntervalMsMin = 100;
  static constexpr std::uint64_t kIntervalMsMax = 3'600'000;

  TubeColumn sort = TubeColumn::ready;
  bool reversed = false;
  bool hides_idle = false;
  bool shows_help = false;
  bool allows_changes = false;
  std::uint64_t interval_ms = 1000;
  // With several servers, 0 is their sum and 1 to `servers` are the servers; otherwise 0.
  std::size_t server = 0;
  std::size_t servers = 1;

  // The selected tube; the selection follows it. Empty while the first line is selected, whatever
  // tube it shows. A key that concerns a tube sets it.
  std::string selected;
  std::size_t selected_row = 0;
  std::size_t first_row = 0;

  std::string filter;  // Only matching tubes are shown; empty to show all.
  bool types_filter = false;
  std::string tube;    // The tube whose screen is shown; empty for the table.
  ClientView clients;  // Replaces the table or the screen of a tube if shown.
  std::optional<Question> question;
  std::string message;  // Result of an act, until a key is typed.
  bool message_is_bad = false;
};

// Returns the tubes that the view shows, in its order. A filter that contains one of *?[ is a shell
// pattern for the whole name; any other filter is a part of the name.
std::vector<TubeStats> tubes_in_view(const TopState& state, const TopView& view);

// Finds the row of the selected tube, and scrolls until it is on a page of `page` rows. If the tube
// is gone, selects the tube in its row.
void settle(const std::vector<TubeStats>& tubes, std::size_t page, TopView& view);

// Requests to the program that result from a key, besides redrawing the view.
struct Wish {
  bool quits = false;
  bool asks = false;     // Ask the server now.
  bool redraws = false;  // Draw the whole screen.
  std::optional<Act> act;
};

// Applies a key to the view. `page` is the number of rows of a page.
Wish apply(const Keystroke& stroke, const TopState& state, std::size_t page, TopView& view);

}  // namespace haricot::tool
