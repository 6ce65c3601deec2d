#include "haricot/service/statistics.hpp"

#include <cstddef>
#include <utility>

#include "haricot/service/statistic_rows.hpp"

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
        "jobs that a worker could have now, those of paused tubes too"),
    Server::integer(
        "current-jobs-reserved", [](const ServerFacts& s) { return s.counts().reserved; },
        "jobs that workers hold"),
    Server::integer(
        "current-jobs-delayed", [](const ServerFacts& s) { return s.counts().delayed; },
        "jobs that get ready later"),
    Server::integer(
        "current-jobs-buried", [](const ServerFacts& s) { return s.counts().buried; },
        "jobs put aside until somebody kicks or deletes them"),
};

// One row for each command that has a counter, from the table of commands.
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
      kVerb == 0 ? "how often the command came, successful or not. `kick-job` and `reserve-job` "
                   "have no counter"
                 : kSame)...};
}

constexpr auto kCounterRows = make_counter_rows(std::make_index_sequence<count_counters()>());

constexpr std::array kServerRows = {
    Server::integer(
        "job-timeouts", [](const ServerFacts& s) { return s.counts().timeouts; },
        "how often a TTR ended before the worker was done"),
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
        "open connections, the one that asks included"),
    Server::integer(
        "current-producers", [](const ServerFacts& s) { return s.counts().producers; },
        "those of them that have put"),
    Server::integer(
        "current-workers", [](const ServerFacts& s) { return s.counts().workers; },
        "those that have reserved"),
    Server::integer(
        "current-waiting", [](const ServerFacts& s) { return s.counts().waiting; },
        "those that wait in a reserve"),
    Server::integer(
        "total-connections", [](const ServerFacts& s) { return s.state.total_connections; },
        "connections since the start"),
    Server::integer(
        "pid", [](const ServerFacts& s) { return s.state.info.pid; }, "of the server"),
    // The version is in quotes in both.
    Server::word(
        "version",
        [](const ServerFacts& s) {
          return s.state.info.compat == Compat::v1_12 ? "\"1.12\"" : "\"1.13\"";
        },
        "of beanstalkd, as far as clients can tell; `haricot-version` is ours"),
    Server::cpu_time(
        "rusage-utime", [](const ServerFacts& s) { return s.cpu.user_us; },
        "CPU time in seconds, of the program and of the kernel for it"),
    Server::cpu_time(
        "rusage-stime", [](const ServerFacts& s) { return s.cpu.system_us; }, kSame),
    Server::integer(
        "uptime", [](const ServerFacts& s) { return s.state.uptime_s; }, "seconds since the start"),
    Server::integer(
        "binlog-oldest-index", [](const ServerFacts& s) { return s.state.journal.oldest_index; },
        "the numbers of the oldest file and of the one that is written to; 0 without `-b`"),
    Server::integer(
        "binlog-current-index", [](const ServerFacts& s) { return s.state.journal.current_index; },
        kSame),
    Server::integer(
        "binlog-records-migrated",
        [](const ServerFacts& s) { return s.state.journal.records_migrated; },
        "records that compaction has written, to move jobs out of old files"),
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

// After the last key that beanstalkd has: what an operator asked for, and with the extended
// commands our version. With --no-extensions and nothing asked for, a report is beanstalkd's to the
// last line. New keys stand after all of these, for keys that are there already keep their lines.

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
bool tells_our_version(const ServerFacts& s) {
  return s.state.info.commands != CommandSet::standard && !s.state.info.haricot_version.empty();
}

bool was_handed_over(const ServerFacts& s) {
  return s.state.info.commands != CommandSet::standard && s.state.hand_overs > 0;
}

