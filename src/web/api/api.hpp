// /api and the health checks: JSON for the page and for scripts (docs/web.md, API).
//
// Data of the last samples is returned at once. For other data the server is asked, and the request
// is answered in a later turn.

#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/base/time.hpp"
#include "web/api/servers.hpp"
#include "web/history/history.hpp"
#include "web/http/exchange.hpp"
#include "web/observe/observer.hpp"

namespace haricot::web {

class Api final {
 public:
  // Borrowed arguments must outlive the object. `about` describes the program; Request::may_change
  // decides about changes.
  Api(Observer& observer, const History& history, About about)
      : observer_(observer),
        history_(history),
        about_(std::move(about)),
        events_(observer, about_) {}

  std::vector<Route> routes();
  // For the streams of events.
  Instant next_event() const { return events_.next_event(); }
  void advance(Instant now) { events_.advance(now); }

 private:
  using Shared = std::shared_ptr<Exchange>;
  template <auto kHandler>
  Route row(Method method, std::string_view path);

  // Handles a request that needs data from the server.
  template <Task (*kAnswer)(Server&, Shared)>
  void serve_of_server(Shared exchange);
  void serve_health(const Shared& exchange);
  void serve_readiness(const Shared& exchange);
  void serve_servers(const Shared& exchange);
  void serve_history(const Shared& exchange);
  void serve_events(Shared exchange);
  void serve_tubes(Shared exchange);
  void serve_tube(Shared exchange);
  void serve_action(Shared exchange);

  // Returns the server that a request names, or the only one. If there is none, answers the request
  // and returns null.
  Server* server_of(Exchange& exchange);

  Observer& observer_;
  const History& history_;
  About about_;
  Events events_;
};

}  // namespace haricot::web
