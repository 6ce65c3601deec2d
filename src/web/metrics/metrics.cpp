#include "web/metrics/metrics.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "haricot/base/encoding.hpp"
#include "web/http/message.hpp"
#include "web/metrics/metric_families.hpp"
#include "web/metrics/tube_choice.hpp"

namespace haricot::web {
namespace {

constexpr std::string_view kOpenMetrics = "application/openmetrics-text";
// Steps of TubeChoice in a turn, for all scrapes together.
constexpr std::size_t kStepsOfTurn = 1'000'000;
// Bounds the keys of unknown servers; beanstalkd has 50.
constexpr std::size_t kKeysMax = 500;
// Series to write before checking for room.
constexpr std::size_t kSeriesOfPiece = 200;

double seconds_between(Instant from, Instant to) {
  return std::max(0.0, static_cast<double>((to - from).count()) / 1e9);
}

// Returns the value of a key as the exporter would export it.
double exporter_value(const std::string& value) {
  if (value == "true") return 1;
  return is_json_number(value) ? std::strtod(value.c_str(), nullptr) : 0;
}

// Returns true if a key can be the name of a metric. An invalid name would make the whole answer
// unreadable.
bool can_be_metric(std::string_view key) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !key.empty() && is_letter(key[0]) &&
         std::all_of(key.begin(), key.end(), [&is_letter](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
         });
}

std::string with_underscores(std::string_view key) {
  std::string name(key);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace

struct Metrics::Scrape {
  struct Tubes {
    Server* server;
    std::string label;
    TubeChoice choice;
  };

  explicit Scrape(bool is_openmetrics) : text(is_openmetrics) {}

  Exposition text;
  std::vector<Server*> servers;
  bool has_servers = false;  // Wants metrics of servers.
  bool has_tubes = false;    // Wants metrics of tubes.
  bool has_exporter_names = false;
  std::unique_ptr<NamePattern> pattern;  // Null for all tubes.
  std::vector<Tubes> tubes;
};

std::vector<Route> Metrics::routes() {
  const auto row = [this](std::string_view path, auto handle) {
    return Route{.method = Method::get, .path = path, .handle = handle, .self = this};
  };
  return {row("/metrics",
              [](void* self, std::shared_ptr<Exchange> exchange) {
                static_cast<Metrics*>(self)->serve_metrics(std::move(exchange));
              }),
          row("/metrics/tubes",
              [](void* self, std::shared_ptr<Exchange> exchange) {
                static_cast<Metrics*>(self)->serve_tubes(std::move(exchange));
              }),
          row("/probe", [](void* self, std::shared_ptr<Exchange> exchange) {
            static_cast<Metrics*>(self)->serve_probe(std::move(exchange));
          })};
}

bool Metrics::choose(Exchange& exchange, Scrape& scrape) {
  const std::optional<std::string> target = exchange.request().parameter("target");
  if (!target) {
    for (Server& server : observer_.servers()) scrape.servers.push_back(&server);
  } else if (Server* server = observer_.find_target(*target)) {
    scrape.servers.push_back(server);
  } else {
    exchange.refuse(403, "this server is not a probe target");
  }
  return !scrape.servers.empty();
}

void Metrics::serve_metrics(std::shared_ptr<Exchange> exchange) {
  const std::optional<std::string> names = exchange->request().parameter("names");
  if (names && *names != "exporter") return exchange->refuse(400, "names must be exporter");
  const std::string_view accepted = exchange->request().header("Accept");
  auto scrape = std::make_shared<Scrape>(accepted.find(kOpenMetrics) != std::string_view::npos);
  if (!choose(*exchange, *scrape)) return;
  scrape->has_exporter_names = names.has_value();
  scrape->has_servers = true;
  scrape->has_tubes = scrape->has_exporter_names;
  serve(std::move(exchange), std::move(scrape));
}

void Metrics::serve_probe(std::shared_ptr<Exchange> exchange) {
  if (!exchange->request().parameter("target")) return exchange->refuse(400, "missing target");
  serve_metrics(std::move(exchange));
}

void Metrics::serve_tubes(std::shared_ptr<Exchange> exchange) {
  const std::string_view accepted = exchange->request().header("Accept");
  auto scrape = std::make_shared<Scrape>(accepted.find(kOpenMetrics) != std::string_view::npos);
  if (const std::optional<std::string> match = exchange->request().parameter("match")) {
    std::string error;
    scrape->pattern = NamePattern::make(*match, error);
    if (!scrape->pattern) return exchange->refuse(400, error);
  }
  if (!choose(*exchange, *scrape)) return;
  scrape->has_tubes = true;
  serve(std::move(exchange), std::move(scrape));
}

Task Metrics::serve(std::shared_ptr<Exchange> exchange, std::shared_ptr<Scrape> scrape) {
  if (scrape->has_tubes) co_await find_tubes(*scrape);
  exchange->begin_stream(std::string(scrape->text.content_type()));
  const bool is_whole = scrape->has_exporter_names ? co_await write_exporter(*exchange, *scrape)
                                                   : co_await write_ours(*exchange, *scrape);
  if (!is_whole) co_return;
  scrape->text.end();
  if (exchange->write(scrape->text.take())) exchange->end();
}

// Chooses the tubes, over as many turns as necessary.
Part<bool> Metrics::find_tubes(Scrape& scrape) {
  ++choosing_;
  std::vector<std::size_t> wanted;
  for (Server* server : scrape.servers) {
    server->demand_tubes(observer_.now());
    const Facts& facts = server->facts();
    if (!facts.tubes || facts.state != ServerState::up) continue;
    scrape.tubes.push_back({server, label("server", facts.name), TubeChoice(facts, labels_)});
    TubeChoice& choice = scrape.tubes.back().choice;
    while (choice.read(kStepsOfTurn / choosing_, scrape.pattern.get())) {
      co_await observer_.next_turn();
    }
    wanted.push_back(choice.wanted());
  }
  --choosing_;
  const std::vector<std::size_t> shares = share_room(wanted, TubeChoice::kTubesMax);
  for (std::size_t i = 0; i < shares.size(); ++i) scrape.tubes[i].choice.choose(shares[i]);
  co_return true;
}

// Our own names -----------------------------------------------------------------------------------

void Metrics::add_server_metric(Scrape& scrape, const ServerMetric& metric) {
  scrape.text.begin(metric.family);
  const ServerSeries only[] = {{}};
  const std::span<const ServerSeries> series = metric.series.empty() ? only : metric.series;
  for (Server* server : scrape.servers) {
    const Facts& facts = server->facts();
    // The last values of a server that is down are outdated.
    if (facts.state != ServerState::up || !facts.sample) continue;
    const std::string name = label("server", facts.name);
    for (const ServerSeries& each : series) {
      const std::string key = std::string(metric.key) + std::string(each.key);
      const std::string* value = facts.sample->server.find(key);
      if (value == nullptr) continue;
      const std::string labels =
          metric.label.empty() ? name : name + "," + label(metric.label, each.value);
      if (const auto number = facts.sample->server.number(key); number && metric.factor == 1) {
        scrape.text.add(labels, *number);
      } else {
        scrape.text.add(labels, exporter_value(*value) * metric.factor);
      }
    }
  }
}

// Adds what this program itself knows about the servers, up or down.
void Metrics::add_states(Scrape& scrape) {
  const auto each = [&](const Family& family, auto value) {
    scrape.text.begin(family);
    for (Server* server : scrape.servers) {
      const std::string name = label("server", server->facts().name);
      value(server->facts(), name);
    }
  };
  scrape.text.begin({"haricot_build_info", MetricType::gauge, "Version of this program."});
  scrape.text.add(label("version", version_), std::uint64_t{1});
  each({"beanstalkd_up", MetricType::gauge, "1 if the server answers."},
       [&](const Facts& facts, const std::string& name) {
         scrape.text.add(name, std::uint64_t{facts.state == ServerState::up});
       });
  each({"beanstalkd_sample_age_seconds", MetricType::gauge,
        "Time since the last answer of the server."},
       [&](const Facts& facts, const std::string& name) {
         if (facts.sample)
           scrape.text.add(name, seconds_between(facts.sample->at, observer_.now()));
       });
  each({"beanstalkd_server_info", MetricType::gauge, "Software, version and host of the server."},
       [&](const Facts& facts, const std::string& name) {
         if (facts.state != ServerState::up || !facts.sample) return;
         const auto text = [&facts](std::string_view key) {
           const std::string* value = facts.sample->server.find(key);
           return value == nullptr ? std::string() : *value;
         };
         scrape.text.add(name + "," + label("software", facts.software()) + "," +
                             label("version", text("version")) + "," +
                             label("hostname", text("hostname")),
                         std::uint64_t{1});
       });
  each({"beanstalkd_refusing", MetricType::gauge, "1 while puts or all changes are refused."},
       [&](const Facts& facts, const std::string& name) {
         if (facts.state == ServerState::up) {
           scrape.text.add(name, std::uint64_t{facts.is_refusing()});
         }
       });
}

Part<bool> Metrics::write_ours(Exchange& exchange, Scrape& scrape) {
  if (scrape.has_servers) {
    add_states(scrape);
    for (const ServerMetric& metric : server_metrics()) {
      add_server_metric(scrape, metric);
      if (!exchange.write(scrape.text.take())) co_return false;
      co_await Writable{exchange};
    }
    co_return true;
  }
  scrape.text.begin({"beanstalkd_tubes_sample_age_seconds", MetricType::gauge,
                     "Age of the sample of the tubes."});
  for (const Scrape::Tubes& tubes : scrape.tubes) {
    scrape.text.add(tubes.label, seconds_between(tubes.choice.sampled(), observer_.now()));
  }
  scrape.text.begin(
      {"beanstalkd_tubes_left_out", MetricType::gauge, "Tubes summed under tube=\"*\"."});
  for (const Scrape::Tubes& tubes : scrape.tubes) {
    scrape.text.add(tubes.label, tubes.choice.left_out());
  }
  std::size_t written = 0;
  for (const TubeMetric& metric : tube_metrics()) {
    scrape.text.begin(metric.family);
    const TubeSeries only[] = {{metric.field, {}}};
    const std::span<const TubeSeries> series = metric.series.empty() ? only : metric.series;
    for (const Scrape::Tubes& tubes : scrape.tubes) {
      if (is_detail(series.front().field) && !tubes.choice.has_details()) continue;
      for (const TubeSum& tube : tubes.choice.chosen()) {
        if (tube.is_sum && metric.sum == Sum::left_out) continue;
        if (!tube.has_counters && metric.family.type == MetricType::counter) continue;
        const std::string name = tubes.label + "," + label("tube", tube.name);
        for (const TubeSeries& each : series) {
          const std::string labels =
              each.label.empty() ? name : name + "," + std::string(each.label);
          const std::uint64_t number = tube.row[each.field];
          if (metric.factor == 1) {
            scrape.text.add(labels, number);
          } else {
            scrape.text.add(labels, static_cast<double>(number) * metric.factor);
          }
        }
        if (++written % kSeriesOfPiece != 0) continue;
        if (!exchange.write(scrape.text.take())) co_return false;
        co_await Writable{exchange};
      }
    }
  }
  co_return exchange.write(scrape.text.take());
}

// Names of the common exporter --------------------------------------------------------------------

// Writes each key of `stats` as a gauge with the same name, and each key of `stats-tube` with the
// prefix tube_. A value that is no number is 0.
Part<bool> Metrics::write_exporter(Exchange& exchange, Scrape& scrape) {
  std::vector<std::string> keys;
  for (Server* server : scrape.servers) {
    if (server->facts().state != ServerState::up) continue;
    for (const tool::StatsText::Line& line : server->facts().sample->server.lines()) {
      if (line.key == "hostname" || line.key == "id" || line.key == "pid") continue;
      if (!can_be_metric(line.key) || keys.size() == kKeysMax) continue;
      if (std::find(keys.begin(), keys.end(), line.key) == keys.end()) keys.push_back(line.key);
    }
  }
  for (const std::string& key : keys) {
    const std::string name = with_underscores(key);
    scrape.text.begin({name, MetricType::gauge, key});
    for (Server* server : scrape.servers) {
      const Facts& facts = server->facts();
      if (facts.state != ServerState::up) continue;
      const std::string* value = facts.sample->server.find(key);
      if (value != nullptr) scrape.text.add(label("instance", facts.name), exporter_value(*value));
    }
    if (!exchange.write(scrape.text.take())) co_return false;
    co_await Writable{exchange};
  }
  std::size_t written = 0;
  for (auto field = TubeField::urgent; field <= TubeField::pause_left;
       field = static_cast<TubeField>(static_cast<int>(field) + 1)) {
    const std::string name = "tube_" + with_underscores(key_of(field));
    scrape.text.begin({name, MetricType::gauge, key_of(field)});
    for (const Scrape::Tubes& tubes : scrape.tubes) {
      const std::string server = label("instance", tubes.server->facts().name);
      for (const TubeSum& tube : tubes.choice.chosen()) {
        scrape.text.add(server + "," + label("tube", tube.name), tube.row[field]);
        if (++written % kSeriesOfPiece != 0) continue;
        if (!exchange.write(scrape.text.take())) co_return false;
        co_await Writable{exchange};
      }
    }
  }
  co_return exchange.write(scrape.text.take());
}

}  // namespace haricot::web
