// Runs a program that serves HTTP: opens its resources, drops its privileges, and serves until a
// signal ends it.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "os/poller.hpp"
#include "web/http/route.hpp"
#include "web/serve/loop.hpp"
#include "web/web_options.hpp"

namespace haricot::web {

// The program's parts register here at the start.
struct WebStage {
  os::Poller& poller;  // For event sources.
  Loop& loop;          // For work in each turn.
  std::vector<Route> routes = {};
};

// Calls `set_up` to add routes and parts while names can still be resolved; the parts must outlive
// the call of run_web(). If it returns false, prints its `error` and ends. Returns the exit status.
int run_web(const WebOptions& options,
            const std::function<bool(WebStage& stage, std::string& error)>& set_up);

}  // namespace haricot::web
