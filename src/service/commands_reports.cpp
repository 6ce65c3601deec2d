// Commands that report: statistics, and pages of jobs, tubes and clients.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "haricot/base/check.hpp"
#include "haricot/base/job_tags.hpp"
#include "haricot/service/commands.hpp"
#include "haricot/service/report.hpp"
#include "haricot/service/session.hpp"

namespace haricot {
namespace {

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
    steps += Times::detail_steps(*next) + next->many_watchers;
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
  server.engine.queries().list(*tube, *state, command.bound, jobs);
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
