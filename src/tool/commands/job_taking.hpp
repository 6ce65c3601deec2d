// What a command does with a job that it has reserved.
//
// A reservation ends with its connection, and a run of the tool is one connection. So a command
// reserves a job and ends the reservation itself; what it does not end, the server makes ready
// again when the command ends.

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
  std::optional<std::uint64_t> priority;  // Nothing: the job keeps its own.
  std::uint64_t delay_s = 0;              // Of a release.
};

enum class Outcome : std::uint8_t {
  done,
  gone,    // There is no such job to reserve, or its TTR has ended.
  failed,  // errand.server().failure() says why.
};

// Requires: this connection has reserved the job.
Outcome end_reservation(Errand& errand, std::uint64_t id, const Ending& ending);

// Reserves by this command, which does not wait for long, and ends the reservation at once.
Outcome take_and_end(Errand& errand, const std::string& reserve, const Ending& ending);

// Has take_and_end() done for each id by reserve-job. `done` is the word for what was done. Returns
// the exit status.
int take_and_end_ids(Errand& errand, const std::vector<std::uint64_t>& ids, const Ending& ending,
                     std::string_view done, bool quiet);

// Watches these tubes, and no others. False: the server failed.
[[nodiscard]] bool watch_only(Errand& errand, const std::vector<std::string>& tubes);

// The flags --priority and --delay.
void add_priority_flag(Errand& errand, Ending& ending);
void add_delay_flag(Errand& errand, Ending& ending);

}  // namespace haricot::tool
