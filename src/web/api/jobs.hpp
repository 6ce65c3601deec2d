// /api/job, and other requests for jobs.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "web/http/exchange.hpp"
#include "web/observe/observer.hpp"

namespace haricot::web {

// Bytes of a body that are shown to a user.
inline constexpr std::uint64_t kBodyBytesShown = 65536;

Task answer_job(Server& server, std::shared_ptr<Exchange> exchange);

// Returns the statistics of a job, with its tags if the server reports them. The outer optional is
// empty if the server was lost, the inner one if there is no such job.
using MaybeJob = std::optional<std::optional<tool::StatsText>>;
Part<MaybeJob> ask_job(Server& server, std::uint64_t id);

// Returns the next ready, delayed and buried job of a tube as a JSON object. Returns nothing if the
// server was lost. Requires: the tube exists.
Part<std::optional<std::string>> next_jobs_json(Server& server, std::string tube);

// Adds commands before and after `commands` that use the tube, and return to the default tube.
std::vector<std::string> in_tube(const std::string& tube, std::vector<std::string> commands);

}  // namespace haricot::web
