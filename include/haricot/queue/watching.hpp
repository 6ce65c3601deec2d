// Which client watches which tube, who waits, and which tube serves a client next; and what has
// come to those who waited.
//
// A client with few watches stands in the lists of its tubes while it waits. One with many
// (WatchIndex) is told what its tubes offer, by announce(), and has a heap of those that have a
// job. The reserves of a client may be shared out among its tubes by weight (WatchWeights).

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "haricot/base/budget.hpp"
#include "haricot/base/time.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/engine_results.hpp"
#include "haricot/queue/engine_tasks.hpp"
#include "haricot/queue/queue_state.hpp"
#include "haricot/queue/tube.hpp"

namespace haricot {

class Watching {
 public:
  // The state outlives this.
  explicit Watching(QueueState& state) : state_(state) {}

  // Takes a client in, which uses and watches the tube "default". False: no memory, and nothing has
  // changed.
  [[nodiscard]] bool open(Client& client);
  // Lets it go, and returns what it leaves behind. Requires: it does not wait.
  engine_tasks::ClosedClient close(Client& client);
  // Drops watches of a closed client, the last one first.
  void drop_watches(engine_tasks::ClosedClient& closed, const Budget& budget);

  // done, out_of_memory
  Outcome use(Client& client, std::string_view tube_name);
  Outcome watch(Client& client, std::string_view tube_name);
  // The same, with a weight. Requires: the client has weights.
  Outcome watch(Client& client, Tube& tube, std::uint32_t weight);
  // Weights for all watches, if the client has none: of 1. Those of few watches are made at once;
  // of many, what is made when the budget is used up is in `made`. done, waiting, out_of_memory
  Outcome make_weights(std::unique_ptr<WatchWeights>& made, Client& client, const Budget& budget);
  // done, only_watched
  Outcome ignore(Client& client, std::string_view tube_name);
  // Requires: the client does not wait. done, waiting (if the budget does not suffice, and
  // it has to go on with the same change), out_of_memory
  Outcome change_mode(engine_tasks::ModeChange& change, Client& client, const Budget& budget);

  // The tube whose first job is the client's next; null if there is none. `charge` says that it has
  // got that job.
  Tube* best_tube(const Client& client);
  // A watched tube that has jobs and serves clients that wait already (Tube::offers_job_later);
  // null if there is none. While there is one, a reserve queues behind those clients, and no client
  // is told that there is no job.
  Tube* tube_behind(const Client& client);
  void charge(Client& client, Tube& tube) {
    if (client.is_weighted()) [[unlikely]]
      charge_weighted(client, tube);
  }
  // Gives the client these weights, one for each watch; it has none.
  void take_weights(Client& client, std::unique_ptr<WatchWeights> weights);
  // Of a client that waits: who has the smaller number has waited longer.
  static std::uint64_t wait_number(const Client& client);
  // Who has waited on the tube for longest; null if nobody waits there.
  Client* first_waiting(Tube& tube);
  // How many wait on it. O(clients with many watches that watch it), counted as steps.
  std::uint32_t waiting_clients(const Tube& tube);
  // Tells the clients with many watches what the tube offers now. To be called after every change
  // of that, when it is known what becomes of the job: one that is handed over at once is never
  // told of.
  void announce(Tube& tube) {
    if (tube.many_watchers > 0) [[unlikely]]
      announce_to_many(tube);
  }
  // How many steps a reserve takes at most: it looks through the tubes, and waits on each or tells
  // other clients what it has taken. Where some have many watches, it costs a look through the
  // tubes itself.
  std::uint32_t reserve_steps(const Client& client) const {
    const std::uint32_t looks = client.has_many_watches() ? 1 : client.watches_.size();
    const std::uint32_t told = clients_with_many_ == 0 ? 0 : most_told(client);
    return 2 * looks + told * QueueState::kStepsPerJob;
  }
  // How many steps it takes to give a job of the tube to who waits there, or to have watchers told
  // of it. O(1).
  std::uint32_t offer_steps(const Tube& tube) const;
  std::uint32_t clients_with_many() const { return clients_with_many_; }
  // How many steps it takes to watch one tube more, or less, where that walks over all watches.
  static std::uint32_t watch_steps(const Client& client);
  static std::uint32_t ignore_steps(const Client& client);

  // Requires: allocate_deliveries() since the last one began.
  void start_waiting(Client& client, Instant wait_end, WaitFor what);
  void end_wait(Client& client);
  // The client gets no job, and is told so: timed_out, deadline_soon, aborted. Who waits for a
  // batch gets an empty one when its time is over.
  void end_wait_without_job(Client& client, Delivery::Kind why);
  // The end of the TTR of a job that it holds is near.
  bool is_deadline_soon(const Client& client) const {
    return !client.reserved_.empty() &&
           client.reserved_.top().deadline <= state_.now + QueueState::kDeadlineMargin;
  }

  // Makes room for one more delivery, beside those to all who wait and to so many others. Throws
  // std::bad_alloc.
  void allocate_deliveries(std::size_t others);
  // Costs kStepsPerDelivery, but for an answer that comes at once: it is sent with the others of
  // its client.
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
  [[gnu::cold, gnu::noinline]] static std::uint32_t most_told(const Client& client);
  [[gnu::cold, gnu::noinline]] Tube* best_weighted(const Client& client);
  [[gnu::cold, gnu::noinline]] static void charge_weighted(Client& client, Tube& tube);

  QueueState& state_;
  // Has room for one delivery to every client that is busy, so that delivering cannot fail.
  std::vector<Delivery> deliveries_;
  std::uint64_t waits_ = 0;              // Numbers those who wait.
  std::uint32_t clients_with_many_ = 0;  // Clients with many watches,
  std::uint32_t waiting_with_many_ = 0;  // and those of them that wait.
};

}  // namespace haricot
