// Moves a job to another tube of its server (tool/client/job_move.hpp), as a coroutine.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tool/client/job_move.hpp"
#include "web/observe/observer.hpp"

namespace haricot::web {

struct Moved {
  tool::JobMove::Outcome outcome = tool::JobMove::Outcome::stayed;
  std::string message = {};  // Message for the user; may be empty.
};

// Returns nothing if the server was lost. Requires: the server has reserve-job.
Part<std::optional<Moved>> move_job(Server& server, std::uint64_t id, std::string to);

}  // namespace haricot::web
