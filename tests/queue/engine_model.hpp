// The engine as simply as possible: values in vectors and maps, searched from end to end. It is
// copied to try alternatives, and compared with the real engine after every step of the random
// test.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "haricot/queue/engine.hpp"

namespace haricot::test {

struct ModelJob {
  JobId id = 0;
  std::string tube = {};
  std::string lane = {};  // Key of the lane; empty: none.
  JobState state = JobState::ready;
  std::uint32_t priority = 0;
  std::uint32_t delay_s = 0;
  std::uint32_t ttr_s = 0;
  Instant created = {};
  Instant deadline = {};      // Delayed: end of the delay; reserved: end of the TTR.
  std::uint64_t arrival = 0;  // With a deadline: grows with each one set.
  int holder = 0;             // Reserved: the client.
  std::uint64_t grave = 0;    // Buried: grows with each burial.
  std::uint64_t reserves = 0, timeouts = 0, releases = 0, buries = 0, kicks = 0;
};

struct ModelTube {
  std::string name;
  bool paused = false;
  Instant pause_end = {};
  std::uint32_t pause_s = 0;
  std::uint64_t total_jobs = 0, deletes = 0, pauses = 0;
};

struct ModelClient {
  std::string used = "default";
  std::vector<std::string> watched{"default"};
  bool waiting = false;
  bool waits_for_batch = false;
  Instant wait_end = {};
  std::uint64_t arrival = 0;  // Waiting: grows with each wait.
  bool producer = false;
  bool worker = false;
};

struct ModelGot {
  int client;
  Delivery::Kind kind;
  JobId job = 0;

  bool operator==(const ModelGot&) const = default;
};

struct Model {
  std::map<JobId, ModelJob> jobs;
  std::vector<ModelTube> tubes{ModelTube{.name = "default"}};
  std::map<int, ModelClient> clients;
  std::vector<ModelGot> deliveries;
  std::uint64_t total_jobs = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t graves = 0;
  std::uint64_t arrivals = 0;  // Number of the last wait.
  std::uint64_t deadlines_set = 0;
  // By tube and key.
  std::map<std::pair<std::string, std::string>, std::uint32_t> lane_limits;

  // Commands of the engine. `refused`: the journal refuses room.
  void open(int client) { clients[client] = ModelClient{}; }
  void close(int client, Instant now);
  Outcome put(int client, const NewJob& put, bool refused, Instant now);
  void use(int client, const std::string& tube);
  void watch(int client, const std::string& tube);
  Outcome ignore(int client, const std::string& tube);
  Outcome reserve(int client, Instant wait_end, Instant now, JobId& reserved);
  Outcome reserve_job(int client, JobId id, bool refused, Instant now);
  void time_out(int client);
  void stop_waiting(int client);
  Outcome delete_job(int client, JobId id, bool refused, Instant now);
  Outcome release(int client, JobId id, std::uint32_t priority, std::uint32_t delay_s, bool refused,
                  Instant now);
  Outcome bury(int client, JobId id, std::uint32_t priority, bool refused, Instant now);
  Outcome touch(int client, JobId id, Instant now);
  std::uint64_t touch_all(int client, Instant now);
  // `room_for`: number of jobs for which the journal has room.
  Outcome kick(int client, std::uint32_t bound, std::uint32_t room_for, Instant now,
               std::uint64_t& kicked);
  Outcome kick_job(JobId id, bool refused, Instant now);
  // Return and remove the jobs in these states of the tube, like a flush whose journal accepts all.
  std::vector<JobId> flushed_by(const std::string& tube, JobStates states) const;
  void take_away(const std::string& tube, const std::vector<JobId>& ids);
  Outcome reserve_batch(int client, std::uint32_t count, Instant wait_end, Instant now,
                        std::vector<JobId>& taken);
  Outcome delete_batch(int client, const std::vector<JobId>& ids, bool refused, Instant now,
                       std::uint32_t& deleted);
  Outcome pause(const std::string& tube, std::uint32_t seconds, Instant now);

  // Time. Tubes and clients may be due at the same moment in any order, so the caller chooses.
  std::vector<std::string> due_tubes(Instant now) const;
  std::vector<int> due_clients(Instant now) const;
  void fire_tube(const std::string& name, Instant now);
  void fire_client(int client, Instant now);

  // Queries.
  ModelTube* find_tube(const std::string& name);
  // Returns the ready jobs in the order in which they would be served if no reservation ended;
  // those after the first `free` are blocked.
  std::vector<const ModelJob*> ready_jobs(const std::string& tube, std::size_t& free) const;
  const ModelJob* first_ready(const std::string& tube) const;
  // A job that a worker could get.
  const ModelJob* first_free(const std::string& tube) const;
  const ModelJob* first_delayed(const std::string& tube) const;
  const ModelJob* first_buried(const std::string& tube) const;
  const ModelJob* first_ending(int client) const;
  std::uint64_t count(const std::string& tube, JobState state) const;

 private:
  ModelTube& find_or_create(const std::string& name);
  void drop_if_unreferenced(const std::string& name);
  void make_ready(ModelJob& job, Instant now);
  void make_delayed(ModelJob& job, Instant deadline);
  void make_buried(ModelJob& job);
  void make_reserved(int client, ModelJob& job, Instant now);
  void offer(const std::string& tube, Instant now);
  bool holds(int client, JobId id) const;
  int first_waiting(const std::string& tube) const;
};

}  // namespace haricot::test
