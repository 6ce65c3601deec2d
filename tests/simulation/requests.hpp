// Requests of clients: random ones, valid and invalid, each with its meaning.

#pragma once

#include <cstdint>

#include "model.hpp"
#include "support/random.hpp"

namespace haricot::simulation {

// Composition of a run's requests.
struct Mix {
  bool has_extended = false;  // A third of the commands are of the extended set.
  // Tubes get more jobs than a call of the engine moves. Few of them are held, and none is paused:
  // the only long tasks that the model knows are kicks and flushes.
  bool is_crowded = false;
  bool is_of_groups = false;  // Most commands are for groups and their held jobs.
};

// Returns a request to a server with about the model's jobs: pending requests have yet to change
// them.
Request random_request(test::Random& chance, const Mix& mix, const Model& model, int client,
                       std::uint32_t job_bytes_max);
// Returns one of many small puts.
Request small_put(test::Random& chance, const Mix& mix, int client);

}  // namespace haricot::simulation
