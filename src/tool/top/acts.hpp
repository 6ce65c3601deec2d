// Changes that a user of `haricot top` can make to a tube, each after a question.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "tool/client/remote.hpp"
#include "tool/client/tube_stats.hpp"
#include "tool/top/key_reader.hpp"

namespace haricot::tool {

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

}  // namespace haricot::tool
