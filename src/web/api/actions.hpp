// /api/actions: changes of a server by users.

#pragma once

#include <memory>

#include "web/http/exchange.hpp"
#include "web/observe/observer.hpp"

namespace haricot::web {

Task answer_action(Observer& observer, std::shared_ptr<Exchange> exchange);

}  // namespace haricot::web
