// A job, and a connection, as JSON.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tool/client/stats_text.hpp"
#include "web/api/json_writer.hpp"

namespace haricot::web {

// The members of a job, as stats-job, scan-jobs or list-jobs tell them. `bytes`: of its body, where
// the statistics do not have that.
void add_job(JsonWriter& json, const tool::StatsText& stats, std::optional<std::uint64_t> bytes);

// A connection, as list-clients tells it.
std::string client_json(const tool::StatsText& stats);

}  // namespace haricot::web
