#include "haricot/service/statistics.hpp"

#include <cstddef>
#include <utility>

#include "haricot/base/job_tags.hpp"

namespace haricot {
namespace {

// The columns of a row after its key. A value is a lambda without a capture.
template <typename Facts>
struct Rows {
  using Row = Statistic<Facts>;

  template <typename Value>
  static constexpr Row integer(std::string_view key, Value, std::string_view meaning,
                               typename Row::Condition is_shown = nullptr) {
    return {.key = key,
            .type = StatisticType::integer,
            .number = &number_of<Value>,
            .is_shown = is_shown,
            .meaning = meaning};
  }
  template <typename Value>
  static constexpr Row cpu_time(std::string_view key, Value, std::string_view meaning) {
    return {.key = key,
            .type = StatisticType::cpu_time,
            .number = &number_of<Value>,
            .meaning = meaning};
  }
  template <typename Value>
  static constexpr Row word(std::string_view key, Value, std::string_view meaning) {
    return {.key = key, .type = StatisticType::word, .word = &word_of<Value>, .meaning = meaning};
  }
  template <typename Value>
  static constexpr Row quoted(std::string_view key, Value, std::string_view meaning,
                              typename Row::Condition is_shown = nullptr) {
    return {.key = key,
            .type = StatisticType::quoted,
            .word = &word_of<Value>,
            .is_shown = is_shown,
            .meaning = meaning};
  }

 private:
  template <typename Value>
  static std::uint64_t number_of(const Facts& facts) {
    return static_cast<std::uint64_t>(Value{}(facts));
  }
  template <typename Value>
  static std::string_view word_of(const Facts& facts) {
    return Value{}(facts);
  }
};

// A row with the meaning of the one before it.
constexpr std::string_view kSame{};

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

template <typename Row, std::size_t... kSizes>
constexpr auto joined(const std::array<Row, kSizes>&... parts) {
  std::array<Row, (kSizes + ...)> all{};
  std::size_t size = 0;
  const auto add = [&](const auto& part) {
    for (const Row& row : part) all[size++] = row;
  };
  (add(parts), ...);
  return all;
}

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
        "cmd-delete", [](const TubeFacts& t) { return t.tube.deletes; }, "jobs deleted from it"),
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

// stats-job -------------------------------------------------------------------------------------

using OfJob = Rows<JobFacts>;

constexpr std::array kJobFactRows = {
    OfJob::integer(
        "id", [](const JobFacts& j) { return j.id; }, "its id, and the tube it is in"),
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
        "delay", [](const JobFacts& j) { return j.delay_s; },
        "the delay of its put or last release"),
    OfJob::integer(
        "ttr", [](const JobFacts& j) { return j.ttr_s; }, "seconds a worker has for it"),
    OfJob::integer(
        "time-left", [](const JobFacts& j) { return j.time_left_s; },
        "seconds until its TTR ends, or until it gets ready; 0 in other states"),
    OfJob::integer(
        "file", [](const JobFacts& j) { return j.file; },
        "number of the binlog file that has its body; 0 without `-b`"),
    OfJob::integer(
        "reserves", [](const JobFacts& j) { return j.reserves; },
        "how often that happened to it. Many `timeouts`: it is too long for its TTR, or kills its "
        "workers"),
    OfJob::integer(
        "timeouts", [](const JobFacts& j) { return j.timeouts; }, kSame),
    OfJob::integer(
        "releases", [](const JobFacts& j) { return j.releases; }, kSame),
    OfJob::integer(
        "buries", [](const JobFacts& j) { return j.buries; }, kSame),
    OfJob::integer(
        "kicks", [](const JobFacts& j) { return j.kicks; }, kSame),
};

// A key and what stands behind it in the text; empty: there is no such key.
std::string_view with_rest(std::string_view key, std::string_view tags) {
  if (key.empty()) return {};
  const auto offset = static_cast<std::size_t>(key.data() - tags.data());
  return tags.substr(offset, tags.substr(offset).find(' '));
}

// What `con` and `idp` say, as the text has it; empty: it has no such tag.
std::string_view lane_of(std::string_view tags) {
  return with_rest(tags_in(tags).lane, tags);
}
std::string_view unique_key_of(std::string_view tags) {
  return with_rest(tags_in(tags).unique_key, tags);
}

// What tags say of it.
constexpr std::array kTagRows = {
    OfJob::integer(
        "try", [](const JobFacts& j) { return tags_in(j.tags).tries; },
        "only of a job with this tag: its value",
        [](const JobFacts& j) { return !j.tags.empty() && tags_in(j.tags).tries > 0; }),
    OfJob::quoted(
        "con", [](const JobFacts& j) { return lane_of(j.tags); },
        "only of a job with this tag: its key, and a colon and its limit if that is not 1",
        [](const JobFacts& j) { return !lane_of(j.tags).empty(); }),
    OfJob::quoted(
        "idp", [](const JobFacts& j) { return unique_key_of(j.tags); },
        "only of a job with this tag: its key, and a colon and the seconds for which the key "
        "outlives the job, if it does",
        [](const JobFacts& j) { return !unique_key_of(j.tags).empty(); }),
};

// The same, with the size of the job in the place of its file.
constexpr auto make_listed_job_rows() {
  auto rows = kJobFactRows;
  for (auto& row : rows) {
    if (row.key != "file") continue;
    row = OfJob::integer(
        "bytes", [](const JobFacts& j) { return j.body_bytes; }, "the size of its body");
  }
  return rows;
}
constexpr auto kListedJobRows = joined(make_listed_job_rows(), kTagRows);

// No key stands twice in a report.
template <typename Row, std::size_t kSize>
constexpr bool has_each_key_once(const std::array<Row, kSize>& rows) {
  for (std::size_t i = 0; i < kSize; ++i) {
    for (std::size_t other = 0; other < i; ++other) {
      if (rows[i].key == rows[other].key) return false;
    }
  }
  return true;
}
static_assert(has_each_key_once(kAllServerRows));
static_assert(has_each_key_once(kTubeRows));
static_assert(has_each_key_once(kTubeDetailRows));
static_assert(has_each_key_once(kJobFactRows));
static_assert(has_each_key_once(kListedJobRows));

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
std::span<const Statistic<JobFacts>> job_statistics() {
  return kJobFactRows;
}
std::span<const Statistic<JobFacts>> listed_job_statistics() {
  return kListedJobRows;
}

}  // namespace haricot
