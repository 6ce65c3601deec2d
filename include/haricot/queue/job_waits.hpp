// Who waits for the end of a job: until it is deleted, or buried.
//
// Any number may wait for one job. A wait costs memory of its own; a job that nobody waits for has
// nothing of it. Places tells end() what becomes of a job while anybody waits for any. That takes
// one look-up, however many wait for the job: they have ended together, and take_ended() gives them
// out one by one, for Backlog to tell them.

#pragma once

#include <cstdint>

#include "haricot/base/hash_table.hpp"
#include "haricot/base/intrusive_list.hpp"
#include "haricot/base/sip_hash.hpp"
#include "haricot/base/time.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/engine_results.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/queue_state.hpp"

namespace haricot {

class JobWaits {
 public:
  // The state outlives this. Clients choose the ids, so these are hashed with the key.
  JobWaits(QueueState& state, const HashKey& key) : state_(state), hash_key_(key) {}
  ~JobWaits();
  JobWaits(const JobWaits&) = delete;
  JobWaits& operator=(const JobWaits&) = delete;

  // The client waits for the job, until `wait_end`. False: no memory, and nothing has changed.
  // Requires: the client is not busy, and there is room for its delivery.
  [[nodiscard]] bool begin(Client& client, JobId id, Instant wait_end);
  // The client waits no more.
  void drop(Client& client);
  // The job that a client waits for. Requires: it waits for one.
  JobId job_of(const Client& client) const;
  // Whether that job has ended, and the client has yet to be told.
  bool has_ended(const Client& client) const;

  // What the job has come to: job_deleted or job_buried.
  void end(JobId id, Delivery::Kind how);
  bool has_ended_some() const { return !ended_.empty(); }
  // The next one of those whose job has ended, who waits no more. Requires: has_ended_some().
  Delivery take_ended();

 private:
  friend class Inspection;

  struct WaitedJob;
  struct Wait {
    std::uint64_t hash;  // Of the client's number.
    Wait* next_in_bucket;
    Client* client;
    WaitedJob* job;
    ListHook of_job{};
  };
  // All who wait for a job.
  struct WaitedJob {
    std::uint64_t hash;  // Of the job's id.
    WaitedJob* next_in_bucket;
    JobId id;
    Delivery::Kind how{};  // Of one that has ended, and is in `ended_` and not in the table.
    IntrusiveList<Wait, &Wait::of_job> waits{};
    ListHook in_ended{};
  };

  std::uint64_t hash_of_job(JobId id) const;
  WaitedJob* find(JobId id) const;
  WaitedJob* find_or_create(JobId id);
  Wait& wait_of(const Client& client) const;
  void remove(Wait& wait);
  void free_if_empty(WaitedJob& job);

  QueueState& state_;
  HashKey hash_key_;
  HashTable<WaitedJob> by_job_;
  HashTable<Wait> by_client_;
  IntrusiveList<WaitedJob, &WaitedJob::in_ended> ended_;
};

}  // namespace haricot
