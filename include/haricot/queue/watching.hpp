// The watches and waits of clients: which client watches which tube, which clients wait, which tube
// serves a client next, and the deliveries to clients that waited.
//
// A client with few watches is in the lists of its tubes while it waits. A client with many
// (WatchIndex) is notified of the offers of its tubes, by announce(), and has a heap of those with
// a job. The reserves of a client may be shared among its tubes by weight (WatchWeights).

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "haricot/base/time.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/engine_results.hpp"
#include "haricot/queue/long_tasks.hpp"
#include "haricot/queue/queue_state.hpp"
#include "haricot/queue/tube.hpp"

namespace haricot {

class Watching {
 public:
  explicit Watching(QueueState& state) : state_(state) {}

  // Adds a client, which uses and watches the tube "default". Returns false if memory is short;
  // nothing has changed then.
  [[nodiscard]] bool open(Client& client);
  // Removes a client, and returns its jobs and watches. Requires: the client does not wait.
  tasks::ClosedClient close(Client& client);
  // Removes watches of a closed client, the last one first.
  void drop_watches(tasks::ClosedClient& closed, const Budget& budget);

  // done, out_of_memory
  Outcome use(Client& client, std::string_view tube_name);
  Outcome watch(Client& client, std::string_view tube_name);
  // Watches a tube with a weight. Requires: the client has weights. done, out_of_memory
  Outcome watch(Client& client, Tube& tube, std::uint32_t weight);
  // Gives all watches of a client without weights the weight 1. Few watches get it at once. For
  // many, `made` has the weights so far if the budget is used up. done, waiting, out_of_memory
  Outcome make_weights(std::unique_ptr<WatchWeights>& made, Client& client, const Budget& budget);
  // done, only_watched
  Outcome ignore(Client& client, std::string_view tube_name);
  // Requires: the client does not wait. done, waiting (the budget is used up; repeat the call with
  // the same `change`), out_of_memory
  Outcome change_mode(tasks::ModeChange& change, Client& client, const Budget& budget);

  // Returns the tube whose first job is the client's next, or null. If the client gets that job,
  // charge() has to follow.
  Tube* best_tube(const Client& client);
  // Returns a watched tube that has jobs for clients that are already waiting
  // (Tube::offers_job_later), or null. While there is one, a reserve queues behind those clients,
  // and no client is answered that there is no job.
  Tube* tube_behind(const Client& client);
  void charge(Client& client, Tube& tube) {
    if (client.watches_.are_weighted()) [[unlikely]]
      charge_weighted(client, tube);
  }
  // Gives the client these weights, one for each watch. Requires: it has none.
  void take_weights(Client& client, std::unique_ptr<WatchWeights> weights);
  // Returns the sequence number of the client's wait; lower means waiting longer.
  static std::uint64_t wait_number(const Client& client);
  // Returns the client that has waited on the tube for longest, or null.
  Client* first_waiting(Tube& tube);
  // Number of clients that wait on the tube. O(clients with many watches that watch it), counted as
  // steps.
  std::uint32_t waiting_clients(const Tube& tube);
  // Notifies clients with many watches of the tube's offer. Called after every change of the
  // offer, once it is known what becomes of the job: a job that is given away at once is not
  // announced.
  void announce(Tube& tube) {
    if (tube.many_watchers > 0) [[unlikely]]
      announce_to_many(tube);
  }
  // Returns the maximum number of steps of a reserve: it scans the tubes, and either waits on each
  // or announces what it has taken. If there are clients with many watches, this scans the tubes
  // itself.
  std::uint32_t reserve_steps(const Client& client) const {
    const std::uint32_t scans = client.watches_.are_many() ? 1 : client.watches_.list_.size();
    const std::uint32_t notified = clients_with_many_ == 0 ? 0 : most_notified(client);
    return 2 * scans + notified * QueueState::kStepsPerJob;
  }
  // Returns the steps of giving a job of the tube to the client that waits there and of notifying
  // the watchers. O(1).
  std::uint32_t offer_steps(const Tube& tube) const;
  std::uint32_t clients_with_many() const { return clients_with_many_; }
  // Return the steps of watching one more tube, or one less, if that iterates over all watches;
  // otherwise 0.
  static std::uint32_t watch_steps(const Client& client);
  static std::uint32_t ignore_steps(const Client& client);

  // Requires: allocate_deliveries() was called since the last wait began.
  void start_waiting(Client& client, Instant wait_end, WaitFor waits_for);
  void end_wait(Client& client);
  // Sets the end of the client's wait.
  void end_wait_by(Client& client, Instant end);
  // Ends the wait without a job. `why` is timed_out, deadline_soon or aborted. A client that waits
  // for a batch gets an empty one if it times out.
  void end_wait_without_job(Client& client, Delivery::Kind why);
  // Returns true if the TTR of a held job ends soon.
  bool is_deadline_soon(const Client& client) const {
    return !client.held_.empty() &&
           client.held_.first().deadline <= state_.now + QueueState::kDeadlineMargin;
  }

  // Allocates room for one more delivery, besides those to all waiting clients and `others`. Throws
  // std::bad_alloc.
  void allocate_deliveries(std::size_t others);
  // Adds a delivery. Counts kStepsPerDelivery, except for an immediate answer, which is sent with
  // the other answers of its client.
  void deliver(const Delivery& delivery);
  const std::vector<Delivery>& deliveries() const { return deliveries_; }
  void clear_deliveries() { deliveries_.clear(); }

 private:
  friend class Inspection;

  bool add_watch(Client& client, Tube& tube);
  bool add_to_index(Client& client, Watch& watch);
  void become_many(Client& client);
  void become_few(Client& client);
  void remove_watch(Client& client, Watch& watch);
  void drop_watch(Watch& watch, bool of_many);
  static Watch* find_watch(const Client& client, Tube& tube);
  [[gnu::cold, gnu::noinline]] Client* first_of_many_waiting(Tube& tube, std::uint64_t before);
  [[gnu::cold, gnu::noinline]] void announce_to_many(Tube& tube);
  static void update_offer(Client& client, Watch& watch);
  [[gnu::cold, gnu::noinline]] static std::uint32_t most_notified(const Client& client);
  [[gnu::cold, gnu::noinline]] Tube* best_weighted(const Client& client);
  [[gnu::cold, gnu::noinline]] static void charge_weighted(Client& client, Tube& tube);

  QueueState& state_;
  // Has room for a delivery to every busy client, so that delivering cannot fail.
  std::vector<Delivery> deliveries_;
  std::uint64_t waits_ = 0;              // Number of the last wait.
  std::uint32_t clients_with_many_ = 0;  // Clients with many watches.
  std::uint32_t waiting_with_many_ = 0;  // Waiting clients with many watches.
};

}  // namespace haricot
