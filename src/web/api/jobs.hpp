// /api/job, /api/jobs, /api/group and /api/clients: jobs and connections of a server as JSON.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/client/stats_text.hpp"
#include "web/api/messages.hpp"
#include "web/http/exchange.hpp"
#include "web/observe/observer.hpp"

namespace haricot::web {

// Bytes of a body that are shown to a user.
inline constexpr std::uint64_t kBodyBytesShown = 65536;

Task answer_job(Server& server, std::shared_ptr<Exchange> exchange);
// These use commands that beanstalkd does not have, and refuse requests for a server without them.
Task answer_jobs(Server& server, std::shared_ptr<Exchange> exchange);
Task answer_clients(Server& server, std::shared_ptr<Exchange> exchange);
Task answer_group(Server& server, std::shared_ptr<Exchange> exchange);

// Returns the statistics of a job, with its tags if the server reports them. The outer optional is
// empty if the server was lost, the inner one if there is no such job.
using MaybeJob = std::optional<std::optional<tool::StatsText>>;
Part<MaybeJob> ask_job(Server& server, std::uint64_t id);

// Returns the next ready, delayed and buried job of a tube as a JSON object. Returns nothing if the
// server was lost. Requires: the tube exists.
Part<std::optional<std::string>> next_jobs_json(Server& server, std::string tube);

// Adds commands before and after `commands` that use the tube, and return to the default tube.
std::vector<std::string> in_tube(const std::string& tube, std::vector<std::string> commands);

// Adds the members of a job, from stats-job, scan-jobs or list-jobs. `bytes` is the size of the
// body, for reports without it.
void add_job(JsonWriter& json, const tool::StatsText& stats, std::optional<std::uint64_t> bytes);

// Returns a connection, from list-clients.
std::string client_json(const tool::StatsText& stats);

}  // namespace haricot::web
