// Finds the jobs of a server that cannot list them, by asking for each possible id.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tool/client/remote.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::tool {

// Servers assign ids in ascending order. So the search puts a delayed job into a tube of its own,
// deletes it, and asks for the ids below it in descending order. It ends when it has found as many
// jobs as the server has, or at id 1. A server in drain mode accepts no job, but gets no new jobs
// either: there the search ascends from id 1 until it has found all jobs.
//
// A call that returns nothing or false has set failure() of the server.
class JobSearch final {
 public:
  // Finds jobs of these tubes, or of all tubes if `tubes` is empty. Requires: `server` outlives the
  // object.
  JobSearch(Remote& server, std::vector<std::string> tubes)
      : server_(server), tubes_(std::move(tubes)) {}

  // Shows progress: `done` of `all` ids; 0 if unknown.
  using Show = std::function<void(std::uint64_t done, std::uint64_t all)>;

  // Returns the ids of the jobs in ascending order. A job is included if it exists during the whole
  // call.
  std::optional<std::vector<std::uint64_t>> find(const Show& show);

  // Returns the statistics of those jobs that still exist and are in one of the tubes, in order.
  // Costs a round trip.
  std::optional<std::vector<StatsText>> ask_jobs(std::span<const std::uint64_t> ids);

 private:
  [[nodiscard]] bool find_bound();
  [[nodiscard]] bool add_next();
  // Returns true if found_ has all jobs that existed when the call began; nothing if the server
  // failed.
  std::optional<bool> has_all();
  std::optional<std::uint64_t> count_jobs();
  [[nodiscard]] bool drop_gone();

  Remote& server_;
  std::vector<std::string> tubes_;
  std::uint64_t bound_ = 0;  // Upper bound of the ids, exclusive; 0 in drain mode.
  std::uint64_t asked_ = 0;  // Number of ids asked for: from bound_ down, or from 1 up.
  std::vector<std::uint64_t> found_;
};

}  // namespace haricot::tool
