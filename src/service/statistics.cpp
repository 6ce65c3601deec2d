#include "haricot/service/statistics.hpp"

#include <utility>

#include "haricot/base/job_tags.hpp"

namespace haricot {
namespace {

// stats -----------------------------------------------------------------------------------------

using Server = Rows<ServerFacts>;

constexpr std::array kJobRows = {
    Server::integer(
        "current-jobs-urgent", [](const ServerFacts& s) { return s.counts().urgent; },
        "ready jobs with a priority below 1024"),
    Server::integer(
        "current-jobs-ready", [](const ServerFacts& s) { return s.counts().ready; },
        "jobs that wait for a worker, also in paused tubes"),
    Server::integer(
        "current-jobs-reserved", [](const ServerFacts& s) { return s.counts().reserved; },
        "jobs that workers hold"),
    Server::integer(
        "current-jobs-delayed", [](const ServerFacts& s) { return s.counts().delayed; },
        "jobs that become ready later"),
    Server::integer(
        "current-jobs-buried", [](const ServerFacts& s) { return s.counts().buried; },
        "jobs put aside until they are kicked or deleted"),
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
      kCommandTable[kVerb].counter, [](const ServerFacts& s) { return s.state.verbs[kVerb]; },
      kVerb == 0 ? "commands, successful or not; `kick-job` and `reserve-job` have no counter"
                 : kSame)...};
}

constexpr auto kCounterRows = make_counter_rows(std::make_index_sequence<count_counters()>());

