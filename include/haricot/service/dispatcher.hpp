// Runs commands (commands.hpp) and puts, turns deliveries into replies, and counts commands.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "haricot/base/job_tags.hpp"
#include "haricot/base/memory.hpp"
#include "haricot/base/serialization.hpp"
#include "haricot/protocol/command.hpp"
#include "haricot/protocol/reply.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/service/commands.hpp"
#include "haricot/service/request_reader.hpp"
#include "haricot/service/server_info.hpp"

namespace haricot {

// The tags of puts whose bodies are incomplete.
//
// Most bodies arrive together with their lines. So tags are not copied while their line is in the
// input. Copies of the tags of one put need no allocation, and more puts are rare.
class PendingTags {
 public:
  // Keeps the tags of the put with that id. `text` and `tags` refer to its line, which remains
  // valid until release_line(). Returns false if memory is short; nothing has changed then.
  // Requires: none are kept for the id.
  [[nodiscard]] bool keep(JobId id, std::string_view text, const JobTags& tags);
  // Copies the tags that were kept last out of their line, unless that is done.
  void release_line() {
    if (is_in_line_) [[unlikely]]
      copy_last();
  }
  // Returns the tags of a put, valid until the next call of this object. Requires: they are kept.
  const ReadTags& find(JobId id);
  // Forgets the tags of a put, if they are kept.
  void forget(JobId id);

 private:
  [[gnu::noinline]] void copy_last();

  JobId last_id_ = 0;        // Id of the last put; 0: its tags are not kept any more.
  bool is_in_line_ = false;  // last_ refers to its line, otherwise to last_text_.
  TagText last_text_;
  ReadTags last_;
  std::unordered_map<JobId, TagText> others_;
  ReadTags other_;  // Last result of find() among others_.
};

// Puts that were answered JOB_TOO_BIG, for the log.
struct OversizedPuts {
  std::uint64_t count = 0;
  std::uint32_t largest_bytes = 0;
  std::uint32_t limit = 0;
  std::string tube = {};  // Tube of the last one.
};

class Dispatcher {
 public:
  // All outlive the dispatcher.
  Dispatcher(Engine& engine, Journal& journal, const ServerInfo& info, MemoryCushion& cushion,
             Instant start);

  const ServerInfo& info() const { return context_.info; }

  // Runs any command except put and quit. Texts of the reply are valid until the next call.
  // `commands` are those that the client may use. For the reply see namespace commands.
  Reply run(Client& client, const Command& command, CommandSet commands, Instant now);

  // Returns the jobs of a reply reserved_batch, in order. Valid until the next call.
  std::span<const JobRef> batch() const { return context_.batch; }
  // Returns the reply with one of these jobs.
  Reply with_job(ReplyCode code, JobRef ref) { return job_reply(context_.engine, code, ref); }

  // Counts a command in its `cmd-` key. run() and begin_put() call it.
  void count(Verb verb) { context_.count(verb); }
  // Uncounts a command that run() has counted and that will run again.
  void uncount(Verb verb) { --context_.counts.verbs[static_cast<std::size_t>(verb)]; }

  // Returns true if a body of that many bytes is answered JOB_TOO_BIG.
  bool is_too_big(std::uint32_t body_bytes) const { return body_bytes > info().job_bytes_max; }

  // A put has two steps, because its session reads the body in between.
  //
  // begin_put() runs the line: it assigns the id and allocates memory for a large body, or refuses
  // the put. finish_put() runs the put when the body is complete and ends with CR LF. The engine
  // takes the body only if it inserts the job, so finish_put() can be called again after not_yet.
  // A plan that is not finished, or is refused, has to be forgotten with forget_put().
  PutPlan begin_put(Client& client, const Command& command);
  Reply finish_put(Client& client, const PutPlan& plan, NewBody& body, Instant now);
  // Runs the line of a note, whose body finish_put() takes, too.
  static PutPlan begin_note(const Command& command);
  // Copies the tags of the last put out of its line, which the caller is about to overwrite.
  void release_line() { tags_.release_line(); }
  void forget_put(const PutPlan& plan) {
    if (plan.kind == PutPlan::Kind::tagged_put) [[unlikely]]
      tags_.forget(plan.id);
  }

  // Returns the text of the tags of a put whose body is incomplete; empty if it has none.
  std::string_view tags_of(const PutPlan& plan);
  // Restores the tags of such a put from that text. Returns false if memory is short.
  [[nodiscard]] bool keep_tags(const PutPlan& plan, std::string_view text);

  // Returns the reply to a client that waited. Its body is valid while the job exists.
  Reply delivered(const Delivery& delivery);

  void count_connection() { ++context_.counts.total_connections; }
  void count_refused_connection() { ++context_.counts.limits_felt.refused_connections; }
  void count_idle_connection() { ++context_.counts.limits_felt.idle_connections; }
  void count_hand_over() { ++context_.counts.hand_overs; }
  // Answers every put DRAINING from now on.
  void drain() { context_.is_draining = true; }
  bool is_draining() const { return context_.is_draining; }

  // Returns true if a put was too big since the last call of take_oversized().
  bool has_oversized() const { return oversized_.count > 0; }
  OversizedPuts take_oversized() { return std::exchange(oversized_, {}); }

 private:
  ReplyCode find_room(PutPlan& plan, const Command& command);
  [[gnu::cold, gnu::noinline]] Reply finish_note(Client& client, const PutPlan& plan,
                                                 std::string_view note);
  [[gnu::noinline]] Outcome put_within_limit(Client& client, const NewJob& job, NewBody& body,
                                             Instant now);
  Reply inserted_again();
  void count_oversized(const Client& client, std::uint32_t bytes);

  CommandContext context_;
  MemoryCushion& cushion_;
  OversizedPuts oversized_;
  PendingTags tags_;  // Tags of puts whose body is incomplete.

 public:
  using Fields = FieldList<&Dispatcher::context_>;
};

}  // namespace haricot
