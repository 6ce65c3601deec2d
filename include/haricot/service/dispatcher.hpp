// Turns a command into calls of the engine, and what comes of them into a reply.
//
// Only the dispatcher knows both the protocol and the queue. Its handlers are short and alike: they
// ask the engine and name the reply. Whatever takes more code is in the engine.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/base/memory_cushion.hpp"
#include "haricot/base/state_stream.hpp"
#include "haricot/protocol/command.hpp"
#include "haricot/protocol/reply.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/service/pending_tags.hpp"
#include "haricot/service/report.hpp"
#include "haricot/service/request_reader.hpp"
#include "haricot/service/server_info.hpp"

namespace haricot {

// Puts that were answered JOB_TOO_BIG, for the log.
struct OversizedPuts {
  std::uint64_t count = 0;
  std::uint32_t largest_bytes = 0;
  std::uint32_t limit = 0;
  std::string tube = {};  // That of the last one.
};

class Dispatcher {
 public:
  // All outlive the dispatcher.
  Dispatcher(Engine& engine, Journal& journal, const ServerInfo& info, MemoryCushion& cushion,
             Instant start);

  const ServerInfo& info() const { return info_; }

  // Runs any command but put. Texts of the reply are valid until the next call. Requires: the
  // client is not busy. A reply of code none means that the client is busy now and gets a delivery
  // later; one of code not_yet, that the journal waits for its disk and nothing has happened.
  // `commands` is what the client has.
  Reply run(Client& client, const Command& command, CommandSet commands, Instant now);

  // The jobs of a reply reserved_batch, in order; and the answer that one of them gets. Valid until
  // the next call.
  std::span<const JobRef> batch() const { return batch_; }
  Reply with_job(ReplyCode code, JobRef ref);

  // Counts a command in its `cmd-` key. run() and begin_put() do so themselves.
  void count(Verb verb) { ++verbs_[static_cast<std::size_t>(verb)]; }
  // Takes back that run() has counted it: it is going to be run again.
  void count_less(Verb verb) { --verbs_[static_cast<std::size_t>(verb)]; }

  // Whether a body of that many bytes is answered JOB_TOO_BIG.
  bool is_too_big(std::uint32_t body_bytes) const { return body_bytes > info_.job_bytes_max; }

  // A put comes in two parts, because its session has to read the body in between. begin_put(),
  // when the line was read: the put gets its id, and memory for a large body, or is refused.
  // finish_put(), when the body is there and ends with CR LF: the engine takes the body only if it
  // inserts the job, so after not_yet finish_put() can be called again.
  // A plan that never comes to its end, or is refused, has to be forgotten.
  PutPlan begin_put(Client& client, const Command& command);
  Reply finish_put(Client& client, const PutPlan& plan, NewBody& body, Instant now);
  // The line of the put that was begun last is about to go, and the put need not be finished.
  void let_line_go() { tags_.let_line_go(); }
  void forget_put(const PutPlan& plan) {
    if (plan.has_tags) [[unlikely]]
      tags_.forget(plan.id);
  }

  // The text of the tags of a put whose body is under way; empty: it has none. And the way back.
  std::string_view tags_of(const PutPlan& plan);
  [[nodiscard]] bool keep_tags(const PutPlan& plan, std::string_view text);

  // The reply to a client that waited. The job's body in it is valid as long as the job is.
  Reply delivered(const Delivery& delivery);

  void count_connection() { ++total_connections_; }
  void count_refused_connection() { ++limits_felt_.refused_connections; }
  void count_idle_connection() { ++limits_felt_.idle_connections; }
  void count_hand_over() { ++hand_overs_; }
  // From now on every put is answered DRAINING.
  void drain() { draining_ = true; }
  bool is_draining() const { return draining_; }

  // What was too big since it was taken out the last time.
  bool has_oversized() const { return oversized_.count > 0; }
  OversizedPuts take_oversized() { return std::exchange(oversized_, {}); }

 private:
  // The reply to a command that says no more than how it ended. `done` is the word for success.
  static Reply simple(Outcome outcome, ReplyCode done);
  ReplyCode find_room(PutPlan& plan, const Command& command);
  [[gnu::noinline]] Outcome put_within_limit(Client& client, const NewJob& job, NewBody& body,
                                             Instant now);
  // The reply to a put whose key a job has.
  Reply inserted_again();
  void count_oversized(const Client& client, std::uint32_t bytes);
  Reply reserve(Client& client, Instant wait_end, Instant now, WaitFor what);
  Reply peek(JobRef ref);
  Reply use(Client& client, std::string_view tube_name);
  Reply watch(Client& client, Outcome outcome);
  Reply stats(Instant now);
  Reply stats_job(JobId id, Instant now);
  Reply stats_tube(std::string_view tube_name, Instant now);
  Reply list_tubes();
  Reply list_watched(const Client& client);

  // The extended set (dispatcher_extended.cpp).
  Reply capabilities(CommandSet commands);
  Reply flush_tube(Client& client, const Command& command);
  Reply flush(Client& client, std::string_view tube_name, JobStates states);
  Reply scan_jobs(const Command& command, Instant now);
  Reply list_jobs(const Command& command, Instant now);
  Reply stats_tube_detail(std::string_view tube_name, Instant now);
  Reply stats_group(std::string_view name);
  Reply stats_tubes(const Command& command, Instant now);
  Reply reserve_batch(Client& client, const Command& command, Instant now);
  Reply delete_batch(Client& client, const Command& command);
  Reply watch_by_weight(Client& client, const Command& command);
  Reply set_draining(bool draining, ReplyCode code);
  Reply list_clients(const Command& command, Instant now);
  void write_jobs(Report& report, std::span<const JobRef> jobs, Instant now);

  Engine& engine_;
  Journal& journal_;
  const ServerInfo& info_;
  MemoryCushion& cushion_;
  Instant start_;
  VerbCounts verbs_{};
  std::uint64_t total_connections_ = 0;
  LimitCounts limits_felt_;
  std::uint64_t hand_overs_ = 0;
  bool draining_ = false;
  OversizedPuts oversized_;
  PendingTags tags_;                    // Of puts whose body is under way.
  std::string text_;                    // The last report.
  std::vector<JobRef> batch_;           // The jobs of the last batch or list.
  std::vector<const Tube*> tubes_;      // The tubes of the last page.
  std::vector<const Client*> clients_;  // And the clients.

 public:
  // What it has counted. That it drains ends with the process, as it does in beanstalkd.
  using Fields = FieldList<&Dispatcher::verbs_, &Dispatcher::total_connections_,
                           &Dispatcher::limits_felt_, &Dispatcher::hand_overs_>;
};

}  // namespace haricot
