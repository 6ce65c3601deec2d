// Data of a server at one moment, or of the sum of several servers.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tool/client/sample.hpp"
#include "tool/top/client_screen.hpp"
#include "tool/top/history.hpp"
#include "tool/top/next_jobs.hpp"

namespace haricot::tool {

struct TopState {
  std::string address;
  // Set for a sum: the number of servers in it. A sum has only data that can be added, and no next
  // jobs.
  std::optional<std::size_t> servers = {};
  Sample sample;  // With rates.
  ServerRates rates;
  History history;
  Abilities abilities;
  NextJobs jobs;                             // For the tube whose screen is shown.
  std::optional<SeenClients> clients = {};   // Empty until asked for, while connections are shown.
  std::optional<std::uint64_t> memory = {};  // Memory of the server's process in bytes, if known.
  std::uint64_t age_s = 0;                   // Age of the sample if it is overdue; otherwise 0.
  std::string trouble;  // Reason why there is no newer sample; empty if there is none.
};

}  // namespace haricot::tool
