// Read-only queries of jobs, tubes and clients: of one, or of a page of many.
//
// A page is bounded in its results and in the elements that it scans. The cost of a query is
// counted in steps.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "haricot/base/time.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/engine_results.hpp"
#include "haricot/queue/flushes.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/lanes.hpp"
#include "haricot/queue/queue_state.hpp"
#include "haricot/queue/times.hpp"
#include "haricot/queue/tube.hpp"

namespace haricot {

class Queries {
 public:
  Queries(QueueState& state, const Flushes& flushes, const LaneOrder& lanes, Times& times)
      : state_(state), flushes_(flushes), lanes_(lanes), times_(times) {}

  // Return the first job of the used tube in that state, in the order of service, or JobRef::none.
  JobRef peek_ready(const Client& client) const;
  JobRef peek_delayed(const Client& client) const;
  JobRef peek_buried(const Client& client) const;
  std::optional<JobReport> report(JobId id, Instant now) const;
  JobReport report(JobRef ref, Instant now) const;  // Requires: the job exists.
  TubeDetail detail(const Tube& tube, Instant now);

  // Appends the jobs with an id of at least `from` to `found`, in the order of their ids: at most
  // `count` jobs in the tube (null: any) and in the state (nullopt: any). Scans at most kScanned
  // jobs. Throws std::bad_alloc.
  ScanResult scan(JobId from, std::uint32_t count, const Tube* tube, std::optional<JobState> state,
                  std::vector<JobRef>& found);
  static constexpr std::uint32_t kScanned = 1000;
  // Appends the first `count` jobs of the tube that are in the state, in the order of service.
  // Requires: any state except reserved. Throws std::bad_alloc.
  void list(const Tube& tube, JobState state, std::uint32_t count, std::vector<JobRef>& found);
  // Appends at most `count` clients whose reference is at least `from` to `found`, in the order of
  // their references. Scans at most kScanned references. Returns the reference at which the next
  // scan begins; 0: there are no more clients. Throws std::bad_alloc.
  std::uint64_t scan_clients(std::uint64_t from, std::uint32_t count,
                             std::vector<const Client*>& found);
  // Number of adjacent references in a cache line.
  static constexpr std::uint32_t kRefsPerStep = 8;

 private:
  QueueState& state_;
  const Flushes& flushes_;
  const LaneOrder& lanes_;
  Times& times_;
};

}  // namespace haricot
