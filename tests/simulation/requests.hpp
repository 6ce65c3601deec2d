// What clients send: random requests, valid ones and others, each with what is meant by it.

#pragma once

#include <cstdint>

#include "model.hpp"
#include "support/random.hpp"

namespace haricot::simulation {

// Requests to a server whose jobs are those of the model, more or less: what is under way has yet
// to change them.
Request random_request(test::Random& chance, const Model& model, int client,
                       std::uint32_t job_bytes_max);

}  // namespace haricot::simulation
