// Commands about jobs: reserve, delete, release, bury, touch, kick, peek, and those of batches.

#include <array>
#include <span>

#include "haricot/base/check.hpp"
#include "haricot/base/memory.hpp"
#include "haricot/service/commands.hpp"
#include "haricot/service/output.hpp"

namespace haricot {
namespace {

// Bounds of an answer to reserve-batch, unless it has a single large job: of copied bytes, and of
// all bytes.
constexpr std::size_t kCopiedBytesMax = 48 * 1024;
constexpr std::size_t kBatchBytesMax = 1024 * 1024;
// Bound of the copied bytes while the memory limit is reached.
constexpr std::size_t kCopiedBytesAtLimit = Output::kBlobBytesMin;
// RESERVED, two numbers of 20 and 10 digits, and two line ends.
constexpr std::size_t kBytesAroundBody = 8 + 1 + 20 + 1 + 10 + 2 + 2;

// Bytes of a batch's answer so far.
struct BatchUse {
  std::size_t copied = 0;
  std::size_t all = 0;

  // Adds a job and returns true if it fits.
  static bool fits(void* self, std::uint32_t body_bytes) {
    auto& use = *static_cast<BatchUse*>(self);
    const bool is_copied = body_bytes < Output::kBlobBytesMin;
    use.copied += kBytesAroundBody + (is_copied ? body_bytes : 0);
    use.all += kBytesAroundBody + body_bytes;
    const std::size_t copied_max = Memory::is_at_limit() ? kCopiedBytesAtLimit : kCopiedBytesMax;
    return use.copied <= copied_max && use.all <= kBatchBytesMax;
  }
};

Reply reserve_reply(const Engine& engine, const ReserveResult& result) {
  if (result.outcome == Outcome::done) return job_reply(engine, ReplyCode::reserved, result.job);
  return simple_reply(result.outcome, ReplyCode::none);
}

Reply reserve_for(CommandContext& server, const Call& call, Instant wait_end, WaitFor waits_for) {
  return reserve_reply(server.engine,
                       server.engine.reserve(call.client, wait_end, call.now, waits_for));
}

Reply found(const CommandContext& server, JobRef ref) {
  if (ref == JobRef::none) return {ReplyCode::not_found};
  return job_reply(server.engine, ReplyCode::found, ref);
}

}  // namespace

Reply commands::reserve(CommandContext& server, const Call& call) {
  return reserve_for(server, call, Instant::never(), WaitFor::job);
}

Reply commands::reserve_with_abort(CommandContext& server, const Call& call) {
  return reserve_for(server, call, Instant::never(), WaitFor::job_or_input);
}

Reply commands::reserve_with_timeout(CommandContext& server, const Call& call) {
  const Instant wait_end = call.now + Duration::seconds(call.command.seconds);
  return reserve_for(server, call, wait_end, WaitFor::job);
}

Reply commands::reserve_job(CommandContext& server, const Call& call) {
  return reserve_reply(server.engine,
                       server.engine.reserve_job(call.client, call.command.id, call.now));
}

// Without a timeout, the answer has the jobs that are ready now, perhaps none.
Reply commands::reserve_batch(CommandContext& server, const Call& call) {
  std::vector<JobRef>& batch = server.batch;
  batch.clear();
  BatchUse use;
  const Command& command = call.command;
  const Instant wait_end = call.now + Duration::seconds(command.has_timeout ? command.seconds : 0);
  const Outcome outcome = server.engine.reserve_batch(
      call.client, command.bound, {&BatchUse::fits, &use}, wait_end, call.now, batch);
  const bool is_answered = outcome == Outcome::done || outcome == Outcome::timed_out;
  if (!is_answered) return simple_reply(outcome, ReplyCode::none);
  CHECK(batch.size() <= command.bound && batch.empty() == (outcome == Outcome::timed_out));
  return {.code = ReplyCode::reserved_batch, .number = batch.size()};
}

Reply commands::reserve_mode(CommandContext& server, const Call& call) {
  return simple_reply(server.engine.set_weighted(call.client, call.command.is_weighted),
                      ReplyCode::none);
}

Reply commands::delete_job(CommandContext& server, const Call& call) {
  return simple_reply(server.engine.delete_job(call.client, call.command.id), ReplyCode::deleted);
}

Reply commands::delete_batch(CommandContext& server, const Call& call) {
  std::array<JobId, kBatchMax> ids;
  const std::size_t size = read_ids(call.command.ids, ids);
  return simple_reply(server.engine.delete_batch(call.client, std::span(ids).first(size)),
                      ReplyCode::none);
}

Reply commands::release(CommandContext& server, const Call& call) {
  const Command& command = call.command;
  return simple_reply(
      server.engine.release(call.client, command.id, command.priority, command.seconds, call.now),
      ReplyCode::released);
}

Reply commands::bury(CommandContext& server, const Call& call) {
  return simple_reply(server.engine.bury(call.client, call.command.id, call.command.priority),
                      ReplyCode::buried);
}

Reply commands::touch(CommandContext& server, const Call& call) {
  return simple_reply(server.engine.touch(call.client, call.command.id, call.now),
                      ReplyCode::touched);
}

Reply commands::touch_all(CommandContext& server, const Call& call) {
  return simple_reply(server.engine.touch_all(call.client, call.now), ReplyCode::none);
}

Reply commands::kick(CommandContext& server, const Call& call) {
  return simple_reply(server.engine.kick(call.client, call.command.bound, call.now),
                      ReplyCode::none);
}

Reply commands::kick_job(CommandContext& server, const Call& call) {
  return simple_reply(server.engine.kick_job(call.command.id, call.now), ReplyCode::kicked_job);
}

Reply commands::wait_job(CommandContext& server, const Call& call) {
  const Memory::Bounded bounded(kShareForNames);
  const Instant wait_end = call.now + Duration::seconds(call.command.seconds);
  return simple_reply(server.engine.wait_job(call.client, call.command.id, wait_end, call.now),
                      ReplyCode::none);
}

Reply commands::peek(CommandContext& server, const Call& call) {
  return found(server, server.engine.peek(call.command.id));
}

Reply commands::peek_ready(CommandContext& server, const Call& call) {
  return found(server, server.engine.queries().peek_ready(call.client));
}

Reply commands::peek_delayed(CommandContext& server, const Call& call) {
  return found(server, server.engine.queries().peek_delayed(call.client));
}

Reply commands::peek_buried(CommandContext& server, const Call& call) {
  return found(server, server.engine.queries().peek_buried(call.client));
}

}  // namespace haricot
