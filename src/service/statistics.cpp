#include "haricot/service/statistics.hpp"

#include <utility>

#include "haricot/base/job_tags.hpp"

namespace haricot {
namespace {

// stats -----------------------------------------------------------------------------------------

using Server = Rows<ServerFacts>;

constexpr std::array kJobRows = {
    Server::integer("current-jobs-urgent", "ready jobs with a priority below 1024",
                    [](const auto& s) { return s.counts().urgent; }),
    Server::integer("current-jobs-ready", "jobs that wait for a worker, also in paused tubes",
                    [](const auto& s) { return s.counts().ready; }),
    Server::integer("current-jobs-reserved", "jobs that workers hold",
                    [](const auto& s) { return s.counts().reserved; }),
    Server::integer("current-jobs-delayed", "jobs that become ready later",
                    [](const auto& s) { return s.counts().delayed; }),
    Server::integer("current-jobs-buried", "jobs put aside until they are kicked or deleted",
                    [](const auto& s) { return s.counts().buried; }),
};

// Returns the number of commands that have a counter, and thus a row.
constexpr std::size_t count_counters() {
  std::size_t count = 0;
  for (const CommandRow& row : kCommandTable) {
    if (!row.counter.empty()) ++count;
  }
  return count;
}

template <std::size_t... kVerb>
constexpr auto make_counter_rows(std::index_sequence<kVerb...>) {
  return std::array{Server::integer(
      kCommandTable[kVerb].counter,
      kVerb == 0 ? "commands, successful or not; `kick-job` and `reserve-job` have no counter"
                 : kSame,
      [](const auto& s) { return s.state.verbs[kVerb]; })...};
}

constexpr auto kCounterRows = make_counter_rows(std::make_index_sequence<count_counters()>());

constexpr std::array kServerRows = {
    Server::integer("job-timeouts", "TTRs that ended before the worker was done",
                    [](const auto& s) { return s.counts().timeouts; }),
    Server::integer("total-jobs", "successful puts",
                    [](const auto& s) { return s.counts().total_jobs; }),
    Server::integer("max-job-size", "`-z`",
                    [](const auto& s) { return s.state.info.job_bytes_max; }),
    Server::integer("current-tubes", "tubes that a job or a client refers to, and `default`",
                    [](const auto& s) { return s.engine.tubes().size(); }),
    Server::integer("current-connections", "open connections, with the one that asks",
                    [](const auto& s) { return s.counts().clients; }),
    Server::integer("current-producers", "connections that have put",
                    [](const auto& s) { return s.counts().producers; }),
    Server::integer("current-workers", "connections that have reserved",
                    [](const auto& s) { return s.counts().workers; }),
    Server::integer("current-waiting", "connections that wait in a reserve",
                    [](const auto& s) { return s.counts().waiting; }),
    Server::integer("total-connections", "connections since the start",
                    [](const auto& s) { return s.state.total_connections; }),
    Server::integer("pid", "of the server", [](const auto& s) { return s.state.info.pid; }),
    // Both versions of beanstalkd have quotes here.
    Server::word("version", "version of beanstalkd that clients see",
                 [](const auto& s) {
                   return s.state.info.compat == Compat::v1_12 ? "\"1.12\"" : "\"1.13\"";
                 }),
    Server::cpu_time("rusage-utime", "seconds of CPU time, in the program and in the kernel",
                     [](const auto& s) { return s.cpu.user_us; }),
    Server::cpu_time("rusage-stime", kSame, [](const auto& s) { return s.cpu.system_us; }),
    Server::integer("uptime", "seconds since the start",
                    [](const auto& s) { return s.state.uptime_s; }),
    Server::integer("binlog-oldest-index",
                    "numbers of the oldest and the newest file; 0 without `-b`",
                    [](const auto& s) { return s.state.journal.oldest_index; }),
    Server::integer("binlog-current-index", kSame,
                    [](const auto& s) { return s.state.journal.current_index; }),
    Server::integer("binlog-records-migrated", "records that compaction has written",
                    [](const auto& s) { return s.state.journal.records_migrated; }),
    Server::integer("binlog-records-written", "all records",
                    [](const auto& s) { return s.state.journal.records_written; }),
    Server::integer("binlog-max-size", "`-s`",
                    [](const auto& s) { return s.state.info.binlog_bytes_max; }),
    Server::word("draining", "`true` in drain mode: puts are refused",
                 [](const auto& s) { return s.state.draining ? "true" : "false"; }),
    Server::word("id", "random, new at each start",
                 [](const auto& s) { return std::string_view(s.state.info.instance_id); }),
    Server::quoted("hostname", "the machine",
                   [](const auto& s) { return std::string_view(s.state.info.hostname); }),
    Server::quoted("os", kSame, [](const auto& s) { return std::string_view(s.state.info.os); }),
    Server::quoted("platform", kSame,
                   [](const auto& s) { return std::string_view(s.state.info.platform); }),
};

// The keys that beanstalkd does not have. They follow its last key, and a report has them only for
// features that the operator has turned on. So with --no-extensions and no such feature, a report
// has exactly the keys of beanstalkd. A new key goes to the end, because keys keep their lines.

bool has_binlog(const ServerFacts& s) {
  return s.state.journal.is_kept;
}
bool limits_connections(const ServerFacts& s) {
  return s.limits().connections_max > 0;
}
bool limits_idle_time(const ServerFacts& s) {
  return s.limits().idle_timeout_s > 0;
}
bool limits_tries(const ServerFacts& s) {
  return s.limits().tries_max > 0;
}
bool limits_memory(const ServerFacts& s) {
  return s.limits().job_memory_bytes_max > 0;
}
bool has_lanes(const ServerFacts& s) {
  return s.engine.lanes().size() > 0;
}
bool shows_own_version(const ServerFacts& s) {
  return s.state.info.commands != CommandSet::standard && !s.state.info.haricot_version.empty();
}

bool was_handed_over(const ServerFacts& s) {
  return s.state.info.commands != CommandSet::standard && s.state.hand_overs > 0;
}

constexpr std::array kOwnRows = {
    Server::integer(
        "binlog-errors",
        "only with `-b`: failures since the start: writes, syncs, files or a folder that were "
        "removed",
        &has_binlog, [](const auto& s) { return s.state.journal.errors; }),
    Server::integer("binlog-refusing",
                    "only with `-b`: 1 while changes are refused because of a failure, else 0",
                    &has_binlog, [](const auto& s) { return s.state.journal.refusing; }),
    Server::integer("connections-max", "only with that flag: its value, and connections refused",
                    &limits_connections, [](const auto& s) { return s.limits().connections_max; }),
    Server::integer("connections-refused", kSame, &limits_connections,
                    [](const auto& s) { return s.state.limits_felt.refused_connections; }),
    Server::integer("idle-timeout", "only with that flag: its value, and connections closed",
                    &limits_idle_time, [](const auto& s) { return s.limits().idle_timeout_s; }),
    Server::integer("idle-closed", kSame, &limits_idle_time,
                    [](const auto& s) { return s.state.limits_felt.idle_connections; }),
    Server::integer("memory-max",
                    "only with that flag: its value, bytes allocated, and puts refused",
                    &limits_memory, [](const auto& s) { return s.limits().job_memory_bytes_max; }),
    Server::integer("memory-used", kSame, &limits_memory,
                    [](const auto& s) { return s.engine.memory().used_bytes(); }),
    Server::integer("memory-refused", kSame, &limits_memory,
                    [](const auto& s) { return s.counts().refused_puts; }),
    Server::integer("binlog-no-space",
                    "only with `-b`: 1 while puts are refused because the disk is full, else 0",
                    &has_binlog, [](const auto& s) { return s.state.journal.no_space; }),
    Server::integer("binlog-refused-puts",
                    "only with `-b`: puts refused because the disk was full or failed", &has_binlog,
                    [](const auto& s) { return s.state.journal.refused_puts; }),
    Server::integer(
        "memory-full",
        "only with `--memory-max`: 1 from a refused put until it fits and an eighth of the limit "
        "is free, else 0",
        &limits_memory, [](const auto& s) { return s.engine.memory().is_short(); }),
    Server::integer("tries-max", "only with that flag: its value", &limits_tries,
                    [](const auto& s) { return s.limits().tries_max; }),
    Server::integer(
        "binlog-sync-lag",
        "only with `-b`: age of the oldest change that is not synced, in milliseconds; 0 with `-F`",
        &has_binlog, [](const auto& s) { return s.state.sync_lag_ms; }),
    Server::quoted("haricot-version", "version of haricotd; not with `--no-extensions`",
                   &shows_own_version,
                   [](const auto& s) { return std::string_view(s.state.info.haricot_version); }),
    Server::integer("hand-overs",
                    "only after one: hand-overs to another process; not with `--no-extensions`",
                    &was_handed_over, [](const auto& s) { return s.state.hand_overs; }),
    Server::integer("current-jobs-blocked",
                    "only while a job has a tag `con`: ready jobs beyond the limits of these tags",
                    &has_lanes, [](const auto& s) { return s.counts().beyond_limit; }),
};

constexpr auto kAllServerRows = joined(kJobRows, kCounterRows, kServerRows, kOwnRows);

// stats-tube ------------------------------------------------------------------------------------

using OfTube = Rows<TubeFacts>;

constexpr std::array kTubeRows = {
    OfTube::quoted("name", "the tube", [](const auto& t) { return std::string_view(t.tube.name); }),
    OfTube::integer("current-jobs-urgent", "as in `stats`, of this tube",
                    [](const auto& t) { return t.tube.urgent; }),
    OfTube::integer("current-jobs-ready", kSame, [](const auto& t) { return t.tube.ready_jobs(); }),
    OfTube::integer("current-jobs-reserved", kSame, [](const auto& t) { return t.tube.reserved; }),
    OfTube::integer("current-jobs-delayed", kSame,
                    [](const auto& t) { return t.tube.delayed_jobs(); }),
    OfTube::integer("current-jobs-buried", kSame, [](const auto& t) { return t.tube.buried; }),
    OfTube::integer("total-jobs", "successful puts into it",
                    [](const auto& t) { return t.tube.total_jobs; }),
    OfTube::integer("current-using", "clients that put into it",
                    [](const auto& t) { return t.tube.using_clients; }),
    OfTube::integer("current-watching", "clients that reserve from it, waiting or not",
                    [](const auto& t) { return t.tube.watching_clients; }),
    OfTube::integer("current-waiting", "clients that wait in a reserve",
                    [](const auto& t) { return t.waiting_clients; }),
    OfTube::integer("cmd-delete", "jobs deleted from it, except by a flush",
                    [](const auto& t) { return t.tube.deletes; }),
    OfTube::integer("cmd-pause-tube", "pauses", [](const auto& t) { return t.tube.pauses; }),
    OfTube::integer("pause", "seconds of its current pause, 0 if there is none",
                    [](const auto& t) { return t.tube.pause_s; }),
    OfTube::integer("pause-time-left", "seconds left of the pause",
                    [](const auto& t) {
                      return t.tube.paused ? (t.tube.pause_end - t.now).whole_seconds() : 0;
                    }),
};

// stats-tube-detail -----------------------------------------------------------------------------

using OfDetail = Rows<TubeDetailFacts>;

constexpr std::array kTubeDetailRows = {
    OfDetail::integer(
        "age-oldest-ready",
        "seconds since the ready job that has waited longest became ready, 0 without one",
        [](const auto& t) { return t.oldest_ready_s; }),
    OfDetail::integer("age-oldest-buried",
                      "seconds since the first of the buried jobs was buried, 0 without one",
                      [](const auto& t) { return t.oldest_buried_s; }),
    OfDetail::integer(
        "queue-time-p50",
        "milliseconds from ready to reserved, of jobs reserved in the last 5 to 10 minutes: "
        "median, 99th percentile, longest; 0 without any",
        [](const auto& t) { return t.queued.p50_ms; }),
    OfDetail::integer("queue-time-p99", kSame, [](const auto& t) { return t.queued.p99_ms; }),
    OfDetail::integer("queue-time-max", kSame, [](const auto& t) { return t.queued.max_ms; }),
    OfDetail::integer(
        "work-time-p50",
        "milliseconds from reserve or last touch to delete, of jobs that their workers deleted in "
        "that time",
        [](const auto& t) { return t.worked.p50_ms; }),
    OfDetail::integer("work-time-p99", kSame, [](const auto& t) { return t.worked.p99_ms; }),
    OfDetail::integer("work-time-max", kSame, [](const auto& t) { return t.worked.max_ms; }),
    OfDetail::integer("buried-by-tries", "jobs buried because their tries were used up",
                      [](const auto& t) { return t.buried_by_tries; }),
    OfDetail::integer(
        "current-jobs-blocked",
        "ready jobs beyond the limits of their tags `con`; more workers would not get them",
        [](const auto& t) { return t.beyond_limit; }),
    OfDetail::quoted(
        "rule", "only if a rule applies to the tube: the tags that its puts get",
        [](const TubeDetailFacts& t) { return !t.rule.empty(); },
        [](const auto& t) { return t.rule; }),
};

static_assert(has_each_key_once(kAllServerRows));
static_assert(has_each_key_once(kTubeRows));
static_assert(has_each_key_once(kTubeDetailRows));

// stats-group -----------------------------------------------------------------------------------

using OfGroup = Rows<GroupFacts>;

constexpr std::array kGroupRows = {
    OfGroup::quoted("name", "the name of the group",
                    [](const auto& g) { return std::string_view(g.name); }),
    OfGroup::integer(
        "ready",
        "its jobs in that state, in all tubes, with those that a flush has not deleted yet",
        [](const auto& g) { return g.jobs_in(JobState::ready); }),
    OfGroup::integer("reserved", kSame,
                     [](const auto& g) { return g.jobs_in(JobState::reserved); }),
    OfGroup::integer("delayed", kSame, [](const auto& g) { return g.jobs_in(JobState::delayed); }),
    OfGroup::integer("buried", kSame, [](const auto& g) { return g.jobs_in(JobState::buried); }),
    OfGroup::integer("waiting-jobs", "jobs that wait until the group has no job",
                     [](const auto& g) { return g.held; }),
};

// stats-job -------------------------------------------------------------------------------------

using OfJob = Rows<JobFacts>;

constexpr std::array kJobFactRows = {
    OfJob::integer("id", "its id and its tube", [](const auto& j) { return j.id; }),
    OfJob::quoted("tube", kSame, [](const auto& j) { return std::string_view(j.tube->name); }),
    OfJob::word("state", "`ready`, `reserved`, `delayed` or `buried`",
                [](const auto& j) { return std::string_view(name_of(j.state)); }),
    OfJob::integer("pri", "priority, 0 first", [](const auto& j) { return j.priority; }),
    OfJob::integer("age", "seconds since it was put", [](const auto& j) { return j.age_s; }),
    OfJob::integer("delay", "delay of its put or last release, or the last one of its backoff",
                   [](const auto& j) { return j.delay_s; }),
    OfJob::integer("ttr", "seconds that a worker may take", [](const auto& j) { return j.ttr_s; }),
    OfJob::integer("time-left", "seconds until its TTR or its delay ends; 0 in other states",
                   [](const auto& j) { return j.time_left_s; }),
    OfJob::integer("file", "number of the binlog file that has its body; 0 without `-b`",
                   [](const auto& j) { return j.file; }),
    OfJob::integer(
        "reserves",
        "how often that happened to it. Many `timeouts`: it exceeds its TTR, or kills its workers",
        [](const auto& j) { return j.reserves; }),
    OfJob::integer("timeouts", kSame, [](const auto& j) { return j.timeouts; }),
    OfJob::integer("releases", kSame, [](const auto& j) { return j.releases; }),
    OfJob::integer("buries", kSame, [](const auto& j) { return j.buries; }),
    OfJob::integer("kicks", kSame, [](const auto& j) { return j.kicks; }),
};

// Returns the row of a tag, with its value from the text of the job's tags.
template <Tag kTag>
constexpr Statistic<JobFacts> tag_statistic(std::string_view meaning) {
  constexpr auto kIsShown = [](const JobFacts& j) { return !value_in(j.tags, kTag).empty(); };
  const auto value = [](const JobFacts& j) { return value_in(j.tags, kTag); };
  if constexpr (row_of(kTag).value.key == nullptr) {
    return OfJob::value(row_of(kTag).word, meaning, kIsShown, value);
  } else {
    return OfJob::quoted(row_of(kTag).word, meaning, kIsShown, value);
  }
}

constexpr std::array kTagRows = {
#define HARICOT_TAG(tag, word, value, part, node, copied, rules, flag, metavar, help, meaning) \
  tag_statistic<Tag::tag>("only of a job with this tag: " meaning),
#include "haricot/base/tag_rows.inc"
    OfJob::word(
        "held", "only of a job that still waits for that group",
        [](const JobFacts& j) { return j.is_held; },
        [](const auto&) { return std::string_view("true"); }),
};

// Returns the rows of stats-job with the size of the job instead of its file.
constexpr auto make_listed_job_rows() {
  auto rows = kJobFactRows;
  for (auto& row : rows) {
    if (row.key != "file") continue;
    row =
        OfJob::integer("bytes", "the size of its body", [](const auto& j) { return j.body_bytes; });
  }
  return rows;
}
constexpr std::array kHolderRows = {
    OfJob::integer(
        "holder",
        "only of a reserved job: the id of the connection that holds it, as `list-clients` shows "
        "it",
        [](const JobFacts& j) { return j.holder != ClientRef{}; },
        [](const auto& j) { return std::uint64_t{static_cast<std::uint32_t>(j.holder)}; }),
    OfJob::integer(
        "reserved-for", "only of a reserved job: seconds since the reserve, whatever `touch` does",
        [](const JobFacts& j) { return j.holder != ClientRef{}; },
        [](const auto& j) { return j.reserved_for_s; }),
};

constexpr bool has_known_burial(const JobFacts& j) {
  return j.state == JobState::buried && j.burial_cause != BurialCause::unknown;
}
// Returns the end of the last try of a job that was buried by its tries; empty for other causes.
constexpr std::string_view last_try_of(BurialCause cause) {
  switch (cause) {
    case BurialCause::released:
      return "release";
    case BurialCause::timed_out:
      return "timeout";
    case BurialCause::closed:
      return "close";
    case BurialCause::client:
    case BurialCause::memory:
    case BurialCause::unknown:
      break;
  }
  return {};
}
constexpr std::string_view buried_by(BurialCause cause) {
  if (cause == BurialCause::client) return "client";
  return cause == BurialCause::memory ? "memory" : "tries";
}
constexpr std::array kBurialRows = {
    OfJob::word(
        "buried-by",
        "only of a buried job: `client` (the command `bury`), `tries` (they were used up) or "
        "`memory` (there was none to delay it)",
        [](const JobFacts& j) { return has_known_burial(j); },
        [](const JobFacts& j) { return buried_by(j.burial_cause); }),
    OfJob::integer(
        "buried-ago", "only of a buried job: seconds since it was buried",
        [](const JobFacts& j) { return has_known_burial(j); },
        [](const auto& j) { return j.buried_s; }),
    OfJob::word(
        "last-try",
        "only of a job buried by its tries: how the last one ended, by `release`, `timeout` (its "
        "TTR ended) or `close` (its connection ended)",
        [](const JobFacts& j) {
          return has_known_burial(j) && !last_try_of(j.burial_cause).empty();
        },
        [](const JobFacts& j) { return last_try_of(j.burial_cause); }),
};
constexpr std::array kNoteRows = {
    OfJob::text(
        "note",
        "only of a job with a note: the first 160 bytes of its first line, in double quotes, with "
        "the escapes of JSON",
        [](const JobFacts& j) { return !j.note.empty(); }, [](const auto& j) { return j.note; }),
};
constexpr auto kListedJobRows =
    joined(make_listed_job_rows(), kTagRows, kHolderRows, kBurialRows, kNoteRows);

static_assert(has_each_key_once(kGroupRows));
static_assert(has_each_key_once(kJobFactRows));
static_assert(has_each_key_once(kListedJobRows));

// list-clients ----------------------------------------------------------------------------------

using OfClient = Rows<ClientFacts>;

constexpr std::array kClientRows = {
    OfClient::integer(
        "id", "its id, which a later connection may get again",
        [](const auto& c) { return std::uint64_t{static_cast<std::uint32_t>(c.client.ref())}; }),
    OfClient::quoted("address", "address and port of its peer, or `unix`",
                     [](const auto& c) { return c.address; }),
    OfClient::integer("age", "seconds since it connected", [](const auto& c) { return c.age_s; }),
    OfClient::quoted("used", "the tube that it uses",
                     [](const auto& c) { return std::string_view(c.client.used().name); }),
    OfClient::integer("watching", "number of tubes that it watches",
                      [](const auto& c) { return c.client.watched_tubes(); }),
    OfClient::word(
        "state",
        "`waiting`: in a reserve or a `wait-job`; `running`: its commands or answers are under "
        "way; `body`: in the middle of the body of a put or a note; otherwise `idle`",
        [](const auto& c) { return c.state; }),
    OfClient::integer("jobs", "number of jobs that it holds",
                      [](const auto& c) { return c.client.held_jobs(); }),
    OfClient::integer("commands",
                      "its command lines that were run or refused, except those that were too long",
                      [](const auto& c) { return c.commands; }),
    OfClient::integer(
        "idle",
        "seconds since its last input or the end of its last wait; if it waits, since the wait "
        "began",
        [](const auto& c) { return c.idle_s; }),
};
static_assert(has_each_key_once(kClientRows));

}  // namespace

std::span<const Statistic<ServerFacts>> server_statistics() {
  return kAllServerRows;
}
std::span<const Statistic<TubeFacts>> tube_statistics() {
  return kTubeRows;
}
std::span<const Statistic<TubeDetailFacts>> tube_detail_statistics() {
  return kTubeDetailRows;
}

std::span<const Statistic<GroupFacts>> group_statistics() {
  return kGroupRows;
}
std::span<const Statistic<JobFacts>> job_statistics() {
  return kJobFactRows;
}
std::span<const Statistic<JobFacts>> listed_job_statistics() {
  return kListedJobRows;
}

std::span<const Statistic<ClientFacts>> client_statistics() {
  return kClientRows;
}

}  // namespace haricot
