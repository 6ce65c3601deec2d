#include "web/metrics/metric_families.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>

#include "haricot/base/encoding.hpp"

namespace haricot::web {
namespace {

constexpr auto kGauge = MetricType::gauge;
constexpr auto kCounter = MetricType::counter;

constexpr ServerSeries kStates[] = {{"ready"}, {"reserved"}, {"delayed"}, {"buried"}};

constexpr ServerSeries kCommands[] = {{"put"},
                                      {"peek"},
                                      {"peek-ready"},
                                      {"peek-delayed"},
                                      {"peek-buried"},
                                      {"reserve"},
                                      {"reserve-with-timeout"},
                                      {"delete"},
                                      {"release"},
                                      {"use"},
                                      {"watch"},
                                      {"ignore"},
                                      {"bury"},
                                      {"kick"},
                                      {"touch"},
                                      {"stats"},
                                      {"stats-job"},
                                      {"stats-tube"},
                                      {"list-tubes"},
                                      {"list-tube-used"},
                                      {"list-tubes-watched"},
                                      {"pause-tube"}};

constexpr ServerSeries kProcessorTime[] = {{"utime", "user"}, {"stime", "system"}};

constexpr ServerMetric kServerMetrics[] = {
    {{"beanstalkd_current_jobs", kGauge, "Jobs by state."}, "current-jobs-", "state", kStates},
    {{"beanstalkd_current_urgent_jobs", kGauge, "Ready jobs with a priority below 1024."},
     "current-jobs-urgent"},
    {{"beanstalkd_jobs", kCounter, "Jobs put."}, "total-jobs"},
    {{"beanstalkd_job_timeouts", kCounter, "Reservations that ended with their TTR."},
     "job-timeouts"},
    {{"beanstalkd_commands", kCounter, "Commands received, by name."},
     "cmd-",
     "command",
     kCommands},
    {{"beanstalkd_current_tubes", kGauge, "Tubes."}, "current-tubes"},
    {{"beanstalkd_current_connections", kGauge, "Open connections."}, "current-connections"},
    {{"beanstalkd_current_producers", kGauge, "Open connections that have put a job."},
     "current-producers"},
    {{"beanstalkd_current_workers", kGauge, "Open connections that have sent a reserve."},
     "current-workers"},
    {{"beanstalkd_current_waiting", kGauge, "Workers waiting for a job."}, "current-waiting"},
    {{"beanstalkd_connections", kCounter, "Connections since the server started."},
     "total-connections"},
    {{"beanstalkd_uptime_seconds", kGauge, "Time since the server started."}, "uptime"},
    {{"beanstalkd_cpu_seconds", kCounter, "CPU time of the server."},
     "rusage-",
     "mode",
     kProcessorTime},
    {{"beanstalkd_max_job_size_bytes", kGauge, "Largest body that the server accepts."},
     "max-job-size"},
    {{"beanstalkd_draining", kGauge, "1 in drain mode: the server accepts no new jobs."},
     "draining"},
    {{"beanstalkd_binlog_oldest_index", kGauge, "Number of the oldest binlog file."},
     "binlog-oldest-index"},
    {{"beanstalkd_binlog_current_index", kGauge, "Number of the current binlog file."},
     "binlog-current-index"},
    {{"beanstalkd_binlog_records_migrated", kCounter, "Records written by compaction."},
     "binlog-records-migrated"},
    {{"beanstalkd_binlog_records_written", kCounter, "Records written."}, "binlog-records-written"},
    {{"beanstalkd_binlog_max_size_bytes", kGauge, "Size of a binlog file."}, "binlog-max-size"},
    {{"beanstalkd_binlog_errors", kCounter, "Failed writes and syncs."}, "binlog-errors"},
    {{"beanstalkd_binlog_refusing", kGauge, "1 while changes are refused because of disk errors."},
     "binlog-refusing"},
    {{"beanstalkd_binlog_no_space", kGauge, "1 while puts are refused for lack of disk space."},
     "binlog-no-space"},
    {{"beanstalkd_binlog_refused_puts", kCounter, "Puts refused because of the disk."},
     "binlog-refused-puts"},
    {{"beanstalkd_binlog_sync_lag_seconds", kGauge, "Age of the oldest unsynced change."},
     "binlog-sync-lag",
     {},
     {},
     0.001},
    {{"beanstalkd_max_connections", kGauge, "Limit of connections."}, "connections-max"},
    {{"beanstalkd_refused_connections", kCounter,
      "Connections closed at the limit of connections."},
     "connections-refused"},
    {{"beanstalkd_idle_closed_connections", kCounter, "Connections closed because they were idle."},
     "idle-closed"},
    {{"beanstalkd_memory_max_bytes", kGauge, "Limit of memory."}, "memory-max"},
    {{"beanstalkd_memory_used_bytes", kGauge, "Memory that counts toward the limit."},
     "memory-used"},
    {{"beanstalkd_memory_refused_puts", kCounter, "Puts refused at the limit of memory."},
     "memory-refused"},
    {{"beanstalkd_memory_full", kGauge, "1 while puts are refused at the limit of memory."},
     "memory-full"},
};

constexpr TubeSeries kTubeStates[] = {{TubeField::ready, "state=\"ready\""},
                                      {TubeField::reserved, "state=\"reserved\""},
                                      {TubeField::delayed, "state=\"delayed\""},
                                      {TubeField::buried, "state=\"buried\""}};
constexpr TubeSeries kWaitTimes[] = {{TubeField::wait_p50, "percentile=\"50\""},
                                     {TubeField::wait_p99, "percentile=\"99\""}};
constexpr TubeSeries kWorkTimes[] = {{TubeField::work_p50, "percentile=\"50\""},
                                     {TubeField::work_p99, "percentile=\"99\""}};
constexpr TubeMetric kTubeMetrics[] = {
    {{"beanstalkd_tube_current_jobs", kGauge, "Jobs by state."}, {}, Sum::added, kTubeStates},
    {{"beanstalkd_tube_current_urgent_jobs", kGauge, "Ready jobs with a priority below 1024."},
     TubeField::urgent},
    {{"beanstalkd_tube_jobs", kCounter, "Jobs put."}, TubeField::puts},
    {{"beanstalkd_tube_deleted_jobs", kCounter, "Jobs deleted."}, TubeField::deletes},
    {{"beanstalkd_tube_current_using", kGauge, "Connections that use the tube."},
     TubeField::using_clients},
    {{"beanstalkd_tube_current_watching", kGauge, "Connections that watch the tube."},
     TubeField::watching},
    {{"beanstalkd_tube_current_waiting", kGauge, "Workers waiting for a job of the tube."},
     TubeField::waiting},
    {{"beanstalkd_tube_pauses", kCounter, "Pauses of the tube."}, TubeField::pauses},
    {{"beanstalkd_tube_pause_left_seconds", kGauge, "Time until the pause ends; 0 if not paused."},
     TubeField::pause_left,
     Sum::largest},
    {{"beanstalkd_tube_oldest_ready_seconds", kGauge,
      "Age of the job that has been ready longest."},
     TubeField::oldest_ready,
     Sum::largest},
    {{"beanstalkd_tube_oldest_buried_seconds", kGauge,
      "Age of the job that has been buried longest."},
     TubeField::oldest_buried,
     Sum::largest},
    {{"beanstalkd_tube_overdue_seconds", kGauge,
      "Age of the job that has been ready longest, if the tube is not paused, and not all its "
      "ready jobs are blocked."},
     TubeField::overdue,
     Sum::largest},
    {{"beanstalkd_tube_unattended_seconds", kGauge,
      "Age of the job that has been ready longest, if the tube is not paused and has no worker."},
     TubeField::unattended,
     Sum::largest},
    {{"beanstalkd_tube_queue_time_seconds", kGauge, "Time from ready to reserved, last minutes."},
     {},
     Sum::left_out,
     kWaitTimes,
     0.001},
    {{"beanstalkd_tube_work_time_seconds", kGauge, "Time from reserved to deleted, last minutes."},
     {},
     Sum::left_out,
     kWorkTimes,
     0.001},
    {{"beanstalkd_tube_tried_out_jobs", kCounter, "Jobs buried after their last try."},
     TubeField::tried_out,
     Sum::left_out},
    {{"beanstalkd_tube_current_blocked_jobs", kGauge,
      "Ready jobs beyond the limits of their tags `con`."},
     TubeField::blocked},
};

}  // namespace

std::span<const ServerMetric> server_metrics() {
  return kServerMetrics;
}

std::span<const TubeMetric> tube_metrics() {
  return kTubeMetrics;
}

// Text --------------------------------------------------------------------------------------------

std::string label(std::string_view name, std::string_view value) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD.
  std::string text(name);
  text += "=\"";
  while (!value.empty()) {
    const Utf8Character character = first_character(value);
    // A single byte of invalid UTF-8 would make a reader reject the whole scrape.
    const bool is_good = character.bytes > 0 && is_plain(character.code);
    const std::size_t bytes = std::max<std::size_t>(character.bytes, 1);
    if (value[0] == '\\' || value[0] == '"') text += '\\';
    text += is_good ? value.substr(0, bytes) : kReplacement;
    value.remove_prefix(bytes);
  }
  text += '"';
  return text;
}

