#include "haricot/service/dispatcher.hpp"

#include <algorithm>
#include <new>

#include "haricot/base/check.hpp"

namespace haricot {
namespace {

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

Dispatcher::Dispatcher(Engine& engine, Journal& journal, const ServerInfo& info,
                       MemoryCushion& cushion, Instant start)
    : context_{.engine = engine, .journal = journal, .info = info, .start = start},
      cushion_(cushion) {}

// A switch rather than a table of pointers: the compiler inlines most functions.
Reply Dispatcher::run(Client& client, const Command& command, CommandSet commands, Instant now) {
  count(command.verb);
  context_.engine.set_now(now);
  const Call call{client, command, commands, now};
  switch (command.verb) {
#define HARICOT_COMMAND(verb, ...) \
  case Verb::verb:                 \
    return commands::verb(context_, call);
#include "haricot/protocol/command_rows.inc"
  }
  CHECK(false);
  return {};
}

// The functions of requests.hpp run put, which has a body, and quit, which has no answer.
Reply commands::put(CommandContext&, const Call&) {
  CHECK(false);
  return {};
}

Reply commands::quit(CommandContext&, const Call&) {
  CHECK(false);
  return {};
}

// Put -------------------------------------------------------------------------------------------

// Assigns the id, so a put that fails later leaves a gap; a put that is too big gets no id.
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
  context_.engine.mark_producer(client);
  plan.id = context_.engine.take_id();
  plan.refusal = find_room(plan, command);
  if (!command.tags.empty() && plan.refusal == ReplyCode::none) [[unlikely]] {
    if (tags_.keep(plan.id, command.tags, *command.read_tags)) {
      plan.kind = PutPlan::Kind::tagged_put;
    } else {
      plan.refusal = ReplyCode::out_of_memory;
    }
  }
  return plan;
}

// Allocates memory for a large body; a small one needs none until it is complete. Returns the
// answer to a put that is refused, otherwise none.
ReplyCode Dispatcher::find_room(PutPlan& plan, const Command& command) {
  if (!cushion_.fill()) return ReplyCode::out_of_memory;
  if (plan.body_bytes <= JobStore::kInlineBodyBytesMax) return ReplyCode::none;
  // A body above the limit of memory for jobs is discarded as it arrives.
  const JobTags tags = command.read_tags.value_or(JobTags{});
  if (context_.engine.memory().admit_put(plan.body_bytes,
                                         JobStore::tag_bytes_of({command.tags, tags}))) {
    const Memory::Bounded bounded;
    plan.body = BlobRef::allocate(plan.body_bytes);
    if (!plan.body && Memory::take_refusal())
      context_.engine.memory().count_refused_put(plan.body_bytes);
  }
  if (plan.body) return ReplyCode::none;
  return is_draining() ? ReplyCode::draining : ReplyCode::out_of_memory;
}

void Dispatcher::count_oversized(const Client& client, std::uint32_t bytes) {
  ++oversized_.count;
  oversized_.largest_bytes = std::max(oversized_.largest_bytes, bytes);
  oversized_.limit = info().job_bytes_max;
  try {
    oversized_.tube = client.used().name;
  } catch (const std::bad_alloc&) {
    oversized_.tube.clear();  // A log without the tube is better than a wrong answer.
  }
}

Outcome Dispatcher::put_within_limit(Client& client, const NewJob& job, NewBody& body,
                                     Instant now) {
  const std::size_t bytes = body.size();
  const Memory::Bounded bounded;
  const Outcome outcome = context_.engine.put(client, job, std::move(body), now);
  if (outcome == Outcome::done) context_.engine.memory().mark_put(bytes);
  if (outcome == Outcome::out_of_memory && Memory::take_refusal()) {
    context_.engine.memory().count_refused_put(bytes);
  }
  return outcome;
}

PutPlan Dispatcher::begin_note(const Command& command) {
  const bool is_too_big = command.body_bytes > kNoteBytesMax;
  return {.id = command.id,
          .body_bytes = command.body_bytes,
          .refusal = is_too_big ? ReplyCode::job_too_big : ReplyCode::none,
          .kind = PutPlan::Kind::note};
}

Reply Dispatcher::finish_note(Client& client, const PutPlan& plan, std::string_view note) {
  static_assert(
      kNoteBytesMax == JobStore::kNoteBytesMax && kNoteBytesMax <= JobStore::kInlineBodyBytesMax,
      "the body is small");
  const Memory::Bounded bounded;
  return simple_reply(context_.engine.set_note(client, plan.id, note), ReplyCode::noted);
}

Reply Dispatcher::finish_put(Client& client, const PutPlan& plan, NewBody& body, Instant now) {
  if (is_draining() && plan.kind != PutPlan::Kind::note) return {ReplyCode::draining};
  NewJob job{
      .id = plan.id, .priority = plan.priority, .delay_s = plan.delay_s, .ttr_s = plan.ttr_s};
  if (plan.kind != PutPlan::Kind::put) [[unlikely]] {
    if (plan.kind == PutPlan::Kind::note) return finish_note(client, plan, body.bytes);
    const ReadTags& tags = tags_.find(plan.id);
    job.tags = tags.text;
    job.read_tags = &tags;
  }
  const bool is_limited = info().limits.job_memory_bytes_max > 0;
  const Outcome outcome = is_limited ? put_within_limit(client, job, body, now)
                                     : context_.engine.put(client, job, std::move(body), now);
  switch (outcome) {
    case Outcome::done:
      return {.code = ReplyCode::inserted, .number = job.id};
    case Outcome::duplicate:
      return inserted_again();
    default:
      return simple_reply(outcome, ReplyCode::none);
  }
}

Reply Dispatcher::inserted_again() {
  const DuplicatePut& duplicate = context_.engine.duplicate();
  const Job& job = context_.engine.jobs()[duplicate.job];
  const ReplyCode code =
      duplicate.is_raised ? ReplyCode::inserted_raised : ReplyCode::inserted_again;
  return {.code = code,
          .number = job.id,
          .other_number = job.priority,
          .text = duplicate.is_deleted ? "DELETED" : capitals_of(job.state())};
}

std::string_view Dispatcher::tags_of(const PutPlan& plan) {
  return plan.kind == PutPlan::Kind::tagged_put ? tags_.find(plan.id).text : std::string_view{};
}

bool Dispatcher::keep_tags(const PutPlan& plan, std::string_view text) {
  if (plan.kind != PutPlan::Kind::tagged_put) return true;
  const bool are_kept = tags_.keep(plan.id, text, tags_in(text));
  if (are_kept) tags_.release_line();
  return are_kept;
}

// Deliveries ------------------------------------------------------------------------------------

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
      context_.batch.clear();
      if (delivery.job != JobRef::none) context_.batch.push_back(delivery.job);
      return {.code = ReplyCode::reserved_batch, .number = context_.batch.size()};
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

// PendingTags ------------------------------------------------------------------------------------

bool PendingTags::keep(JobId id, std::string_view text, const JobTags& tags) {
  CHECK(id != 0 && id != last_id_ && !text.empty());
  if (last_id_ != 0) {
    release_line();
    try {
      others_.emplace(last_id_, last_text_);
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  last_id_ = id;
  last_ = {text, tags};
  is_in_line_ = true;
  if (!is_key_alone(last_)) copy_last();  // Copying sorts the tags.
  return true;
}

void PendingTags::copy_last() {
  last_.tags = last_text_.write(last_.tags);
  last_.text = last_text_.view();
  is_in_line_ = false;
}

const ReadTags& PendingTags::find(JobId id) {
  if (id == last_id_) return last_;
  const auto found = others_.find(id);
  CHECK(found != others_.end());
  const std::string_view text = found->second.view();
  other_ = {text, tags_in(text)};
  return other_;
}

void PendingTags::forget(JobId id) {
  if (id == last_id_) {
    last_id_ = 0;
    is_in_line_ = false;
  } else {
    others_.erase(id);
  }
}

}  // namespace haricot
