// Reserves a job and ends the reservation within one run.
//
// A reservation ends with its connection, and a run of the tool is one connection. A job that the
// command does not delete, bury or release becomes ready again when the command exits.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/client/errand.hpp"

namespace haricot::tool {

enum class Fate : std::uint8_t { deleted, buried, released };

struct Ending {
  Fate fate = Fate::released;
  std::optional<std::uint64_t> priority;  // Empty to keep the job's priority.
  std::uint64_t delay_s = 0;              // For Fate::released.
};

enum class Outcome : std::uint8_t {
  done,
  gone,    // No such job can be reserved, or its TTR has ended.
  failed,  // errand.server().failure() has the reason.
};

// Ends a reservation. Requires: this connection has reserved the job.
Outcome end_reservation(Errand& errand, std::uint64_t id, const Ending& ending);

// Reserves a job with the command `reserve`, which must not wait long, and ends the reservation.
Outcome take_and_end(Errand& errand, const std::string& reserve, const Ending& ending);

// Calls take_and_end() for each id, with reserve-job. `done` is the participle for the report.
// Returns the exit status.
int take_and_end_ids(Errand& errand, const std::vector<std::uint64_t>& ids, const Ending& ending,
                     std::string_view done, bool quiet);

// Watches exactly these tubes. Returns false if the server failed.
[[nodiscard]] bool watch_only(Errand& errand, const std::vector<std::string>& tubes);

// Add the flags --priority and --delay.
void add_priority_flag(Errand& errand, Ending& ending);
void add_delay_flag(Errand& errand, Ending& ending);

}  // namespace haricot::tool
