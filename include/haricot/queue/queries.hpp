// Read-only queries of jobs, tubes and clients: of one, or of a page of many.
//
// A page is bounded in its results and in the elements that it scans. The cost of a query is
// counted in steps.

#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "haricot/base/time.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/engine_results.hpp"
#include "haricot/queue/flushes.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/lanes.hpp"
#include "haricot/queue/queue_state.hpp"
#include "haricot/queue/rules.hpp"
#include "haricot/queue/times.hpp"
#include "haricot/queue/tube.hpp"

namespace haricot {

class Queries {
 public:
  Queries(QueueState& state, const Flushes& flushes, const LaneOrder& lanes, Times& times,
          Rules& rules)
      : state_(state), flushes_(flushes), lanes_(lanes), times_(times), rules_(rules) {}

  // Return the first job of the used tube in that state, in the order of service, or JobRef::none.
  JobRef peek_ready(const Client& client) const;
  JobRef peek_delayed(const Client& client) const;
  JobRef peek_buried(const Client& client) const;
  std::optional<JobReport> report(JobId id, Instant now) const;
  JobReport report(JobRef ref, Instant now) const;  // Requires: the job exists.
  // Throws std::bad_alloc.
  TubeDetail detail(const Tube& tube, Instant now);
  std::uint32_t detail_steps(const Tube& tube) const {
    return Times::detail_steps(tube) + rules_.steps_of(tube);
  }

  // Appends the jobs with an id of at least `from` to `found`, in the order of their ids: at most
  // `count` jobs in the tube (null: any) and in the state (nullopt: any). Scans at most kScanned
  // jobs. Throws std::bad_alloc.
  ScanResult scan(JobId from, std::uint32_t count, const Tube* tube, std::optional<JobState> state,
                  std::vector<JobRef>& found);
  static constexpr std::uint32_t kScanned = 1000;
  // Appends the first `count` jobs of the tube that are in the state, in the order of service.
  // Requires: any state except reserved. Throws std::bad_alloc.
  void list(const Tube& tube, JobState state, std::uint32_t count, std::vector<JobRef>& found);
  // Does a piece of a search for the first `count` reserved jobs of the tube by the ends of their
  // TTRs, and by id if these are equal. Returns true if the search is complete; then
  // take_reserved() has to follow, otherwise another call for the same client. O(clients + their
  // jobs), kStepsPerPiece at a time. Throws std::bad_alloc.
  bool search_reserved(const Client& asker, const Tube& tube, std::uint32_t count);
  // Ends the search, and appends the jobs that it has found and that their clients still hold. A
  // job may be missing if it was reserved, or its TTR restarted, during a search of several pieces.
  // Returns false if there is no search. Throws std::bad_alloc.
  [[nodiscard]] bool take_reserved(const Client& asker, const Tube& tube,
                                   std::vector<JobRef>& refs);
  // Ends the search of a client, if there is one.
  void forget_search(const Client& asker) {
    if (!reserved_.empty()) reserved_.erase(asker.ref());
  }
  // Appends at most `count` clients whose reference is at least `from` to `found`, in the order of
  // their references. Scans at most kScanned references. Returns the reference at which the next
  // scan begins; 0: there are no more clients. Throws std::bad_alloc.
  std::uint64_t scan_clients(std::uint64_t from, std::uint32_t count,
                             std::vector<const Client*>& found);
  // Number of adjacent references in a cache line.
  static constexpr std::uint32_t kRefsPerStep = 8;

 private:
  static constexpr std::uint32_t kAllHeld = ~std::uint32_t{0};

  struct ReservedSearch {
    struct Found {
      Instant deadline;
      JobId id;

      auto operator<=>(const Found&) const = default;
    };

    std::uint32_t client = 1;       // Reference of the client whose jobs are next.
    std::uint32_t left = kAllHeld;  // Number of its jobs, from the front of its heap, to visit.
    std::vector<Found> found{};     // A heap.

    void add(const Found& job);
  };

  QueueState& state_;
  const Flushes& flushes_;
  const LaneOrder& lanes_;
  Times& times_;
  Rules& rules_;
  std::unordered_map<ClientRef, ReservedSearch> reserved_;  // By the clients that asked.
};

}  // namespace haricot
