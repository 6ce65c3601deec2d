#include "haricot/service/dispatcher.hpp"

#include <algorithm>
#include <utility>

#include "haricot/base/check.hpp"

namespace haricot {
namespace {

// By this part of the limit of memory tubes and watches may pass it, so that workers can still
// come when puts are refused.
constexpr std::size_t kShareForNames = 16;

std::string_view capitals_of(JobState state) {
  switch (state) {
    case JobState::ready:
      return "READY";
    case JobState::reserved:
      return "RESERVED";
    case JobState::delayed:
      return "DELAYED";
    case JobState::buried:
      return "BURIED";
  }
  CHECK(false);
  return {};
}

}  // namespace

Reply Dispatcher::simple(Outcome outcome, ReplyCode done) {
  switch (outcome) {
    case Outcome::done:
      return {done};
    case Outcome::not_found:
      return {ReplyCode::not_found};
    case Outcome::buried:
      return {ReplyCode::buried};
    case Outcome::waiting:
      return {ReplyCode::none};
    case Outcome::timed_out:
      return {ReplyCode::timed_out};
    case Outcome::deadline_soon:
      return {ReplyCode::deadline_soon};
    case Outcome::only_watched:
      return {ReplyCode::not_ignored};
    case Outcome::out_of_memory:
      return {ReplyCode::out_of_memory};
    case Outcome::journal_failed:
      return {ReplyCode::internal_error};
    case Outcome::not_yet:
      return {ReplyCode::not_yet};
    case Outcome::duplicate:
      break;  // Its reply says more: inserted_again().
  }
  CHECK(false);
  return {};
}

Dispatcher::Dispatcher(Engine& engine, Journal& journal, const ServerInfo& info,
                       MemoryCushion& cushion, Instant start)
    : engine_(engine), journal_(journal), info_(info), cushion_(cushion), start_(start) {}

// One line a verb. What each answers is in docs/protocol.md and docs/beyond.md.
//
// A switch rather than a table of handlers: the compiler finds a verb that has no line, and most
// lines are a call that is inlined, with just the arguments that it needs. A table would need a
// function of one signature for each verb, and an indirect call for each command.
Reply Dispatcher::run(Client& client, const Command& command, CommandSet commands, Instant now) {
  count(command.verb);
  engine_.set_now(now);
  const JobId id = command.id;
  switch (command.verb) {
    case Verb::put:
    case Verb::quit:
      break;  // The session's: a put has a body, and quit has no answer.
    case Verb::use: {
      const Memory::Bounded bounded(kShareForNames);
      return use(client, command.tube);
    }
    case Verb::reserve:
      return reserve(client, Instant::never(), now, WaitFor::job);
    case Verb::reserve_with_abort:
      return reserve(client, Instant::never(), now, WaitFor::job_or_input);
    case Verb::reserve_with_timeout:
      return reserve(client, now + Duration::seconds(command.seconds), now, WaitFor::job);
    case Verb::reserve_job: {
      const ReserveResult result = engine_.reserve_job(client, id, now);
      if (result.outcome == Outcome::done) return with_job(ReplyCode::reserved, result.job);
      return simple(result.outcome, ReplyCode::none);
    }
    case Verb::delete_job:
      return simple(engine_.delete_job(client, id), ReplyCode::deleted);
    case Verb::release:
      return simple(engine_.release(client, id, command.priority, command.seconds, now),
                    ReplyCode::released);
    case Verb::bury:
      return simple(engine_.bury(client, id, command.priority), ReplyCode::buried);
    case Verb::touch:
      return simple(engine_.touch(client, id, now), ReplyCode::touched);
    case Verb::watch: {
      const Memory::Bounded bounded(kShareForNames);
      return watch(client, engine_.watch(client, command.tube));
    }
    case Verb::ignore:
      return watch(client, engine_.ignore(client, command.tube));
    case Verb::peek:
      return peek(engine_.peek(id));
    case Verb::peek_ready:
      return peek(engine_.looks().peek_ready(client));
    case Verb::peek_delayed:
      return peek(engine_.looks().peek_delayed(client));
    case Verb::peek_buried:
      return peek(engine_.looks().peek_buried(client));
    case Verb::kick:
      return simple(engine_.kick(client, command.bound, now), ReplyCode::none);
    case Verb::kick_job:
      return simple(engine_.kick_job(id, now), ReplyCode::kicked_job);
    case Verb::pause_tube:
      return simple(engine_.pause(command.tube, command.seconds, now), ReplyCode::paused);
    case Verb::stats:
      return stats(now);
    case Verb::stats_job:
      return stats_job(id, now);
    case Verb::stats_tube:
      return stats_tube(command.tube, now);
    case Verb::list_tubes:
      return list_tubes();
    case Verb::list_tube_used:
      return {.code = ReplyCode::now_using, .text = client.used().name};
    case Verb::list_tubes_watched:
      return list_watched(client);
    case Verb::capabilities:
      return capabilities(commands);
    case Verb::flush_tube:
      return flush_tube(client, command);
    case Verb::scan_jobs:
      return scan_jobs(command, now);
    case Verb::list_jobs:
      return list_jobs(command, now);
    case Verb::stats_tube_detail:
      return stats_tube_detail(command.tube, now);
    case Verb::stats_group:
      return stats_group(command.tube);
    case Verb::stats_tubes:
      return stats_tubes(command, now);
    case Verb::reserve_batch:
      return reserve_batch(client, command, now);
    case Verb::delete_batch:
      return delete_batch(client, command);
    case Verb::watch_by_weight: {
      const Memory::Bounded bounded(kShareForNames);
      return watch_by_weight(client, command);
    }
    case Verb::flush_buried:
      return flush(client, command.tube, {.buried = true});
    case Verb::touch_all:
      return simple(engine_.touch_all(client, now), ReplyCode::none);
    case Verb::wait_job: {
      const Memory::Bounded bounded(kShareForNames);
      return simple(engine_.wait_job(client, id, now + Duration::seconds(command.seconds), now),
                    ReplyCode::none);
    }
    case Verb::list_clients:
      return list_clients(command, now);
    case Verb::reserve_mode:
      return simple(engine_.set_weighted(client, command.is_weighted), ReplyCode::none);
    case Verb::drain:
      return set_draining(true, ReplyCode::draining);
    case Verb::undrain:
      return set_draining(false, ReplyCode::not_draining);
  }
  CHECK(false);
  return {};
}

// Put -------------------------------------------------------------------------------------------

// The id is taken here, so a put that fails later leaves a gap; one that is too big takes none.
PutPlan Dispatcher::begin_put(Client& client, const Command& command) {
  count(Verb::put);
  PutPlan plan{.priority = command.priority,
               .delay_s = command.seconds,
               .ttr_s = command.ttr_s,
               .body_bytes = command.body_bytes};
  if (is_too_big(command.body_bytes)) {
    count_oversized(client, command.body_bytes);
    plan.refusal = ReplyCode::job_too_big;
    return plan;
  }
  engine_.mark_producer(client);
  plan.id = engine_.take_id();
  plan.refusal = find_room(plan, command);
  if (!command.tags.empty() && plan.refusal == ReplyCode::none) [[unlikely]] {
    plan.has_tags = tags_.keep(plan.id, command.tags, *command.read_tags);
    if (!plan.has_tags) plan.refusal = ReplyCode::out_of_memory;
  }
  return plan;
}

// Memory for a large body; a small one needs none before it is there. none: there is some.
ReplyCode Dispatcher::find_room(PutPlan& plan, const Command& command) {
  if (!cushion_.fill()) return ReplyCode::out_of_memory;
  if (plan.body_bytes <= JobStore::kInlineBodyBytesMax) return ReplyCode::none;
  // One that is above the limit of memory for jobs now is not collected in the first place.
  const JobTags tags = command.read_tags.value_or(JobTags{});
  if (engine_.memory().admit_put(plan.body_bytes, JobStore::tag_bytes_of({command.tags, tags}))) {
    const Memory::Bounded bounded;
    plan.body = BlobRef::allocate(plan.body_bytes);
    if (!plan.body && Memory::take_refusal()) engine_.memory().count_refused_put(plan.body_bytes);
  }
  if (plan.body) return ReplyCode::none;
  return draining_ ? ReplyCode::draining : ReplyCode::out_of_memory;
}

void Dispatcher::count_oversized(const Client& client, std::uint32_t bytes) {
  ++oversized_.count;
  oversized_.largest_bytes = std::max(oversized_.largest_bytes, bytes);
  oversized_.limit = info_.job_bytes_max;
  try {
    oversized_.tube = client.used().name;
  } catch (const std::bad_alloc&) {
    oversized_.tube.clear();  // The answer does not hang on what the log says.
  }
}

Outcome Dispatcher::put_within_limit(Client& client, const NewJob& job, NewBody& body,
                                     Instant now) {
  const std::size_t bytes = body.size();
  const Memory::Bounded bounded;
  const Outcome outcome = engine_.put(client, job, std::move(body), now);
  if (outcome == Outcome::done) engine_.memory().mark_put(bytes);
  if (outcome == Outcome::out_of_memory && Memory::take_refusal()) {
    engine_.memory().count_refused_put(bytes);
  }
  return outcome;
}

Reply Dispatcher::finish_put(Client& client, const PutPlan& plan, NewBody& body, Instant now) {
  if (draining_) return {ReplyCode::draining};
  NewJob job{
      .id = plan.id, .priority = plan.priority, .delay_s = plan.delay_s, .ttr_s = plan.ttr_s};
  if (plan.has_tags) [[unlikely]] {
    const ReadTags& tags = tags_.find(plan.id);
    job.tags = tags.text;
    job.read_tags = &tags;
  }
  const bool is_limited = info_.limits.job_memory_bytes_max > 0;
  const Outcome outcome = is_limited ? put_within_limit(client, job, body, now)
                                     : engine_.put(client, job, std::move(body), now);
  switch (outcome) {
    case Outcome::done:
      return {.code = ReplyCode::inserted, .number = job.id};
    case Outcome::buried:
      return {.code = ReplyCode::buried_new, .number = job.id};
    case Outcome::duplicate:
      return inserted_again();
    default:
      return simple(outcome, ReplyCode::none);
  }
}

Reply Dispatcher::inserted_again() {
  const DuplicatePut& duplicate = engine_.duplicate();
  const Job& job = engine_.jobs()[duplicate.job];
  const ReplyCode code =
      duplicate.is_raised ? ReplyCode::inserted_raised : ReplyCode::inserted_again;
  return {.code = code,
          .number = job.id,
          .other_number = job.priority,
          .text = duplicate.is_deleted ? "DELETED" : capitals_of(job.state())};
}

// Workers ---------------------------------------------------------------------------------------

Reply Dispatcher::with_job(ReplyCode code, JobRef ref) {
  const JobStore& jobs = engine_.jobs();
  Reply reply{.code = code, .number = jobs[ref].id};
  reply.blob = jobs.body_blob(ref);
  if (!reply.blob) reply.text = jobs.body(ref);
  return reply;
}

Reply Dispatcher::reserve(Client& client, Instant wait_end, Instant now, WaitFor what) {
  const ReserveResult result = engine_.reserve(client, wait_end, now, what);
  if (result.outcome == Outcome::done) return with_job(ReplyCode::reserved, result.job);
  return simple(result.outcome, ReplyCode::none);
}

std::string_view Dispatcher::tags_of(const PutPlan& plan) {
  return plan.has_tags ? tags_.find(plan.id).text : std::string_view{};
}

bool Dispatcher::keep_tags(const PutPlan& plan, std::string_view text) {
  if (!plan.has_tags) return true;
  const bool are_kept = tags_.keep(plan.id, text, tags_in(text));
  if (are_kept) tags_.let_line_go();
  return are_kept;
}

Reply Dispatcher::delivered(const Delivery& delivery) {
  switch (delivery.kind) {
    case Delivery::Kind::reserved:
      return with_job(ReplyCode::reserved, delivery.job);
    case Delivery::Kind::timed_out:
      return {ReplyCode::timed_out};
    case Delivery::Kind::deadline_soon:
      return {ReplyCode::deadline_soon};
    case Delivery::Kind::aborted:
      return {ReplyCode::aborted};
    case Delivery::Kind::mode_fifo:
    case Delivery::Kind::mode_weighted:
      return {.code = ReplyCode::now_using,
              .text = delivery.kind == Delivery::Kind::mode_weighted ? "weighted" : "fifo"};
    case Delivery::Kind::out_of_memory:
      return {ReplyCode::out_of_memory};
    case Delivery::Kind::watching:
      return {.code = ReplyCode::watching, .number = delivery.count};
    case Delivery::Kind::touched_all:
      return {.code = ReplyCode::touched_all, .number = delivery.count};
    case Delivery::Kind::job_not_found:
      return {ReplyCode::not_found};
    case Delivery::Kind::kicked:
      return {.code = ReplyCode::kicked, .number = delivery.count};
    case Delivery::Kind::reserved_in_batch:
      batch_.clear();
      if (delivery.job != JobRef::none) batch_.push_back(delivery.job);
      return {.code = ReplyCode::reserved_batch, .number = batch_.size()};
    case Delivery::Kind::flushed:
      return {.code = ReplyCode::flushed, .number = delivery.count};
    case Delivery::Kind::batch_deleted:
      return {.code = ReplyCode::deleted_batch,
              .number = delivery.count,
              .other_number = delivery.not_found};
    case Delivery::Kind::job_deleted:
      return {ReplyCode::deleted};
    case Delivery::Kind::job_buried:
      return {ReplyCode::buried};
    case Delivery::Kind::failed:
      return {ReplyCode::internal_error};
  }
  CHECK(false);
  return {};
}

Reply Dispatcher::use(Client& client, std::string_view tube_name) {
  const Outcome outcome = engine_.use(client, tube_name);
  if (outcome != Outcome::done) return simple(outcome, ReplyCode::none);
  return {.code = ReplyCode::now_using, .text = client.used().name};
}

Reply Dispatcher::watch(Client& client, Outcome outcome) {
  if (outcome != Outcome::done) return simple(outcome, ReplyCode::none);
  return {.code = ReplyCode::watching, .number = client.watched_tubes()};
}

// Others ----------------------------------------------------------------------------------------

Reply Dispatcher::peek(JobRef ref) {
  if (ref == JobRef::none) return {ReplyCode::not_found};
  return with_job(ReplyCode::found, ref);
}

Reply Dispatcher::stats(Instant now) {
  Report report(text_, info_.compat);
  const JournalNumbers journal = journal_.numbers();
  write_server_report(report, engine_,
                      ServerState{.info = info_,
                                  .verbs = verbs_,
                                  .journal = journal,
                                  .limits_felt = limits_felt_,
                                  .hand_overs = hand_overs_,
                                  .total_connections = total_connections_,
                                  .uptime_s = (now - start_).whole_seconds(),
                                  .sync_lag_ms = journal.sync_lag_ms(now),
                                  .draining = draining_});
  return {.code = ReplyCode::ok, .text = text_};
}

Reply Dispatcher::stats_job(JobId id, Instant now) {
  const std::optional<JobReport> job = engine_.looks().report(id, now);
  if (!job) return {ReplyCode::not_found};
  Report report(text_, info_.compat);
  write_job_report(report, *job);
  return {.code = ReplyCode::ok, .text = text_};
}

Reply Dispatcher::stats_tube(std::string_view tube_name, Instant now) {
  const Tube* tube = engine_.find_tube(tube_name);
  if (tube == nullptr) return {ReplyCode::not_found};
  Report report(text_, info_.compat);
  write_tube_report(report, *tube, engine_.waiting_clients(*tube), now);
  return {.code = ReplyCode::ok, .text = text_};
}

Reply Dispatcher::list_tubes() {
  Report report(text_, info_.compat);
  const TubeTable& tubes = engine_.tubes();
  for (std::uint32_t i = 0; i < tubes.size(); ++i) report.item(tubes.at(i).name);
  return {.code = ReplyCode::ok, .text = text_};
}

Reply Dispatcher::list_watched(const Client& client) {
  Report report(text_, info_.compat);
  for (std::uint32_t i = 0; i < client.watched_tubes(); ++i) report.item(client.watched(i).name);
  return {.code = ReplyCode::ok, .text = text_};
}

}  // namespace haricot
