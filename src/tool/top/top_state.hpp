// What `haricot top` knows of the server at a moment.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tool/client/sample.hpp"
#include "tool/top/history.hpp"
#include "tool/top/next_jobs.hpp"

namespace haricot::tool {

struct TopState {
  std::string address;
  Sample sample;  // With rates.
  ServerRates rates;
  History history;
  Abilities abilities;
  NextJobs jobs;                             // Of the tube whose screen is shown.
  std::optional<std::uint64_t> memory = {};  // Of the server's process in bytes, if it is known.
  std::string trouble;                       // Why there is nothing newer; empty: all is well.
};

}  // namespace haricot::tool