constexpr std::array kOwnRows = {
    Server::integer(
        "binlog-errors", [](const ServerFacts& s) { return s.state.journal.errors; },
        "only with `-b`: writes, syncs and the like that failed since the start, and how often "
        "files or the folder were found to be taken away",
        &has_binlog),
    Server::integer(
        "binlog-refusing", [](const ServerFacts& s) { return s.state.journal.refusing; },
        "only with `-b`: 1 while changes are refused because of that, else 0", &has_binlog),
    Server::integer(
        "connections-max", [](const ServerFacts& s) { return s.limits().connections_max; },
        "only with that flag: its value, and how many were closed at once because of it",
        &limits_connections),
    Server::integer(
        "connections-refused",
        [](const ServerFacts& s) { return s.state.limits_felt.refused_connections; }, kSame,
        &limits_connections),
    Server::integer(
        "idle-timeout", [](const ServerFacts& s) { return s.limits().idle_timeout_s; },
        "only with that flag: its value, and how many connections it has closed",
        &limits_idle_time),
    Server::integer(
        "idle-closed", [](const ServerFacts& s) { return s.state.limits_felt.idle_connections; },
        kSame, &limits_idle_time),
    Server::integer(
        "memory-max", [](const ServerFacts& s) { return s.limits().job_memory_bytes_max; },
        "only with that flag: its value, what the server has taken, and how many puts "
        "were refused",
        &limits_memory),
    Server::integer(
        "memory-used", [](const ServerFacts& s) { return s.engine.memory().used_bytes(); }, kSame,
        &limits_memory),
    Server::integer(
        "memory-refused", [](const ServerFacts& s) { return s.counts().refused_puts; }, kSame,
        &limits_memory),
    Server::integer(
        "binlog-no-space", [](const ServerFacts& s) { return s.state.journal.no_space; },
        "only with `-b`: 1 from a put that was refused for want of space on the disk until "
        "there is room for it, else 0",
        &has_binlog),
    Server::integer(
        "binlog-refused-puts", [](const ServerFacts& s) { return s.state.journal.refused_puts; },
        "only with `-b`: puts that were refused because the disk was full or failed", &has_binlog),
    Server::integer(
        "memory-full", [](const ServerFacts& s) { return s.engine.memory().is_short(); },
        "only with `--memory-max`: 1 from a put that was refused because of it until that put fits "
        "and an eighth of the limit is free, else 0",
        &limits_memory),
    Server::integer(
        "tries-max", [](const ServerFacts& s) { return s.limits().tries_max; },
        "only with that flag: its value", &limits_tries),
    Server::integer(
        "binlog-sync-lag", [](const ServerFacts& s) { return s.state.sync_lag_ms; },
        "only with `-b`: milliseconds since the oldest change was written that is not synced yet, "
        "0 if all are; always 0 with `-F`",
        &has_binlog),
    Server::quoted(
        "haricot-version",
        [](const ServerFacts& s) { return std::string_view(s.state.info.haricot_version); },
        "of haricotd, as `haricotd -v` has it; not with `--no-extensions`", &tells_our_version),
    Server::integer(
        "hand-overs", [](const ServerFacts& s) { return s.state.hand_overs; },
        "only if there was one: how often the server went on in another process, with its "
        "connections; not with `--no-extensions`",
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
        "successful puts into it, since it came to be"),
    OfTube::integer(
        "current-using", [](const TubeFacts& t) { return t.tube.using_clients; },
        "clients that put into it"),
    OfTube::integer(
        "current-watching", [](const TubeFacts& t) { return t.tube.watching_clients; },
        "clients that reserve from it, waiting or not"),
    OfTube::integer(
        "current-waiting", [](const TubeFacts& t) { return t.waiting_clients; },
        "those of them that wait in a reserve"),
    OfTube::integer(
        "cmd-delete", [](const TubeFacts& t) { return t.tube.deletes; },
        "jobs deleted from it, but not by a flush"),
    OfTube::integer(
        "cmd-pause-tube", [](const TubeFacts& t) { return t.tube.pauses; },
        "how often it was paused"),
    OfTube::integer(
        "pause", [](const TubeFacts& t) { return t.tube.pause_s; },
        "seconds of its current pause, 0 if there is none"),
    OfTube::integer(
        "pause-time-left",
        [](const TubeFacts& t) {
          return t.tube.paused ? (t.tube.pause_end - t.now).whole_seconds() : 0;
        },
        "what is left of it"),
};

// stats-tube-detail -----------------------------------------------------------------------------

using OfDetail = Rows<TubeDetailFacts>;

constexpr std::array kTubeDetailRows = {
    OfDetail::integer(
        "age-oldest-ready", [](const TubeDetail& t) { return t.oldest_ready_s; },
        "seconds since the job became ready that has been ready longest, 0 if none is ready"),
    OfDetail::integer(
        "age-oldest-buried", [](const TubeDetail& t) { return t.oldest_buried_s; },
        "seconds since the job was buried that has been buried longest, 0 if none is buried"),
    OfDetail::integer(
        "queue-time-p50", [](const TubeDetail& t) { return t.queued.p50_ms; },
        "milliseconds from getting ready to being reserved: the median of the jobs that were "
        "reserved in the last 5 to 10 minutes, their 99th percentile, and the longest; 0 if there "
        "were none"),
    OfDetail::integer(
        "queue-time-p99", [](const TubeDetail& t) { return t.queued.p99_ms; }, kSame),
    OfDetail::integer(
        "queue-time-max", [](const TubeDetail& t) { return t.queued.max_ms; }, kSame),
    OfDetail::integer(
        "work-time-p50", [](const TubeDetail& t) { return t.worked.p50_ms; },
        "milliseconds from the reserve, or the last touch, to the delete, of the jobs that their "
        "workers deleted; otherwise the same"),
    OfDetail::integer(
        "work-time-p99", [](const TubeDetail& t) { return t.worked.p99_ms; }, kSame),
    OfDetail::integer(
        "work-time-max", [](const TubeDetail& t) { return t.worked.max_ms; }, kSame),
    OfDetail::integer(
        "buried-by-tries", [](const TubeDetail& t) { return t.buried_by_tries; },
        "jobs that were buried because their tries were used up"),
};

static_assert(has_each_key_once(kAllServerRows));
static_assert(has_each_key_once(kTubeRows));
static_assert(has_each_key_once(kTubeDetailRows));

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

}  // namespace haricot
