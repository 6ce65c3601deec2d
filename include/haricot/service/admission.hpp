// Admission of commands: the price of each command, and the share of each session in a turn.
//
// A price is an upper bound of the steps of a command, computed before it runs. Each session that
// was just read runs at least one cheap command in a turn, so the steps of one command are
// multiplied by the number of sessions that send it at once. A command with a higher price waits
// for a turn that has room for it.
//
// A turn runs commands in two parts: first of sessions that were just read, then of sessions in the
// backlog. The sessions of a part have shares of one budget. Shares are smaller if many sessions
// are busy.
//
//   begin_turn()
//   begin_reading()        share_of_read() for each session that is read
//   begin_backlog()        share_of_waiting() for each session of the backlog
//
// A command whose price exceeds the rest of the budget waits in the backlog, and its session runs
// first in a later turn. There is a second budget (turn_limits::kStepsOfFirsts), so that a small
// page does not wait for large ones: it admits the first command of a session that was just read,
// unless the price of the command is above turn_limits::kStepsOfFirst.

#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "haricot/base/turn_limits.hpp"
#include "haricot/protocol/command.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot {

class TurnShares {
 public:
  // `steps` is the total number of steps, and outlives this.
  explicit TurnShares(const std::uint64_t& steps);
  TurnShares(const TurnShares&) = delete;
  TurnShares& operator=(const TurnShares&) = delete;

  void begin_turn() { busy_last_turn_ = std::exchange(busy_, 0); }
  // Begins the part of the sessions that are read. If the backlog is not empty, each has only the
  // least share, because the sessions in the backlog have waited longer.
  void begin_reading(bool has_backlog);
  void begin_backlog();
  // Returns true if the budget of this part is used up.
  bool is_used_up() const { return budget_.is_used_up(); }

  // Returns the share of a session that was just read. It always allows a cheap command.
  Budget share_of_read() {
    is_first_command_ = true;
    return {steps_, std::min(read_share_, std::max(budget_.left(), kLeastShare))};
  }
  // Returns the share of the next session of the backlog.
  Budget share_of_waiting() const { return budget_.part(steps_per_share()); }

  // Returns true if a command of that price may run now. The first command that takes steps in a
  // part of a turn always may.
  [[nodiscard]] bool admit(std::uint64_t price);
  // Notes that the current session has run a command.
  void end_first_command() { is_first_command_ = false; }
  // Counts a session that has used the least share or all of its own.
  void count_busy() { ++busy_; }

 private:
  static constexpr std::uint64_t kLeastShare = turn_limits::kStepsOfCheap;
  static constexpr std::uint32_t kBusyWithWholeShare =
      turn_limits::kStepsOfSessions / (turn_limits::kStepsPerShare + turn_limits::kStepsPerSend);

  std::uint32_t steps_per_share() const {
    // Counts the sessions of this turn as well, because many may enter the backlog at once.
    const std::uint32_t busy = std::max(busy_last_turn_, busy_);
    return busy <= kBusyWithWholeShare ? turn_limits::kStepsPerShare : steps_per_share(busy);
  }
  static std::uint32_t steps_per_share(std::uint32_t busy);

  const std::uint64_t& steps_;
  Budget budget_;                     // Budget of all sessions of the part.
  std::uint64_t whole_;               // Size of that budget.
  std::uint64_t read_share_;          // Steps of each session that is read.
  std::uint64_t left_for_firsts_;     // Rest of the second budget.
  bool is_first_command_ = false;     // The session was just read, and has run nothing yet.
  std::uint32_t busy_ = 0;            // Sessions that were counted in this turn.
  std::uint32_t busy_last_turn_ = 0;  // Sessions that were counted in the last turn.
};

// Returns the price of the command if the client sends it now, by the price column of
// protocol/command_rows.inc; 0 if it is cheap.
[[gnu::cold, gnu::noinline]] std::uint64_t price_of(const Engine& engine, const Client& client,
                                                    const Command& command);
// Returns the price of a put whose body is complete.
[[gnu::cold, gnu::noinline]] std::uint64_t price_of_put(const Engine& engine, const Client& client);

}  // namespace haricot
