#include "web/api/api.hpp"

#include <cstddef>
#include <limits>

#include "web/api/actions.hpp"
#include "web/api/jobs.hpp"
#include "web/api/messages.hpp"
#include "web/api/search.hpp"
#include "web/api/tubes.hpp"

namespace haricot::web {

template <auto kHandler>
Route Api::row(Method method, std::string_view path) {
  return {
      .method = method,
      .path = path,
      .handle = [](void* self,
                   Shared exchange) { (static_cast<Api*>(self)->*kHandler)(std::move(exchange)); },
      .self = this};
}

template <Task (*kAnswer)(Server&, Api::Shared)>
void Api::serve_of_server(Shared exchange) {
  if (Server* server = server_of(*exchange)) kAnswer(*server, std::move(exchange));
}

std::vector<Route> Api::routes() {
  std::vector<Route> all = {row<&Api::serve_servers>(Method::get, "/api/servers"),
                            row<&Api::serve_history>(Method::get, "/api/history"),
                            row<&Api::serve_tubes>(Method::get, "/api/tubes"),
                            row<&Api::serve_tube>(Method::get, "/api/tube"),
                            row<&Api::serve_of_server<answer_jobs>>(Method::get, "/api/jobs"),
                            row<&Api::serve_of_server<answer_clients>>(Method::get, "/api/clients"),
                            row<&Api::serve_of_server<answer_group>>(Method::get, "/api/group"),
                            row<&Api::serve_of_server<answer_job>>(Method::get, "/api/job"),
                            row<&Api::serve_of_server<answer_search>>(Method::get, "/api/search"),
                            row<&Api::serve_action>(Method::post, "/api/actions")};
  all.back().is_change = true;
  all.back().body_bytes_max = std::numeric_limits<std::size_t>::max();
  Route events = row<&Api::serve_events>(Method::get, "/api/events");
  events.is_events = true;
  all.push_back(events);
  for (Route probe : {row<&Api::serve_health>(Method::get, "/healthz"),
                      row<&Api::serve_readiness>(Method::get, "/readyz")}) {
    probe.needs_login = false;
    probe.is_probe = true;
    all.push_back(probe);
  }
  return all;
}

Server* Api::server_of(Exchange& exchange) {
  const std::optional<std::string> name = exchange.request().parameter("server");
  Server* server = nullptr;
  if (name) {
    server = observer_.find(*name);
    if (server == nullptr) exchange.refuse(404, "no such server");
  } else if (observer_.servers().size() == 1) {
    server = &observer_.servers().front();
  } else {
    exchange.refuse(400, "missing server");
  }
  return server;
}

void Api::serve_health(const Shared& exchange) {
  exchange->respond(
      {.status = 200, .type = "text/plain; charset=utf-8", .body = "ok\n", .more = {}});
}

void Api::serve_readiness(const Shared& exchange) {
  const bool is_ready = observer_.is_ready();
  exchange->respond({.status = static_cast<std::uint16_t>(is_ready ? 200 : 503),
                     .type = "text/plain; charset=utf-8",
                     .body = is_ready ? "ready\n" : "the servers have not answered yet\n",
                     .more = {}});
}

void Api::serve_servers(const Shared& exchange) {
  answer(*exchange, servers_json(observer_, about_, {}));
}

void Api::serve_events(Shared exchange) {
  std::string name;
  if (exchange->request().parameter("server")) {
    const Server* server = server_of(*exchange);
    if (server == nullptr) return;
    name = server->facts().name;
  }
  events_.add(std::move(exchange), std::move(name));
}

void Api::serve_history(const Shared& exchange) {
  Server* server = server_of(*exchange);
  if (server == nullptr) return;
  Parameters parameters(exchange->request());
  const std::string tube = parameters.tube("tube");
  const std::string range = parameters.text("range");
  const bool is_day = range == "day";
  if (!is_day && !range.empty() && range != "hour") parameters.reject("range must be hour or day");
  if (!parameters.error().empty()) return exchange->refuse(400, parameters.error());
  const std::string& name = server->facts().name;
  if (!tube.empty()) server->demand_tubes(Observer::now());
  const Track* track = tube.empty() ? history_.server(name) : history_.tube(name, tube);
  answer(*exchange,
         history_json(track, !tube.empty(), is_day ? HistoryRange::day : HistoryRange::hour,
                      history_.step(), Observer::wall_now()));
}

void Api::serve_tubes(Shared exchange) {
  if (Server* server = server_of(*exchange)) {
    answer_tubes(observer_, history_, *server, std::move(exchange));
  }
}

void Api::serve_tube(Shared exchange) {
  if (Server* server = server_of(*exchange)) answer_tube(history_, *server, std::move(exchange));
}

void Api::serve_action(Shared exchange) {
  answer_action(observer_, std::move(exchange));
}

}  // namespace haricot::web
