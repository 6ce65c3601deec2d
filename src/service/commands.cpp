#include "haricot/service/commands.hpp"

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "haricot/base/check.hpp"
#include "haricot/base/job_tags.hpp"
#include "haricot/base/memory.hpp"
#include "haricot/service/output.hpp"
#include "haricot/service/report.hpp"
#include "haricot/service/session.hpp"

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

Reply watching(const Call& call, Outcome outcome) {
  if (outcome != Outcome::done) return simple_reply(outcome, ReplyCode::none);
  return {.code = ReplyCode::watching, .number = call.client.watched_tubes()};
}

// A tube that does not exist has no jobs, so a flush can be repeated.
Reply flush(CommandContext& server, const Call& call, JobStates states) {
  const Outcome outcome = server.engine.flush(call.client, call.command.tube, states);
  if (outcome == Outcome::not_found) return {.code = ReplyCode::flushed, .number = 0};
  return simple_reply(outcome, ReplyCode::none);
}

// Bound of the work for a page of stats-tubes, unless it has a single tube. It bounds the length as
// well: a tube takes at least 32 steps and at most 1 KiB.
constexpr std::uint64_t kPageSteps = 16 * 1024;

std::optional<JobState> state_of(StateWord word) {
  switch (word) {
    case StateWord::none:
      break;
    case StateWord::ready:
      return JobState::ready;
    case StateWord::reserved:
      return JobState::reserved;
    case StateWord::delayed:
      return JobState::delayed;
    case StateWord::buried:
      return JobState::buried;
  }
  return std::nullopt;
}

std::string_view word_of(Session::Doing doing) {
  switch (doing) {
    case Session::Doing::idle:
      break;
    case Session::Doing::waiting:
      return "waiting";
    case Session::Doing::running:
      return "running";
    case Session::Doing::in_body:
      return "body";
  }
  return "idle";
}

void write_jobs(Report& report, const Engine& engine, std::span<const JobRef> jobs, Instant now) {
  report.begin_list("jobs", jobs.empty());
  for (const JobRef job : jobs) write_listed_job(report, engine.queries().report(job, now));
}

}  // namespace

Reply simple_reply(Outcome outcome, ReplyCode done) {
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
    case Outcome::too_big:
      return {ReplyCode::job_too_big};
    case Outcome::duplicate:
      break;  // Dispatcher::inserted_again() has its reply.
  }
  CHECK(false);
  return {};
}

Reply job_reply(const Engine& engine, ReplyCode code, JobRef ref) {
  const JobStore& jobs = engine.jobs();
  Reply reply{.code = code, .number = jobs[ref].id};
  reply.blob = jobs.body_blob(ref);
  if (!reply.blob) reply.text = jobs.body(ref);
  return reply;
}

// Jobs -------------------------------------------------------------------------------------------

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

// Its session reads the body: see Dispatcher::begin_note().
Reply commands::note(CommandContext&, const Call&) {
  return {ReplyCode::none};
}

