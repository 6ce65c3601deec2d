#include "web/api/servers.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "haricot/base/encoding.hpp"
#include "web/api/messages.hpp"

namespace haricot::web {
namespace {

std::string_view name_of(ServerState state) {
  switch (state) {
    case ServerState::unknown:
      return "unknown";
    case ServerState::up:
      return "up";
    case ServerState::down:
      return "down";
  }
  return {};
}

double seconds_between(Instant from, Instant to) {
  return std::max(0.0, static_cast<double>((to - from).count()) / 1e9);
}

std::string jobs_json(const tool::StatsText& stats) {
  JsonWriter jobs;
  for (const std::string_view state : {"ready", "urgent", "reserved", "delayed", "buried"}) {
    jobs.add(state, stats.number("current-jobs-" + std::string(state)));
  }
  return jobs.take();
}

std::string rates_json(const tool::ServerRates& rates) {
  return JsonWriter()
      .add("puts", rates.puts)
      .add("reserves", rates.reserves)
      .add("deletes", rates.deletes)
      .add("timeouts", rates.timeouts)
      .add("commands", rates.commands)
      .take();
}

// Describes the binlog. `stats` does not say if there is one, but a binlog has files, which are
// numbered from 1 on.
std::string binlog_json(const tool::StatsText& stats) {
  const std::uint64_t oldest = stats.number("binlog-oldest-index").value_or(0);
  const std::uint64_t current = stats.number("binlog-current-index").value_or(0);
  const bool is_on = current > 0;
  JsonWriter binlog;
  binlog.add("is_on", is_on);
  // An upper bound: each file has this size when it is full.
  const std::optional<std::uint64_t> size = stats.number("binlog-max-size");
  binlog.add("bytes", is_on && size ? std::optional(*size * (current - oldest + 1)) : std::nullopt);
  if (!is_on) {
    binlog.add_null("state");
  } else if (stats.is_true("binlog-refusing")) {
    binlog.add("state", "failing");
  } else if (stats.is_true("binlog-no-space")) {
    binlog.add("state", "full");
  } else {
    binlog.add("state", "good");
  }
  return binlog.take();
}

std::string server_json(const Facts& facts, Instant now) {
  const bool is_down = facts.state == ServerState::down;
  JsonWriter json;
  json.add("name", facts.name).add("state", name_of(facts.state));
  json.add_json("error", is_down ? json_string(facts.error) : "null");
  json.add_json("warning", facts.warning.empty() ? "null" : json_string(facts.warning));
  json.add("down_seconds",
           is_down ? std::optional(seconds_between(facts.since, now)) : std::nullopt);
  const tool::StatsText nothing;
  const tool::StatsText& stats = facts.sample ? facts.sample->server : nothing;
  json.add("sample_age_seconds",
           facts.sample ? std::optional(seconds_between(facts.sample->at, now)) : std::nullopt);
  json.add("software", facts.software()).add("is_haricot", facts.is_haricot());
  json.add_json("capabilities", array_json(facts.capabilities, json_string));
  json.add("has_reserve_job", facts.has_reserve_job());
  const std::string* host = stats.find("hostname");
  json.add_json("hostname", host == nullptr ? "null" : json_string(*host));
  json.add("pid", stats.number("pid")).add("uptime_seconds", stats.number("uptime"));
  json.add("is_draining", stats.is_true("draining")).add("is_refusing", facts.is_refusing());
  json.add_json("jobs", jobs_json(stats));
  json.add("tubes", stats.number("current-tubes"));
  json.add("paused_tubes", facts.tubes ? std::optional(facts.tubes->paused) : std::nullopt);
  json.add("workers_waiting", stats.number("current-waiting"));
  json.add("connections", stats.number("current-connections"));
  json.add("producers", stats.number("current-producers"));
  json.add("workers", stats.number("current-workers"));
  json.add_json("rates", rates_json(facts.rates));
  json.add("memory_bytes", stats.number("memory-used"));
  json.add_json("binlog", binlog_json(stats));
  json.add_json("stats", "{" + stats.json_members() + "}");
  return json.take();
}

}  // namespace

std::string servers_json(Observer& observer, const About& about, std::string_view name) {
  const Instant now = Observer::now();
  std::string list = "[";
  for (const Server& server : observer.servers()) {
    const Facts& facts = server.facts();
    if (!name.empty() && facts.name != name) continue;
    if (list.size() > 1) list += ',';
    list += server_json(facts, now);
  }
  return JsonWriter()
      .add("version", about.version)
      .add("allow_changes", about.allows_changes)
      .add("has_login", about.has_login)
      .add("interval_seconds", std::optional<double>(about.interval_s))
      .add_json("servers", list + "]")
      .take();
}

// Events ------------------------------------------------------------------------------------------

void Events::add(std::shared_ptr<Exchange> exchange, std::string server) {
  exchange->begin_stream("text/event-stream");
  Stream stream{.exchange = std::move(exchange),
                .server = std::move(server),
                .sent = Observer::now() - kPause,
                .changes = observer_.changes() - 1};
  streams_.push_back(std::move(stream));
}

Instant Events::next_event() const {
  Instant next = Instant::never();
  for (const Stream& stream : streams_) {
    const bool is_late = stream.changes != observer_.changes();
    next = std::min(next, stream.sent + (is_late ? kPause : kSilenceMax));
  }
  return next;
}

void Events::advance(Instant now) {
  // Most streams get the same text.
  std::string json;
  std::string of_server;
  for (Stream& stream : streams_) {
    const bool is_late = stream.changes != observer_.changes();
    if (now < stream.sent + (is_late ? kPause : kSilenceMax)) continue;
    stream.sent = now;
    stream.changes = observer_.changes();
    if (json.empty() || of_server != stream.server) {
      json = servers_json(observer_, about_, stream.server);
      of_server = stream.server;
    }
    // Streams of lost peers are removed below.
    static_cast<void>(stream.exchange->write("event: servers\ndata: " + json + "\n\n"));
  }
  std::erase_if(streams_, [](const Stream& stream) { return stream.exchange->is_ended(); });
}

}  // namespace haricot::web
