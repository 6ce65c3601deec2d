// What scan-jobs and list-jobs answer: some jobs, and where the next page begins.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tool/client/stats_text.hpp"

namespace haricot::tool {

struct JobPage {
  std::uint64_t next = 0;       // Where the next page begins; 0: this was the last one.
  std::vector<StatsText> jobs;  // Each with the keys of stats-job, or other ones.
};

// Nothing: it is no such answer, or a job in it has no id.
std::optional<JobPage> parse_job_page(std::string_view answer);

}  // namespace haricot::tool
