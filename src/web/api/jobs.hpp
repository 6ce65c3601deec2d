// /api/job, and what else asks a server for jobs.

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

// Of a body, for a person to look at.
inline constexpr std::uint64_t kBodyBytesShown = 65536;

Task answer_job(Server& server, std::shared_ptr<Exchange> exchange);

// What is known of a job: with its tags, where the server tells them. The outer one is nothing if
// the server is lost, the inner one if there is no such job.
using MaybeJob = std::optional<std::optional<tool::StatsText>>;
Part<MaybeJob> ask_job(Server& server, std::uint64_t id);

// The next ready, delayed and buried job of a tube, as an object. Nothing: the server is lost.
// Requires: the tube exists.
Part<std::optional<std::string>> next_jobs_json(Server& server, std::string tube);

// Commands that need a tube to be used, between those that use it and that leave it again.
std::vector<std::string> in_tube(const std::string& tube, std::vector<std::string> commands);

}  // namespace haricot::web
