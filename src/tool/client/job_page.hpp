// What scan-jobs and list-jobs answer: some jobs, and where the next page begins.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tool/client/list_page.hpp"
#include "tool/client/remote.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::tool {

// The most jobs that a server takes for a page.
inline constexpr std::uint64_t kPageJobsMax = kPageItemsMax;

struct JobPage {
  std::uint64_t next = 0;       // Where the next page begins; 0: this was the last one.
  std::vector<StatsText> jobs;  // Each with the keys of stats-job, or other ones.
};

// Nothing: it is no such answer, or a job in it has no id.
std::optional<JobPage> parse_job_page(std::string_view answer);

// Asks for the bodies of these jobs, all at once. `take` gets each job that is there still, in
// their order; it may move the job away. False: the server failed, and server.failure() says how.
[[nodiscard]] bool ask_bodies(
    Remote& server, std::span<StatsText> jobs,
    const std::function<void(StatsText& job, std::string_view body)>& take);

}  // namespace haricot::tool
