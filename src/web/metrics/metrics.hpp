// /metrics, /metrics/tubes and /probe: the last samples for Prometheus.
//
// A scrape sends nothing to servers, so a server that hangs does not delay it.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "web/http/exchange.hpp"
#include "web/observe/name_pattern.hpp"
#include "web/observe/observer.hpp"

namespace haricot::web {

class Metrics final {
 public:
  // Borrows both, which must outlive the object. `version` is that of this program.
  Metrics(Observer& observer, const TubeLabels& labels, std::string version)
      : observer_(observer), labels_(labels), version_(std::move(version)) {}

  std::vector<Route> routes();

 private:
  struct Scrape;
  struct Tubes;

  void serve_metrics(std::shared_ptr<Exchange> exchange);
  void serve_tubes(std::shared_ptr<Exchange> exchange);
  void serve_probe(std::shared_ptr<Exchange> exchange);
  // Selects the servers for the parameter `target`. If it names no watched server, answers the
  // request and returns false.
  bool choose(Exchange& exchange, Scrape& scrape);
  Task serve(std::shared_ptr<Exchange> exchange, std::shared_ptr<Scrape> scrape);
  Part<bool> find_tubes(Scrape& scrape);
  Part<bool> write_ours(Exchange& exchange, Scrape& scrape);
  Part<bool> write_exporter(Exchange& exchange, Scrape& scrape);
  void add_server_metric(Scrape& scrape, const struct ServerMetric& metric);
  void add_states(Scrape& scrape);

  Observer& observer_;
  const TubeLabels& labels_;
  std::string version_;
  std::size_t choosing_ = 0;  // Scrapes in find_tubes().
};

}  // namespace haricot::web
