// What `haricot top` knows of a server at a moment, or of the sum of several.

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
  // Of a sum: of so many servers. It has what can be added up, and the next jobs of no tube.
  std::optional<std::size_t> servers = {};
  Sample sample;  // With rates.
  ServerRates rates;
  History history;
  Abilities abilities;
  NextJobs jobs;                             // Of the tube whose screen is shown.
  std::optional<SeenClients> clients = {};   // Nothing: it was not asked since they are shown.
  std::optional<std::uint64_t> memory = {};  // Of the server's process in bytes, if it is known.
  std::uint64_t age_s = 0;  // Of the sample, if it is older than it should be; otherwise 0.
  std::string trouble;      // Why there is nothing newer; empty: all is well.
};

}  // namespace haricot::tool
