// Runs a random command stream against two servers.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/server_process.hpp"
#include "support/wire_client.hpp"

namespace haricot::test {

struct DifferentialOptions {
  ServerOptions left = {};
  ServerOptions right = {};
  std::uint64_t seed = 1;
  std::size_t commands = 4000;
  std::chrono::milliseconds answer_deadline = kAnswerDeadline;
};

struct DifferentialResult {
  std::vector<std::string> differences = {};  // With the commands before them; a few at most.
  std::size_t commands = 0;                   // Number of sent commands.
  // Number of answers by their first word.
  std::map<std::string, std::size_t> kinds_of_answers = {};
  bool conclusive = true;  // False: the machine was too slow, and the result is void.
};

// Starts two servers, sends both the stream of this seed, and stops them.
DifferentialResult run_differential(const DifferentialOptions& options);

}  // namespace haricot::test
