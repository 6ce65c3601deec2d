// Jobs and connections as JSON.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tool/client/stats_text.hpp"
#include "web/api/json_writer.hpp"

namespace haricot::web {

// Adds the members of a job, from stats-job, scan-jobs or list-jobs. `bytes` is the size of the
// body, for reports without it.
void add_job(JsonWriter& json, const tool::StatsText& stats, std::optional<std::uint64_t> bytes);

// Returns a connection, from list-clients.
std::string client_json(const tool::StatsText& stats);

}  // namespace haricot::web