Reply commands::peek_note(CommandContext& server, const Call& call) {
  const JobRef ref = server.engine.peek(call.command.id);
  if (ref == JobRef::none) return {ReplyCode::not_found};
  const std::string_view note = server.engine.jobs().note(ref);
  if (note.empty()) return {ReplyCode::not_found};
  return {.code = ReplyCode::found, .number = call.command.id, .text = note};
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

// Tubes, and drain mode --------------------------------------------------------------------------

Reply commands::use(CommandContext& server, const Call& call) {
  const Memory::Bounded bounded(kShareForNames);
  const Outcome outcome = server.engine.use(call.client, call.command.tube);
  if (outcome != Outcome::done) return simple_reply(outcome, ReplyCode::none);
  return {.code = ReplyCode::now_using, .text = call.client.used().name};
}

Reply commands::watch(CommandContext& server, const Call& call) {
  const Memory::Bounded bounded(kShareForNames);
  return watching(call, server.engine.watch(call.client, call.command.tube));
}

// Counts as a `watch`.
Reply commands::watch_by_weight(CommandContext& server, const Call& call) {
  static_assert(kWatchWeightMax == WatchWeights::kWeightMax);
  const Memory::Bounded bounded(kShareForNames);
  server.count(Verb::watch);
  return simple_reply(server.engine.watch(call.client, call.command.tube, call.command.bound),
                      ReplyCode::none);
}

Reply commands::ignore(CommandContext& server, const Call& call) {
  return watching(call, server.engine.ignore(call.client, call.command.tube));
}

Reply commands::pause_tube(CommandContext& server, const Call& call) {
  return simple_reply(server.engine.pause(call.command.tube, call.command.seconds, call.now),
                      ReplyCode::paused);
}

Reply commands::flush_tube(CommandContext& server, const Call& call) {
  const StateWord word = call.command.state;
  return flush(server, call,
               {.ready = word == StateWord::none || word == StateWord::ready,
                .delayed = word == StateWord::none || word == StateWord::delayed,
                .buried = word == StateWord::none || word == StateWord::buried});
}

Reply commands::flush_buried(CommandContext& server, const Call& call) {
  return flush(server, call, {.buried = true});
}

Reply commands::drain(CommandContext& server, const Call&) {
  server.is_draining = true;
  return {ReplyCode::draining};
}

Reply commands::undrain(CommandContext& server, const Call&) {
  server.is_draining = false;
  return {ReplyCode::not_draining};
}

Reply commands::list_tubes(CommandContext& server, const Call&) {
  Report report(server.text, server.info.compat);
  const TubeTable& tubes = server.engine.tubes();
  for (std::uint32_t i = 0; i < tubes.size(); ++i) report.item(tubes.at(i).name);
  return {.code = ReplyCode::ok, .text = server.text};
}

Reply commands::list_tube_used(CommandContext&, const Call& call) {
  return {.code = ReplyCode::now_using, .text = call.client.used().name};
}

Reply commands::list_tubes_watched(CommandContext& server, const Call& call) {
  Report report(server.text, server.info.compat);
  const Client& client = call.client;
  for (std::uint32_t i = 0; i < client.watched_tubes(); ++i) report.item(client.watched(i).name);
  return {.code = ReplyCode::ok, .text = server.text};
}

// Reports ----------------------------------------------------------------------------------------

// Lists the commands and tags that the client may use and beanstalkd does not have. A client that
// gets UNKNOWN_COMMAND knows that the server has none.
Reply commands::capabilities(CommandContext& server, const Call& call) {
  Report report(server.text, server.info.compat);
  for (const CommandRow& row : kCommandTable) {
    const bool is_own = row.set != CommandSet::standard && row.set <= call.commands;
    if (is_own && row.verb != Verb::capabilities) report.item(row.name());
  }
  for (const TagRow& tag : kTagTable) report.item(tag.word);
  return {.code = ReplyCode::ok, .text = server.text};
}

Reply commands::stats(CommandContext& server, const Call& call) {
  Report report(server.text, server.info.compat);
  const JournalNumbers journal = server.journal.numbers();
  const ServerCounts& counts = server.counts;
  write_server_report(report, server.engine,
                      ServerState{.info = server.info,
                                  .verbs = counts.verbs,
                                  .journal = journal,
                                  .limits_felt = counts.limits_felt,
                                  .hand_overs = counts.hand_overs,
                                  .total_connections = counts.total_connections,
                                  .uptime_s = (call.now - server.start).whole_seconds(),
                                  .sync_lag_ms = journal.sync_lag_ms(call.now),
                                  .draining = server.is_draining});
  return {.code = ReplyCode::ok, .text = server.text};
}

Reply commands::stats_job(CommandContext& server, const Call& call) {
  const std::optional<JobReport> job = server.engine.queries().report(call.command.id, call.now);
  if (!job) return {ReplyCode::not_found};
  Report report(server.text, server.info.compat);
  write_job_report(report, *job);
  return {.code = ReplyCode::ok, .text = server.text};
}

Reply commands::stats_tube(CommandContext& server, const Call& call) {
  const Tube* tube = server.engine.find_tube(call.command.tube);
  if (tube == nullptr) return {ReplyCode::not_found};
  Report report(server.text, server.info.compat);
  write_tube_report(report, *tube, server.engine.waiting_clients(*tube), call.now);
  return {.code = ReplyCode::ok, .text = server.text};
}

Reply commands::stats_tube_detail(CommandContext& server, const Call& call) {
  const Tube* tube = server.engine.find_tube(call.command.tube);
  if (tube == nullptr) return {ReplyCode::not_found};
  Report report(server.text, server.info.compat);
  write_tube_detail(report, server.engine.queries().detail(*tube, call.now));
  return {.code = ReplyCode::ok, .text = server.text};
}

// The order of tubes depends only on their names, so the next page continues at the right tube even
// if tubes were created or removed in between.
Reply commands::stats_tubes(CommandContext& server, const Call& call) {
  const TubeTable& tubes = server.engine.tubes();
  std::vector<const Tube*>& page = server.tubes;
  page.clear();
  page.reserve(call.command.bound);
  const Tube* next = tubes.first_from(call.command.tube);
  std::uint64_t steps = 0;
  for (; next != nullptr && page.size() < call.command.bound; next = tubes.after(*next)) {
    steps += server.engine.queries().detail_steps(*next) + next->many_watchers;
    if (!page.empty() && steps > kPageSteps) break;
    page.push_back(next);
  }
  CHECK(!page.empty() || next == nullptr);  // Each page continues after the one before.
  Report report(server.text, server.info.compat);
  // In quotes: a bare * is no YAML.
  const std::string_view next_name = next == nullptr ? "*" : std::string_view(next->name);
  report.word("next", '"' + std::string(next_name) + '"');
  report.begin_list("tubes", page.empty());
  for (const Tube* tube : page) {
    report.begin_item();
    write_tube_report(report, *tube, server.engine.waiting_clients(*tube), call.now);
    write_tube_detail(report, server.engine.queries().detail(*tube, call.now));
  }
  return {.code = ReplyCode::ok, .text = server.text};
}

Reply commands::stats_group(CommandContext& server, const Call& call) {
  const Group* const group = server.engine.find_group(call.command.tube);
  if (group == nullptr) return {ReplyCode::not_found};
  Report report(server.text, server.info.compat);
  write_group_report(report, *group);
  return {.code = ReplyCode::ok, .text = server.text};
}

Reply commands::scan_jobs(CommandContext& server, const Call& call) {
  const Command& command = call.command;
  Report report(server.text, server.info.compat);
  const Tube* tube = command.tube.empty() ? nullptr : server.engine.find_tube(command.tube);
  std::vector<JobRef>& jobs = server.batch;
  jobs.clear();
  ScanResult result;
  if (tube != nullptr || command.tube.empty()) {
    result = server.engine.queries().scan(command.id, command.bound, tube, state_of(command.state),
                                          jobs);
  }
  // A client that continues at `next` reaches the end.
  CHECK(jobs.size() <= command.bound && (result.next == 0 || result.next > command.id));
  report.integer("next", result.next);
  write_jobs(report, server.engine, jobs, call.now);
  return {.code = ReplyCode::ok, .text = server.text};
}

Reply commands::list_jobs(CommandContext& server, const Call& call) {
  const Command& command = call.command;
  const Tube* tube = server.engine.find_tube(command.tube);
  if (tube == nullptr) return {ReplyCode::not_found};
  const std::optional<JobState> state = state_of(command.state);
  CHECK(state.has_value());
  std::vector<JobRef>& jobs = server.batch;
  jobs.clear();
  if (*state == JobState::reserved) {
    // The search comes before the command; without memory it was given up.
    if (!server.engine.queries().take_reserved(call.client, *tube, jobs)) {
      return {ReplyCode::out_of_memory};
    }
  } else {
    server.engine.queries().list(*tube, *state, command.bound, jobs);
  }
  CHECK(jobs.size() <= command.bound);
  Report report(server.text, server.info.compat);
  write_jobs(report, server.engine, jobs, call.now);
  return {.code = ReplyCode::ok, .text = server.text};
}

// The owner of a client is its session, which has the state of the connection.
Reply commands::list_clients(CommandContext& server, const Call& call) {
  const Command& command = call.command;
  std::vector<const Client*>& clients = server.clients;
  clients.clear();
  const std::uint64_t next =
      server.engine.queries().scan_clients(command.id, command.bound, clients);
  // A client that continues at `next` reaches the end.
  CHECK(clients.size() <= command.bound && (next == 0 || next > command.id));
  Report report(server.text, server.info.compat);
  report.integer("next", next);
  report.begin_list("clients", clients.empty());
  for (const Client* client : clients) {
    const Session& session = *static_cast<const Session*>(client->owner());
    const std::string address =
        server.info.address_of == nullptr ? "?" : server.info.address_of(session.owner());
    write_listed_client(report, {.client = *client,
                                 .address = address,
                                 .state = word_of(session.doing()),
                                 .age_s = session.opened_at().whole_seconds_until(call.now),
                                 .idle_s = session.idle_since().whole_seconds_until(call.now),
                                 .commands = session.commands_run()});
  }
  return {.code = ReplyCode::ok, .text = server.text};
}

}  // namespace haricot