constexpr std::array kServerRows = {
    Server::integer(
        "job-timeouts", [](const ServerFacts& s) { return s.counts().timeouts; },
        "TTRs that ended before the worker was done"),
    Server::integer(
        "total-jobs", [](const ServerFacts& s) { return s.counts().total_jobs; },
        "successful puts"),
    Server::integer(
        "max-job-size", [](const ServerFacts& s) { return s.state.info.job_bytes_max; }, "`-z`"),
    Server::integer(
        "current-tubes", [](const ServerFacts& s) { return s.engine.tubes().size(); },
        "tubes that a job or a client refers to, and `default`"),
    Server::integer(
        "current-connections", [](const ServerFacts& s) { return s.counts().clients; },
        "open connections, with the one that asks"),
    Server::integer(
        "current-producers", [](const ServerFacts& s) { return s.counts().producers; },
        "connections that have put"),
    Server::integer(
        "current-workers", [](const ServerFacts& s) { return s.counts().workers; },
        "connections that have reserved"),
    Server::integer(
        "current-waiting", [](const ServerFacts& s) { return s.counts().waiting; },
        "connections that wait in a reserve"),
    Server::integer(
        "total-connections", [](const ServerFacts& s) { return s.state.total_connections; },
        "connections since the start"),
    Server::integer(
        "pid", [](const ServerFacts& s) { return s.state.info.pid; }, "of the server"),
    // Both versions of beanstalkd have quotes here.
    Server::word(
        "version",
        [](const ServerFacts& s) {
          return s.state.info.compat == Compat::v1_12 ? "\"1.12\"" : "\"1.13\"";
        },
        "version of beanstalkd that clients see"),
    Server::cpu_time(
        "rusage-utime", [](const ServerFacts& s) { return s.cpu.user_us; },
        "seconds of CPU time, in the program and in the kernel"),
    Server::cpu_time(
        "rusage-stime", [](const ServerFacts& s) { return s.cpu.system_us; }, kSame),
    Server::integer(
        "uptime", [](const ServerFacts& s) { return s.state.uptime_s; }, "seconds since the start"),
    Server::integer(
        "binlog-oldest-index", [](const ServerFacts& s) { return s.state.journal.oldest_index; },
        "numbers of the oldest and the newest file; 0 without `-b`"),
    Server::integer(
        "binlog-current-index", [](const ServerFacts& s) { return s.state.journal.current_index; },
        kSame),
    Server::integer(
        "binlog-records-migrated",
        [](const ServerFacts& s) { return s.state.journal.records_migrated; },
        "records that compaction has written"),
    Server::integer(
        "binlog-records-written",
        [](const ServerFacts& s) { return s.state.journal.records_written; }, "all records"),
    Server::integer(
        "binlog-max-size", [](const ServerFacts& s) { return s.state.info.binlog_bytes_max; },
        "`-s`"),
    Server::word(
        "draining", [](const ServerFacts& s) { return s.state.draining ? "true" : "false"; },
        "`true` in drain mode: puts are refused"),
    Server::word(
        "id", [](const ServerFacts& s) { return std::string_view(s.state.info.instance_id); },
        "random, new at each start"),
    Server::quoted(
        "hostname", [](const ServerFacts& s) { return std::string_view(s.state.info.hostname); },
        "the machine"),
    Server::quoted(
        "os", [](const ServerFacts& s) { return std::string_view(s.state.info.os); }, kSame),
    Server::quoted(
        "platform", [](const ServerFacts& s) { return std::string_view(s.state.info.platform); },
        kSame),
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
bool shows_own_version(const ServerFacts& s) {
  return s.state.info.commands != CommandSet::standard && !s.state.info.haricot_version.empty();
}

bool was_handed_over(const ServerFacts& s) {
  return s.state.info.commands != CommandSet::standard && s.state.hand_overs > 0;
}

constexpr std::array kOwnRows = {
    Server::integer(
        "binlog-errors", [](const ServerFacts& s) { return s.state.journal.errors; },
        "only with `-b`: failures since the start: writes, syncs, files or a folder that were "
        "removed",
        &has_binlog),
    Server::integer(
        "binlog-refusing", [](const ServerFacts& s) { return s.state.journal.refusing; },
        "only with `-b`: 1 while changes are refused because of a failure, else 0", &has_binlog),
    Server::integer(
        "connections-max", [](const ServerFacts& s) { return s.limits().connections_max; },
        "only with that flag: its value, and connections refused", &limits_connections),
    Server::integer(
        "connections-refused",
        [](const ServerFacts& s) { return s.state.limits_felt.refused_connections; }, kSame,
        &limits_connections),
    Server::integer(
        "idle-timeout", [](const ServerFacts& s) { return s.limits().idle_timeout_s; },
        "only with that flag: its value, and connections closed", &limits_idle_time),
    Server::integer(
        "idle-closed", [](const ServerFacts& s) { return s.state.limits_felt.idle_connections; },
        kSame, &limits_idle_time),
    Server::integer(
        "memory-max", [](const ServerFacts& s) { return s.limits().job_memory_bytes_max; },
        "only with that flag: its value, bytes allocated, and puts refused", &limits_memory),
    Server::integer(
        "memory-used", [](const ServerFacts& s) { return s.engine.memory().used_bytes(); }, kSame,
        &limits_memory),
    Server::integer(
        "memory-refused", [](const ServerFacts& s) { return s.counts().refused_puts; }, kSame,
        &limits_memory),
    Server::integer(
        "binlog-no-space", [](const ServerFacts& s) { return s.state.journal.no_space; },
        "only with `-b`: 1 while puts are refused because the disk is full, else 0", &has_binlog),
    Server::integer(
        "binlog-refused-puts", [](const ServerFacts& s) { return s.state.journal.refused_puts; },
        "only with `-b`: puts refused because the disk was full or failed", &has_binlog),
    Server::integer(
        "memory-full", [](const ServerFacts& s) { return s.engine.memory().is_short(); },
        "only with `--memory-max`: 1 from a refused put until it fits and an eighth of the limit "
        "is "
        "free, else 0",
        &limits_memory),
    Server::integer(
        "tries-max", [](const ServerFacts& s) { return s.limits().tries_max; },
        "only with that flag: its value", &limits_tries),
    Server::integer(
        "binlog-sync-lag", [](const ServerFacts& s) { return s.state.sync_lag_ms; },
        "only with `-b`: age of the oldest change that is not synced, in milliseconds; 0 with `-F`",
        &has_binlog),
    Server::quoted(
        "haricot-version",
        [](const ServerFacts& s) { return std::string_view(s.state.info.haricot_version); },
        "version of haricotd; not with `--no-extensions`", &shows_own_version),
    Server::integer(
        "hand-overs", [](const ServerFacts& s) { return s.state.hand_overs; },
        "only after one: hand-overs to another process; not with `--no-extensions`",
        &was_handed_over),
};

constexpr auto kAllServerRows = joined(kJobRows, kCounterRows, kServerRows, kOwnRows);

// stats-tube ------------------------------------------------------------------------------------

using OfTube = Rows<TubeFacts>;

constexpr std::array kTubeRows = {
    OfTube::quoted(
        "name", [](const TubeFacts& t) { return std::string_view(t.tube.name); }, "the tube"),
    OfTube::integer(
        "current-jobs-urgent", [](const TubeFacts& t) { return t.tube.urgent; },
        "as in `stats`, of this tube"),
    OfTube::integer(
        "current-jobs-ready", [](const TubeFacts& t) { return t.tube.ready_jobs(); }, kSame),
    OfTube::integer(
        "current-jobs-reserved", [](const TubeFacts& t) { return t.tube.reserved; }, kSame),
    OfTube::integer(
        "current-jobs-delayed", [](const TubeFacts& t) { return t.tube.delayed_jobs(); }, kSame),
    OfTube::integer(
        "current-jobs-buried", [](const TubeFacts& t) { return t.tube.buried; }, kSame),
    OfTube::integer(
        "total-jobs", [](const TubeFacts& t) { return t.tube.total_jobs; },
        "successful puts into it"),
    OfTube::integer(
        "current-using", [](const TubeFacts& t) { return t.tube.using_clients; },
        "clients that put into it"),
    OfTube::integer(
        "current-watching", [](const TubeFacts& t) { return t.tube.watching_clients; },
        "clients that reserve from it, waiting or not"),
    OfTube::integer(
        "current-waiting", [](const TubeFacts& t) { return t.waiting_clients; },
        "clients that wait in a reserve"),
    OfTube::integer(
        "cmd-delete", [](const TubeFacts& t) { return t.tube.deletes; },
        "jobs deleted from it, except by a flush"),
    OfTube::integer(
        "cmd-pause-tube", [](const TubeFacts& t) { return t.tube.pauses; }, "pauses"),
    OfTube::integer(
        "pause", [](const TubeFacts& t) { return t.tube.pause_s; },
        "seconds of its current pause, 0 if there is none"),
    OfTube::integer(
        "pause-time-left",
        [](const TubeFacts& t) {
          return t.tube.paused ? (t.tube.pause_end - t.now).whole_seconds() : 0;
        },
        "seconds left of the pause"),
};

// stats-tube-detail -----------------------------------------------------------------------------

using OfDetail = Rows<TubeDetailFacts>;

constexpr std::array kTubeDetailRows = {
    OfDetail::integer(
        "age-oldest-ready", [](const TubeDetail& t) { return t.oldest_ready_s; },
        "seconds since the ready job that has waited longest became ready, 0 without one"),
    OfDetail::integer(
        "age-oldest-buried", [](const TubeDetail& t) { return t.oldest_buried_s; },
        "seconds since the first of the buried jobs was buried, 0 without one"),
    OfDetail::integer(
        "queue-time-p50", [](const TubeDetail& t) { return t.queued.p50_ms; },
        "milliseconds from ready to reserved, of jobs reserved in the last 5 to 10 minutes: "
        "median, "
        "99th percentile, longest; 0 without any"),
    OfDetail::integer(
        "queue-time-p99", [](const TubeDetail& t) { return t.queued.p99_ms; }, kSame),
    OfDetail::integer(
        "queue-time-max", [](const TubeDetail& t) { return t.queued.max_ms; }, kSame),
    OfDetail::integer(
        "work-time-p50", [](const TubeDetail& t) { return t.worked.p50_ms; },
        "milliseconds from reserve or last touch to delete, of jobs that their workers deleted in "
        "that time"),
    OfDetail::integer(
        "work-time-p99", [](const TubeDetail& t) { return t.worked.p99_ms; }, kSame),
    OfDetail::integer(
        "work-time-max", [](const TubeDetail& t) { return t.worked.max_ms; }, kSame),
    OfDetail::integer(
        "buried-by-tries", [](const TubeDetail& t) { return t.buried_by_tries; },
        "jobs buried because their tries were used up"),
};

static_assert(has_each_key_once(kAllServerRows));
static_assert(has_each_key_once(kTubeRows));
static_assert(has_each_key_once(kTubeDetailRows));

// stats-group -----------------------------------------------------------------------------------

using OfGroup = Rows<GroupFacts>;

constexpr std::array kGroupRows = {
    OfGroup::quoted(
        "name", [](const Group& g) { return std::string_view(g.name); }, "the name of the group"),
    OfGroup::integer(
        "ready", [](const Group& g) { return g.jobs_in(JobState::ready); },
        "its jobs in that state, in all tubes, with those that a flush has not deleted yet"),
    OfGroup::integer(
        "reserved", [](const Group& g) { return g.jobs_in(JobState::reserved); }, kSame),
    OfGroup::integer(
        "delayed", [](const Group& g) { return g.jobs_in(JobState::delayed); }, kSame),
    OfGroup::integer(
        "buried", [](const Group& g) { return g.jobs_in(JobState::buried); }, kSame),
    OfGroup::integer(
        "waiting-jobs", [](const Group& g) { return g.held; },
        "jobs that wait until the group has no job"),
};

// stats-job -------------------------------------------------------------------------------------

using OfJob = Rows<JobFacts>;

constexpr std::array kJobFactRows = {
    OfJob::integer(
        "id", [](const JobFacts& j) { return j.id; }, "its id and its tube"),
    OfJob::quoted(
        "tube", [](const JobFacts& j) { return std::string_view(j.tube->name); }, kSame),
    OfJob::word(
        "state", [](const JobFacts& j) { return std::string_view(name_of(j.state)); },
        "`ready`, `reserved`, `delayed` or `buried`"),
    OfJob::integer(
        "pri", [](const JobFacts& j) { return j.priority; }, "priority, 0 first"),
    OfJob::integer(
        "age", [](const JobFacts& j) { return j.age_s; }, "seconds since it was put"),
    OfJob::integer(
        "delay", [](const JobFacts& j) { return j.delay_s; }, "delay of its put or last release"),
    OfJob::integer(
        "ttr", [](const JobFacts& j) { return j.ttr_s; }, "seconds that a worker may take"),
    OfJob::integer(
        "time-left", [](const JobFacts& j) { return j.time_left_s; },
        "seconds until its TTR or its delay ends; 0 in other states"),
    OfJob::integer(
        "file", [](const JobFacts& j) { return j.file; },
        "number of the binlog file that has its body; 0 without `-b`"),
    OfJob::integer(
        "reserves", [](const JobFacts& j) { return j.reserves; },
        "how often that happened to it. Many `timeouts`: it exceeds its TTR, or kills its workers"),
    OfJob::integer(
        "timeouts", [](const JobFacts& j) { return j.timeouts; }, kSame),
    OfJob::integer(
        "releases", [](const JobFacts& j) { return j.releases; }, kSame),
    OfJob::integer(
        "buries", [](const JobFacts& j) { return j.buries; }, kSame),
    OfJob::integer(
        "kicks", [](const JobFacts& j) { return j.kicks; }, kSame),
};

// Returns the row of a tag, with its value from the text of the job's tags.
template <Tag kTag>
constexpr Statistic<JobFacts> tag_statistic(std::string_view meaning) {
  constexpr auto kIsShown = [](const JobFacts& j) { return !value_in(j.tags, kTag).empty(); };
  if constexpr (row_of(kTag).value.is_number()) {
    const auto number = [](const JobFacts& j) {
      return tags_in(j.tags).*row_of(kTag).value.number;
    };
    return OfJob::integer(row_of(kTag).word, number, meaning, kIsShown);
  } else {
    const auto value = [](const JobFacts& j) { return value_in(j.tags, kTag); };
    return OfJob::quoted(row_of(kTag).word, value, meaning, kIsShown);
  }
}

constexpr std::array kTagRows = {
#define HARICOT_TAG(tag, word, value, part, node, copied, flag, metavar, help, meaning) \
  tag_statistic<Tag::tag>("only of a job with this tag: " meaning),
#include "haricot/base/tag_rows.inc"
    OfJob::word(
        "held", [](const JobFacts&) { return std::string_view("true"); },
        "only of a job that still waits for that group",
        [](const JobFacts& j) { return j.is_held; }),
};

// Returns the rows of stats-job with the size of the job instead of its file.
constexpr auto make_listed_job_rows() {
  auto rows = kJobFactRows;
  for (auto& row : rows) {
    if (row.key != "file") continue;
    row = OfJob::integer(
        "bytes", [](const JobFacts& j) { return j.body_bytes; }, "the size of its body");
  }
  return rows;
}
constexpr std::array kHolderRows = {
    OfJob::integer(
        "holder",
        [](const JobFacts& j) { return std::uint64_t{static_cast<std::uint32_t>(j.holder)}; },
        "only of a reserved job: the id of the connection that holds it, as `list-clients` shows "
        "it",
        [](const JobFacts& j) { return j.holder != ClientRef{}; }),
};
constexpr auto kListedJobRows = joined(make_listed_job_rows(), kTagRows, kHolderRows);

static_assert(has_each_key_once(kGroupRows));
static_assert(has_each_key_once(kJobFactRows));
static_assert(has_each_key_once(kListedJobRows));

// list-clients ----------------------------------------------------------------------------------

using OfClient = Rows<ClientFacts>;

constexpr std::array kClientRows = {
    OfClient::integer(
        "id",
        [](const ClientFacts& c) {
          return std::uint64_t{static_cast<std::uint32_t>(c.client.ref())};
        },
        "its id, which a later connection may get again"),
    OfClient::quoted(
        "address", [](const ClientFacts& c) { return c.address; },
        "address and port of its peer, or `unix`"),
    OfClient::integer(
        "age", [](const ClientFacts& c) { return c.age_s; }, "seconds since it connected"),
    OfClient::quoted(
        "used", [](const ClientFacts& c) { return std::string_view(c.client.used().name); },
        "the tube that it uses"),
    OfClient::integer(
        "watching", [](const ClientFacts& c) { return c.client.watched_tubes(); },
        "number of tubes that it watches"),
    OfClient::word(
        "state", [](const ClientFacts& c) { return c.state; },
        "`waiting`: in a reserve or a `wait-job`; `running`: its commands or answers are under "
        "way; "
        "`body`: in the middle of the body of a put; otherwise `idle`"),
    OfClient::integer(
        "jobs", [](const ClientFacts& c) { return c.client.held_jobs(); },
        "number of jobs that it holds"),
    OfClient::integer(
        "commands", [](const ClientFacts& c) { return c.commands; },
        "its command lines that were run or refused, except those that were too long"),
    OfClient::integer(
        "idle", [](const ClientFacts& c) { return c.idle_s; },
        "seconds since its last input or the end of its last wait; if it waits, since the wait "
        "began"),
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
