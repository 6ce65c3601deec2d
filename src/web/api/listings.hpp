// /api/jobs, /api/clients and /api/group, from commands that beanstalkd does not have.

#pragma once

#include <memory>

#include "web/http/exchange.hpp"
#include "web/observe/observer.hpp"

namespace haricot::web {

Task answer_jobs(Server& server, std::shared_ptr<Exchange> exchange);
Task answer_clients(Server& server, std::shared_ptr<Exchange> exchange);
Task answer_group(Server& server, std::shared_ptr<Exchange> exchange);

}  // namespace haricot::web
