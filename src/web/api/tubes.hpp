// /api/tubes and /api/tube.

#pragma once

#include <memory>

#include "web/history/history.hpp"
#include "web/http/exchange.hpp"
#include "web/observe/observer.hpp"

namespace haricot::web {

Task answer_tubes(Observer& observer, const History& history, Server& server,
                  std::shared_ptr<Exchange> exchange);
Task answer_tube(const History& history, Server& server, std::shared_ptr<Exchange> exchange);

}  // namespace haricot::web
