// What clients send: random requests, valid ones and others, each with what is meant by it.

#pragma once

#include <cstdint>

#include "model.hpp"
#include "support/random.hpp"

namespace haricot::simulation {

// What a run sends.
struct Mix {
  bool has_extended = false;  // A third of the commands are of the extended set.
  // Tubes come to have more jobs than a call of the engine moves. Few of them are held, and none is
  // paused: the model knows no more of what is long than kicks and flushes.
  bool is_crowded = false;
  bool is_of_groups = false;  // Most commands are about groups and the jobs that they hold.
};

// Requests to a server whose jobs are those of the model, more or less: what is under way has yet
// to change them.
Request random_request(test::Random& chance, const Mix& mix, const Model& model, int client,
                       std::uint32_t job_bytes_max);
// One of many small jobs.
Request small_put(test::Random& chance, const Mix& mix, int client);

}  // namespace haricot::simulation