std::string_view Exposition::content_type() const {
  return is_openmetrics_ ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                         : "text/plain; version=0.0.4; charset=utf-8";
}

void Exposition::begin(const Family& family) {
  family_ = family;
  has_begun_ = false;
}

void Exposition::add(std::string_view labels, std::uint64_t value) {
  add_text(labels, std::to_string(value));
}

void Exposition::add(std::string_view labels, double value) {
  char text[40];
  const std::to_chars_result end = std::to_chars(text, text + sizeof text, value);
  add_text(labels, {text, static_cast<std::size_t>(end.ptr - text)});
}

void Exposition::add_text(std::string_view labels, std::string_view value) {
  const bool is_counter = family_.type == MetricType::counter;
  if (!has_begun_) {
    has_begun_ = true;
    // The name of a counter includes _total for Prometheus, and omits it for OpenMetrics.
    const std::string_view suffix = is_counter && !is_openmetrics_ ? "_total " : " ";
    for (const bool is_help : {true, false}) {
      text_ += is_help ? "# HELP " : "# TYPE ";
      text_ += family_.name;
      text_ += suffix;
      text_ += is_help ? family_.help : (is_counter ? "counter" : "gauge");
      text_ += '\n';
    }
  }
  text_ += family_.name;
  if (is_counter) text_ += "_total";
  if (!labels.empty()) {
    text_ += '{';
    text_ += labels;
    text_ += '}';
  }
  text_ += ' ';
  text_ += value;
  text_ += '\n';
}

void Exposition::end() {
  if (is_openmetrics_) text_ += "# EOF\n";
}

std::string Exposition::take() {
  return std::exchange(text_, {});
}

}  // namespace haricot::web
