// The jobs of a server that cannot list them: the server is asked for each id that a job can have.

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

// A server gives ids in their order. So a job that is put now has a higher id than all others: the
// search puts such a job, delayed and into a tube of its own, deletes it, and goes down from there.
// It ends when it has found as many jobs as the server has, or at id 1. A server in drain mode
// takes no job. It gets no new ones either, so the search goes up from id 1 until it has found all.
//
// A call that returns nothing or false has set failure() of the server.
class JobSearch final {
 public:
  // Jobs of these tubes, or with no names of all. `server` outlives the object.
  JobSearch(Remote& server, std::vector<std::string> tubes)
      : server_(server), tubes_(std::move(tubes)) {}

  // Ids that were asked for, of so many; 0: nobody knows.
  using Show = std::function<void(std::uint64_t done, std::uint64_t all)>;

  // The ids of the jobs in their order. A job is among them if it is there all the time.
  std::optional<std::vector<std::uint64_t>> find(const Show& show);

  // The statistics of those jobs that are there still and in one of the tubes, in their order.
  // Costs a round trip.
  std::optional<std::vector<StatsText>> ask_jobs(std::span<const std::uint64_t> ids);

 private:
  [[nodiscard]] bool find_bound();
  [[nodiscard]] bool add_next();
  // True: `found_` has all jobs that were there when the call began. Nothing: the server failed.
  std::optional<bool> has_all();
  std::optional<std::uint64_t> count_jobs();
  [[nodiscard]] bool drop_gone();

  Remote& server_;
  std::vector<std::string> tubes_;
  std::uint64_t bound_ = 0;  // No job has this id or a higher one; 0: in drain mode.
  std::uint64_t asked_ = 0;  // Ids: from `bound_` down, or from 1 up.
  std::vector<std::uint64_t> found_;
};

}  // namespace haricot::tool
