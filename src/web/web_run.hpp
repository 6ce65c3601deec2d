// The life of a program that serves HTTP: it opens what it needs, drops its privileges, and runs
// until it is asked to end.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "os/poller.hpp"
#include "web/http/route.hpp"
#include "web/serve/loop.hpp"
#include "web/web_options.hpp"

namespace haricot::web {

// What a program's own parts are given at the start.
struct WebStage {
  os::Poller& poller;  // For their sources,
  Loop& loop;          // and for what they do in each turn.
  std::vector<Route> routes = {};
};

// `set_up` adds its routes and parts while names can still be looked up. Its parts outlive the
// call. False: `error` says why, and the program ends. Returns the exit status.
int run_web(const WebOptions& options,
            const std::function<bool(WebStage& stage, std::string& error)>& set_up);

}  // namespace haricot::web
