#include "haricot/service/report.hpp"

#include <charconv>

namespace haricot {

Report::Report(std::string& text, Compat compat) : text_(text), compat_(compat) {
  text_ = "---\n";
}

void Report::key(std::string_view key) {
  text_ += key;
  text_ += ": ";
}

void Report::integer(std::string_view name, std::uint64_t value) {
  char digits[20];
  const char* end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  key(name);
  text_.append(digits, static_cast<std::size_t>(end - digits));
  text_ += '\n';
}

void Report::word(std::string_view name, std::string_view value) {
  key(name);
  text_ += value;
  text_ += '\n';
}

void Report::quoted(std::string_view name, std::string_view value) {
  const std::string_view quote = compat_ == Compat::v1_12 ? "" : "\"";
  key(name);
  text_ += quote;
  text_ += value;
  text_ += quote;
  text_ += '\n';
}

void Report::item(std::string_view value) {
  text_ += "- ";
  text_ += value;
  text_ += '\n';
}

void Report::cpu_time(std::string_view name, std::uint64_t microseconds) {
  constexpr std::uint64_t kPerSecond = 1'000'000;
  const std::string fraction = std::to_string(kPerSecond + microseconds % kPerSecond).substr(1);
  word(name, std::to_string(microseconds / kPerSecond) + "." + fraction);
}

namespace {

// Behind the last key that beanstalkd has, and only for the limits that are set: without them a
// report is beanstalkd's to the last line.
void write_limits(Report& report, const Engine& engine, const ServerState& state) {
  const Limits& limits = state.info.limits;
  if (limits.connections_max > 0) {
    report.integer("connections-max", limits.connections_max);
    report.integer("connections-refused", state.limits_felt.refused_connections);
  }
  if (limits.idle_timeout_s > 0) {
    report.integer("idle-timeout", limits.idle_timeout_s);
    report.integer("idle-closed", state.limits_felt.idle_connections);
  }
  if (limits.job_memory_bytes_max > 0) {
    report.integer("memory-max", limits.job_memory_bytes_max);
    report.integer("memory-used", engine.jobs().memory_bytes());
    report.integer("memory-refused", engine.counts().refused_puts);
  }
}

// Behind all of that, for keys that are there already keep their lines: whether puts are refused
// now for want of space on the disk or of memory below the limit.
void write_shortages(Report& report, const Engine& engine, const ServerState& state) {
  if (state.journal.is_kept) {
    report.integer("binlog-no-space", state.journal.no_space ? 1 : 0);
    report.integer("binlog-refused-puts", state.journal.refused_puts);
  }
  if (state.info.limits.job_memory_bytes_max > 0) {
    report.integer("memory-full", engine.is_short_of_job_memory() ? 1 : 0);
  }
}

}  // namespace

void write_server_report(Report& report, const Engine& engine, const ServerState& state) {
  const EngineCounts& counts = engine.counts();
  const ServerInfo& info = state.info;
  const CpuUsage cpu = info.cpu_usage == nullptr ? CpuUsage{} : info.cpu_usage();

  report.integer("current-jobs-urgent", counts.urgent);
  report.integer("current-jobs-ready", counts.ready);
  report.integer("current-jobs-reserved", counts.reserved);
  report.integer("current-jobs-delayed", counts.delayed);
  report.integer("current-jobs-buried", counts.buried);
  for (const CommandRow& row : kCommandTable) {
    if (row.counter.empty()) break;  // Those with a counter are in front.
    report.integer(row.counter, state.verbs[static_cast<std::size_t>(row.verb)]);
  }
  report.integer("job-timeouts", counts.timeouts);
  report.integer("total-jobs", counts.total_jobs);
  report.integer("max-job-size", info.job_bytes_max);
  report.integer("current-tubes", engine.tubes().size());
  report.integer("current-connections", counts.clients);
  report.integer("current-producers", counts.producers);
  report.integer("current-workers", counts.workers);
  report.integer("current-waiting", counts.waiting);
  report.integer("total-connections", state.total_connections);
  report.integer("pid", static_cast<std::uint64_t>(info.pid));
  // The version is in quotes in both.
  report.word("version", info.compat == Compat::v1_12 ? "\"1.12\"" : "\"1.13\"");
  report.cpu_time("rusage-utime", cpu.user_us);
  report.cpu_time("rusage-stime", cpu.system_us);
  report.integer("uptime", state.uptime_s);
  report.integer("binlog-oldest-index", state.journal.oldest_index);
  report.integer("binlog-current-index", state.journal.current_index);
  report.integer("binlog-records-migrated", state.journal.records_migrated);
  report.integer("binlog-records-written", state.journal.records_written);
  report.integer("binlog-max-size", info.binlog_bytes_max);
  report.word("draining", state.draining ? "true" : "false");
  report.word("id", info.instance_id);
  report.quoted("hostname", info.hostname);
  report.quoted("os", info.os);
  report.quoted("platform", info.platform);
  if (state.journal.is_kept) {
    report.integer("binlog-errors", state.journal.errors);
    report.integer("binlog-refusing", state.journal.refusing ? 1 : 0);
  }
  write_limits(report, engine, state);
  write_shortages(report, engine, state);
}

void write_tube_report(Report& report, const Tube& tube, std::uint32_t waiting_clients,
                       Instant now) {
  report.quoted("name", tube.name);
  report.integer("current-jobs-urgent", tube.urgent);
  report.integer("current-jobs-ready", tube.ready.size());
  report.integer("current-jobs-reserved", tube.reserved);
  report.integer("current-jobs-delayed", tube.delayed.size());
  report.integer("current-jobs-buried", tube.buried);
  report.integer("total-jobs", tube.total_jobs);
  report.integer("current-using", tube.using_clients);
  report.integer("current-watching", tube.watching_clients);
  report.integer("current-waiting", waiting_clients);
  report.integer("cmd-delete", tube.deletes);
  report.integer("cmd-pause-tube", tube.pauses);
  report.integer("pause", tube.pause_s);
  report.integer("pause-time-left", tube.paused ? (tube.pause_end - now).whole_seconds() : 0);
}

void write_job_report(Report& report, const JobReport& job) {
  report.integer("id", job.id);
  report.quoted("tube", job.tube->name);
  report.word("state", name_of(job.state));
  report.integer("pri", job.priority);
  report.integer("age", job.age_s);
  report.integer("delay", job.delay_s);
  report.integer("ttr", job.ttr_s);
  report.integer("time-left", job.time_left_s);
  report.integer("file", job.file);
  report.integer("reserves", job.reserves);
  report.integer("timeouts", job.timeouts);
  report.integer("releases", job.releases);
  report.integer("buries", job.buries);
  report.integer("kicks", job.kicks);
}

}  // namespace haricot
