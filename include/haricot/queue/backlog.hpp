// What is too long for one call, or comes with the time: a bounded amount in each call.
//
// A command or a close does as much as the budget of its turn allows. What is left becomes a long
// task (LongTasks), and advance() goes on with it. A new kind of task is a struct in
// engine_tasks.hpp with a step() here, and a Delivery::Kind for its answer.
//
// A tube has one flush at a time. The next one waits, and its moment is the end of the one before.
// Nothing is put back: if the journal refuses a deletion, the client is told that its flush failed;
// the jobs stay out of sight, and the task tries again until they are recorded as deleted.

#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "haricot/base/time.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/engine_results.hpp"
#include "haricot/queue/engine_tasks.hpp"
#include "haricot/queue/flushes.hpp"
#include "haricot/queue/keys.hpp"
#include "haricot/queue/lane_order.hpp"
#include "haricot/queue/long_tasks.hpp"
#include "haricot/queue/offers.hpp"
#include "haricot/queue/places.hpp"
#include "haricot/queue/queue_state.hpp"
#include "haricot/queue/tries.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/watching.hpp"

namespace haricot {

class Backlog {
 public:
  // How many jobs one call moves at most, and how many all commands between two calls of advance()
  // move. At well under a microsecond each, others hardly notice.
  static constexpr std::uint32_t kJobsPerCall = 2000;
  // How many pages of a list of all tubes are written at most between two calls of advance(), and
  // by one.
  static constexpr std::uint32_t kPagesPerCall = 8;

  // All of them outlive this.
  Backlog(QueueState& state, Flushes& flushes, Tries& tries, Keys& keys, Places& places,
          Watching& watching, Offers& offers, LaneOrder& lanes)
      : state_(state),
        flushes_(flushes),
        tries_(tries),
        keys_(keys),
        places_(places),
        watching_(watching),
        offers_(offers),
        lanes_(lanes) {}
  ~Backlog();
  Backlog(const Backlog&) = delete;
  Backlog& operator=(const Backlog&) = delete;

  // What is due and what has waited goes on. The time is that of the state.
  void advance();
  // What was to wait for the journal's disk goes on.
  void resume();
  // A time in the past: there is something left to do.
  Instant next_event() const;
  // Whether something waits for the journal's disk.
  bool waits_for_disk() const { return tasks_.has_waiting() || tries_.waits_for_disk(); }

  // So many jobs commands may still move until advance().
  std::uint32_t& budget() { return budget_; }
  std::uint32_t& pages() { return pages_; }
  // Makes room for the delivery to a client that is about to wait. Throws std::bad_alloc.
  void make_room_for_delivery() { watching_.make_room(tasks_.awaited()); }

  // As the commands of the engine. They throw std::bad_alloc before anything has changed. Requires:
  // the client is not busy.
  ManyResult kick(Client& client, std::uint32_t bound);
  ManyResult flush(Client& client, Tube& tube, JobStates states);
  DeleteResult delete_batch(Client& client, std::span<const JobId> ids);
  Outcome set_weighted(Client& client, bool weighted);
  // Deletes a job. `left`: the key that outlives it; null: none does. `offers_next`: another job of
  // its lane may be open now, and is offered. Requires: room in the journal. Inlined, as a call
  // would make each deletion dearer.
  [[gnu::always_inline]] void delete_now(JobRef ref, const KeptKey* left, bool offers_next);
  // Lets a client go that does not wait for a job.
  void close(Client& client);
  // The end of the pause of a tube.
  void end_pause(Tube& tube, std::uint32_t& budget);

 private:
  friend class Inspection;

  using Kick = engine_tasks::Kick;
  using Orphans = engine_tasks::Orphans;
  using Flush = engine_tasks::Flush;
  using DeleteBatch = engine_tasks::DeleteBatch;
  using ModeChange = engine_tasks::ModeChange;
  using Tasks = LongTasks<engine_tasks::Work>;
  using Task = Tasks::Task;

  void fire_tube(Tube& tube, std::uint32_t& budget);
  void fire_client(Client& client, std::uint32_t& budget);
  void work(std::uint32_t budget);
  void end_task(std::unique_ptr<Task> task);
  void leave_task(Client& client);
  // Whether the task is done. Requires: the budget is not 0.
  TaskState step(Task& task, Kick& kick, std::uint32_t& budget);
  TaskState step(Task& task, Orphans& orphans, std::uint32_t& budget);
  TaskState step(Task& task, Flush& flush, std::uint32_t& budget);
  TaskState step(Task& task, DeleteBatch& batch, std::uint32_t& budget);
  TaskState step(Task& task, ModeChange& change, std::uint32_t& budget);
  Outcome delete_some(const Client& client, DeleteBatch& batch);
  void offer_first_of(std::span<Tube* const> tubes);
  Outcome kick_some(Kick& kick, Tube& tube, std::uint32_t& budget);
  TaskState flush_some(Flush& flush, Tube& tube, std::uint32_t& budget);
  bool can_delete();
  TaskState free_some(Flush& flush, Tube& tube, std::uint32_t& budget);
  JobRef take_orphan(Orphans& orphans);
  void give_back(Orphans& orphans, std::uint32_t& budget);

  QueueState& state_;
  Flushes& flushes_;
  Tries& tries_;
  Keys& keys_;
  Places& places_;
  Watching& watching_;
  Offers& offers_;
  LaneOrder& lanes_;
  Tasks tasks_;
  Instant refused_again_ = Instant::never();  // When those go on that the journal has refused.
  std::uint32_t budget_ = kJobsPerCall;
  std::uint32_t pages_ = kPagesPerCall;
};

inline void Backlog::delete_now(JobRef ref, const KeptKey* left, bool offers_next) {
  const Job& job = state_.jobs[ref];
  Tube& tube = state_.tubes[job.tube];
  // Before it leaves: the deadline of a delayed job stands in the heap that it leaves.
  state_.journal.record_deletion(flushes_.journaled(ref, job, tube), left);
  places_.to_nowhere(ref, place_of(job.state()));
  state_.jobs.destroy(ref);
  if (offers_next) {
    offers_.offer(tube);
  } else {
    watching_.announce(tube);
  }
  ++tube.deletes;
  state_.free_if_unreferenced(tube);
}

}  // namespace haricot
