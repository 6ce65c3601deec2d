#include <algorithm>
#include <string_view>

#include "mismatch.hpp"
#include "model.hpp"

// The texts of stats, stats-job, stats-tube and list-tubes.

namespace haricot::simulation {
namespace {

class Text {
 public:
  Text& row(std::string_view key, std::uint64_t value) {
    return row(key, std::string_view(std::to_string(value)));
  }
  Text& row(std::string_view key, std::string_view value) {
    text_ += std::string(key) + ": " + std::string(value) + "\n";
    return *this;
  }
  const std::string& rows() const { return text_; }
  std::string answer() const {
    return "OK " + std::to_string(text_.size()) + "\r\n" + text_ + "\r\n";
  }

 private:
  std::string text_ = "---\n";
};

}  // namespace

std::string quoted(const std::string& text) {
  return "\"" + text + "\"";
}

std::string Model::stats(int number, Tape& tape, Instant now) {
  const JournalNumbers journal = tape.take(Event::Kind::numbers).journal;
  const auto clients_that = [this](bool ModelClient::*fact) {
    return static_cast<std::uint64_t>(std::count_if(
        clients_.begin(), clients_.end(), [fact](const auto& c) { return c.second.*fact; }));
  };
  Text text;
  text.row("current-jobs-urgent", count_urgent())
      .row("current-jobs-ready", count(JobState::ready))
      .row("current-jobs-reserved", count(JobState::reserved))
      .row("current-jobs-delayed", count(JobState::delayed))
      .row("current-jobs-buried", count(JobState::buried));
  for (const CommandRow& row : kCommandTable) {
    if (!row.counter.empty()) text.row(row.counter, verbs_[static_cast<std::size_t>(row.verb)]);
  }
  text.row("job-timeouts", timeouts_)
      .row("total-jobs", total_jobs_)
      .row("max-job-size", job_bytes_max_)
      .row("current-tubes", tubes_.size())
      .row("current-connections", clients_.size())
      .row("current-producers", clients_that(&ModelClient::producer))
      .row("current-workers", clients_that(&ModelClient::worker))
      .row("current-waiting", clients_that(&ModelClient::waiting))
      .row("total-connections", connections_)
      .row("pid", 4711)
      .row("version", "\"1.13\"")
      .row("rusage-utime", "0.000000")
      .row("rusage-stime", "0.000000")
      .row("uptime", (now - start_).whole_seconds())
      .row("binlog-oldest-index", journal.oldest_index)
      .row("binlog-current-index", journal.current_index)
      .row("binlog-records-migrated", journal.records_migrated)
      .row("binlog-records-written", journal.records_written)
      .row("binlog-max-size", file_bytes_)
      .row("draining", draining_ ? "true" : "false")
      .row("id", "0123456789abcdef")
      .row("hostname", "\"host.example\"")
      .row("os", "\"kernel\"")
      .row("platform", "\"x86_64\"")
      .row("binlog-errors", journal.errors)
      .row("binlog-refusing", journal.refusing ? 1U : 0U)
      .row("binlog-no-space", journal.no_space ? 1U : 0U)
      .row("binlog-refused-puts", journal.refused_puts)
      .row("binlog-sync-lag", journal.sync_lag_ms(now));
  if (clients_.at(number).commands != CommandSet::standard) {
    text.row("haricot-version", "\"0.0.1\"");
    if (hand_overs_ > 0) text.row("hand-overs", hand_overs_);
  }
  const auto has_lane = [](const auto& each) { return !each.second.lane.empty(); };
  if (std::any_of(jobs_.begin(), jobs_.end(), has_lane)) {
    std::size_t blocked = 0;
    for (const ModelTube& tube : tubes_) blocked += blocked_jobs(tube.name);
    text.row("current-jobs-blocked", blocked);
  }
  return text.answer();
}

std::string Model::stats_job(JobId id, Tape& tape, Instant now) {
  if (find_job(id) == nullptr) return "NOT_FOUND\r\n";
  const ModelJob& job = *find_job(id);
  const std::string_view states[] = {"ready", "reserved", "delayed", "buried"};
  const bool has_deadline =
      (job.state == JobState::delayed && job.hold == 0) || job.state == JobState::reserved;
  Text text;
  text.row("id", id)
      .row("tube", quoted(job.tube))
      .row("state", states[static_cast<std::size_t>(job.state)])
      .row("pri", job.priority)
      .row("age", (now - job.created).whole_seconds())
      .row("delay", job.delay_s)
      .row("ttr", job.ttr_s)
      .row("time-left", has_deadline ? (job.deadline - now).whole_seconds() : 0)
      .row("file", tape.take(Event::Kind::file_of).file)
      .row("reserves", job.counts[0])
      .row("timeouts", job.counts[1])
      .row("releases", job.counts[2])
      .row("buries", job.counts[3])
      .row("kicks", job.counts[4]);
  return text.answer();
}

std::string Model::stats_tube(const std::string& name, Instant now) {
  if (find_tube(name) == nullptr) return "NOT_FOUND\r\n";
  const std::string text = tube_rows(name, now);
  return "OK " + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

// Without the first line, which is the same in all texts.
std::string Model::tube_rows(const std::string& name, Instant now) {
  const ModelTube* tube = find_tube(name);
  std::uint64_t users = 0;
  std::uint64_t watchers = 0;
  std::uint64_t waiting = 0;
  for (const auto& [number, client] : clients_) {
    const auto& watched = client.watched;
    const bool watches = std::find(watched.begin(), watched.end(), name) != watched.end();
    users += client.used == name ? 1U : 0U;
    watchers += watches ? 1U : 0U;
    waiting += watches && client.waiting ? 1U : 0U;
  }
  Text text;
  text.row("name", quoted(name))
      .row("current-jobs-urgent", count_urgent(&name))
      .row("current-jobs-ready", count(JobState::ready, &name))
      .row("current-jobs-reserved", count(JobState::reserved, &name))
      .row("current-jobs-delayed", count(JobState::delayed, &name))
      .row("current-jobs-buried", count(JobState::buried, &name))
      .row("total-jobs", tube->total_jobs)
      .row("current-using", users)
      .row("current-watching", watchers)
      .row("current-waiting", waiting)
      .row("cmd-delete", tube->deletes)
      .row("cmd-pause-tube", tube->pauses)
      .row("pause", tube->pause_s)
      .row("pause-time-left",
           tube->paused ? (tube->pause_end - now).whole_seconds() : std::uint64_t{0});
  return text.rows();
}

// Returns a list of jobs, after the rows of `head`.
std::string Model::listed(std::string head, const std::vector<JobId>& ids, Tape& tape,
                          Instant now) const {
  const std::string_view states[] = {"ready", "reserved", "delayed", "buried"};
  std::string text = "---\n" + std::move(head) + (ids.empty() ? "jobs: []\n" : "jobs:\n");
  const auto row = [&text](std::string_view key, const std::string& value) {
    text.append(key).append(": ").append(value) += '\n';
  };
  for (const JobId id : ids) {
    const ModelJob& job = jobs_.at(id);
    const bool has_deadline =
        (job.state == JobState::delayed && job.hold == 0) || job.state == JobState::reserved;
    tape.take(Event::Kind::file_of);
    row("- id", std::to_string(id));
    row("  tube", quoted(job.tube));
    row("  state", std::string(states[static_cast<std::size_t>(job.state)]));
    row("  pri", std::to_string(job.priority));
    row("  age", std::to_string((now - job.created).whole_seconds()));
    row("  delay", std::to_string(job.delay_s));
    row("  ttr", std::to_string(job.ttr_s));
    row("  time-left", std::to_string(has_deadline ? (job.deadline - now).whole_seconds() : 0));
    row("  bytes", std::to_string(job.body.size()));
    row("  reserves", std::to_string(job.counts[0]));
    row("  timeouts", std::to_string(job.counts[1]));
    row("  releases", std::to_string(job.counts[2]));
    row("  buries", std::to_string(job.counts[3]));
    row("  kicks", std::to_string(job.counts[4]));
    const std::string limit = job.lane_limit == 1 ? "" : ":" + std::to_string(job.lane_limit);
    if (job.tries > 0) {
      row("  try", job.is_quiet ? quoted(value_of_tries(job)) : value_of_tries(job));
    }
    if (!job.lane.empty()) row("  con", quoted(job.lane + limit));
    if (!job.key.empty()) row("  idp", quoted(value_of_key(job)));
    if (!job.group.empty()) row("  grp", quoted(job.group));
    if (!job.after.empty()) row("  aft", quoted(value_of_after(job)));
    if (job.backoff_s > 0) {
      const std::string value = value_of_backoff(job);
      row("  back", value.find(':') == std::string::npos ? value : quoted(value));
    }
    if (job.hold > 0) row("  held", "true");
    if (job.state == JobState::reserved) {
      row("  holder", std::to_string(clients_.at(job.holder).ref));
      // The server keeps the time of the reserve in steps of 67 ms if the job is touched.
      const std::uint64_t reserved_for_s =
          job.is_touched ? CoarseInstant(job.reserved_at).whole_seconds_until(now)
                         : (now - job.reserved_at).whole_seconds();
      row("  reserved-for", std::to_string(reserved_for_s));
    }
    if (job.state == JobState::buried && job.burial_cause != BurialCause::unknown) {
      const bool is_by_client = job.burial_cause == BurialCause::client;
      row("  buried-by", is_by_client ? "client" : "tries");
      row("  buried-ago", std::to_string(buried_s(job, now)));
      std::string end = "release";
      if (job.burial_cause == BurialCause::timed_out) end = "timeout";
      if (job.burial_cause == BurialCause::closed) end = "close";
      if (!is_by_client) row("  last-try", end);
    }
    if (!job.note.empty()) row("  note", shown_note(job.note));
  }
  return "OK " + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

std::string Model::list_tubes() const {
  std::string text = "---\n";
  for (const ModelTube& tube : tubes_) text += "- " + tube.name + "\n";
  return "OK " + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

}  // namespace haricot::simulation
