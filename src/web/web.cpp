// haricot web: a page, metrics and an API for beanstalk servers. Connects the parts: routes, and
// parts of the loop.

#include <malloc.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "haricot/base/time.hpp"
#include "os/process.hpp"
#include "tool/cli/subcommand.hpp"
#include "tool/client/address.hpp"
#include "web/api/api.hpp"
#include "web/history/history.hpp"
#include "web/metrics/metrics.hpp"
#include "web/observe/observer.hpp"
#include "web/page/page_routes.hpp"
#include "web/web_options.hpp"
#include "web/web_run.hpp"

namespace haricot::tool {
namespace {

// Resolves the addresses, which the sandbox does not allow later. Returns false and sets `error` on
// failure.
bool find_all(const std::vector<std::string>& texts, std::vector<Address>& to, std::string& error) {
  for (const std::string& text : texts) {
    std::optional<Address> address = Address::find(text, error);
    if (!address) return false;
    to.push_back(*std::move(address));
  }
  return true;
}

// The parts between the servers and the routes.
struct Components {
  Components(const web::WebOptions& options, const std::vector<Address>& servers,
             const std::vector<Address>& targets, const web::TubeLabels& labels)
      : observer(servers, targets,
                 {.interval = interval_of(options), .labels = labels, .key = os::make_hash_key()}),
        history(observer),
        api(observer, history,
            {.version = HARICOT_VERSION,
             .allows_changes = options.allows_changes,
             .has_login = !options.token_file.empty(),
             .interval_s = static_cast<double>(options.interval_ms) / 1000}),
        metrics(observer, labels, HARICOT_VERSION) {}

  ~Components() { observer.close(); }
  Components(const Components&) = delete;
  Components& operator=(const Components&) = delete;

  static Duration interval_of(const web::WebOptions& options) {
    return Duration::milliseconds(static_cast<std::int64_t>(options.interval_ms));
  }

  web::Observer observer;
  web::History history;
  web::Api api;
  web::Metrics metrics;
};

std::unique_ptr<Components> set_up(const web::WebOptions& options, const web::TubeLabels& labels,
                                   web::WebStage& stage, std::string& error) {
  std::vector<Address> servers;
  std::vector<Address> targets;
  if (!find_all(options.servers, servers, error)) return nullptr;
  if (!find_all(options.probe_targets, targets, error)) return nullptr;
  auto components = std::make_unique<Components>(options, servers, targets, labels);
  for (const web::Route& route : components->api.routes()) stage.routes.push_back(route);
  for (const web::Route& route : components->metrics.routes()) stage.routes.push_back(route);
  for (const web::Route& route : web::page_routes()) stage.routes.push_back(route);
  stage.loop.add(web::LoopPart::of(components->observer));
  stage.loop.add(web::LoopPart::of(components->history));
  stage.loop.add(web::LoopPart::of(components->api));
  components->observer.open(stage.poller);
  return components;
}

}  // namespace

int serve_web(Words words) {
  // Large blocks are mapped, so the memory of a large sample returns to the system when it is
  // freed. By default the threshold would grow with such blocks.
  constexpr int kMappedBytesMin = 128 * 1024;
  ::mallopt(M_MMAP_THRESHOLD, kMappedBytesMin);
  web::WebOptions options;
  if (const std::optional<int> over = web::read_web_options(words, options)) return *over;
  web::TubeLabels labels;
  std::string why;
  for (const std::string& label : options.tube_labels) {
    if (labels.add(label, why)) continue;
    web::print_error(std::string("--tube-label ").append(label).append(": ").append(why));
    return kExitUsage;
  }
  std::unique_ptr<Components> components;
  return web::run_web(options, [&](web::WebStage& stage, std::string& error) {
    components = set_up(options, labels, stage, error);
    return components != nullptr;
  });
}

}  // namespace haricot::tool
