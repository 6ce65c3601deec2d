// Moving a job to another tube of its server, so that at no moment it is in neither of them.
//
// As `haricot move` does it: the job is reserved, so that no worker has it meanwhile, put into the
// other tube, and then deleted. Between the put and the deletion it is in both.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "web/observe/observer.hpp"

namespace haricot::web {

enum class Moved : std::uint8_t {
  yes,
  gone,    // It is not there any more, or a worker holds it.
  stayed,  // It cannot be moved, and is where it was.
};

// Nothing: the server is lost. Requires: the server has reserve-job.
Part<std::optional<Moved>> move_job(Server& server, std::uint64_t id, std::string to);

}  // namespace haricot::web
