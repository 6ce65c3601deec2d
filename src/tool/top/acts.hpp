// What somebody in front of `haricot top` can do to a tube, each with a question first.

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
  std::uint64_t number = 0;  // Seconds of a pause; jobs to kick at most, or to delete.

  friend bool operator==(const Act&, const Act&) = default;
};

// A question about an act, until it is answered.
class Question {
 public:
  enum class Answer : std::uint8_t { open, yes, no };

  // Nothing: there is nothing to do, and `reason` says why. A kick is of the buried jobs, or of the
  // delayed ones if none is buried, as many as `tube` has now.
  static std::optional<Question> ask(Act::Kind kind, const TubeStats& tube, std::string& reason);

  // For a line on the screen, with what was typed.
  std::string text() const;
  // Takes a key. A pause wants a number of seconds and Enter, the others want a y.
  Answer take(const Keystroke& stroke);
  // Requires: the answer was yes.
  const Act& act() const { return act_; }

 private:
  Question(Act act, std::string words) : act_(std::move(act)), words_(std::move(words)) {}

  Act act_;
  std::string words_;
  std::string typed_;
};

// Does it. Nothing: it failed, and server.failure() says why. Something: what was done, for a line
// on the screen. Leaves the connection with the tube `default` in use.
std::optional<std::string> perform(const Act& act, Remote& server);

}  // namespace haricot::tool
