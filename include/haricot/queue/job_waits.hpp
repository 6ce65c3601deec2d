// Clients that wait for the end of a job: its deletion or its burial.
//
// Any number of clients may wait for a job. Each wait has memory of its own; a job without waits
// needs none. While there are waits, Places reports the end of every job to end(). That takes one
// lookup, however many clients wait: all waits for the job end together, and Backlog takes them one
// by one with take_ended() to deliver the answers.

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
  // Requires: the state outlives this object. Ids are hashed with `key`, because clients choose
  // them.
  JobWaits(QueueState& state, const HashKey& key) : state_(state), hash_key_(key) {}
  ~JobWaits();
  JobWaits(const JobWaits&) = delete;
  JobWaits& operator=(const JobWaits&) = delete;

  // Makes the client wait for the job until `wait_end`. Returns false if memory is short; nothing
  // has changed then. Requires: the client is not busy, and there is room for its delivery.
  [[nodiscard]] bool begin(Client& client, JobId id, Instant wait_end);
  // Ends the wait of a client without a delivery.
  void drop(Client& client);
  // Returns the job that a client waits for. Requires: it waits for one.
  JobId job_of(const Client& client) const;
  // Returns true if that job has ended, and the client has no delivery yet.
  bool has_ended(const Client& client) const;

  // Ends all waits for a job; `how` is job_deleted or job_buried.
  void end(JobId id, Delivery::Kind how);
  bool has_ended_some() const { return !ended_.empty(); }
  // Takes the next client whose job has ended, and returns its delivery. Requires:
  // has_ended_some().
  Delivery take_ended();

 private:
  friend class Inspection;

  struct WaitedJob;
  struct Wait {
    std::uint64_t hash;  // Hash of the client's reference.
    Wait* next_in_bucket;
    Client* client;
    WaitedJob* job;
    ListHook of_job{};
  };
  // A job with waits.
  struct WaitedJob {
    std::uint64_t hash;  // Hash of the job's id.
    WaitedJob* next_in_bucket;
    JobId id;
    Delivery::Kind how{};  // Valid if the job has ended; it is in `ended_` then.
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
