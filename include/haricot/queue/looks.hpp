// Looks at jobs, tubes and clients, which change nothing: at one, or at a page of many.
//
// A page is bounded: in what is found, and in what is looked at. What a look costs is counted in
// steps.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "haricot/base/time.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/engine_results.hpp"
#include "haricot/queue/flushes.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/lane_order.hpp"
#include "haricot/queue/queue_state.hpp"
#include "haricot/queue/times.hpp"
#include "haricot/queue/tube.hpp"

namespace haricot {

class Looks {
 public:
  // All of them outlive this.
  Looks(QueueState& state, const Flushes& flushes, const LaneOrder& lanes, Times& times)
      : state_(state), flushes_(flushes), lanes_(lanes), times_(times) {}

  // The first job of the tube that the client uses, as it will be served; JobRef::none if there is
  // none.
  JobRef peek_ready(const Client& client) const;
  JobRef peek_delayed(const Client& client) const;
  JobRef peek_buried(const Client& client) const;
  std::optional<JobReport> report(JobId id, Instant now) const;
  JobReport report(JobRef ref, Instant now) const;  // Requires: the job exists.
  TubeDetail detail(const Tube& tube, Instant now);

  // Adds jobs whose id is at least `from` to `found`, in the order of their ids: up to `count` that
  // are in the tube (null: any) and in the state (nullopt: any). Looks at kScanned jobs at most.
  // Throws std::bad_alloc.
  ScanResult scan(JobId from, std::uint32_t count, const Tube* tube, std::optional<JobState> state,
                  std::vector<JobRef>& found);
  static constexpr std::uint32_t kScanned = 1000;
  // Adds the next `count` jobs of the tube that are in the state, in the order in which they will
  // be served. Requires: not reserved. Throws std::bad_alloc.
  void list(const Tube& tube, JobState state, std::uint32_t count, std::vector<JobRef>& found);
  // Adds clients whose reference is at least `from` to `found`, in the order of their references:
  // up to `count`. Looks at kScanned references at most. Returns where the next look goes on; 0:
  // there is no later client. Throws std::bad_alloc.
  std::uint64_t scan_clients(std::uint64_t from, std::uint32_t count,
                             std::vector<const Client*>& found);
  // References are looked at side by side: so many in a line of the cache.
  static constexpr std::uint32_t kRefsPerStep = 8;

 private:
  QueueState& state_;
  const Flushes& flushes_;
  const LaneOrder& lanes_;
  Times& times_;
};

}  // namespace haricot
