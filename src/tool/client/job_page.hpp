// Answers of scan-jobs and list-jobs: a page of jobs and the beginning of the next page.

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

// Largest number of jobs in a page that a server accepts.
inline constexpr std::uint64_t kPageJobsMax = kPageItemsMax;

struct JobPage {
  std::uint64_t next = 0;       // First id of the next page; 0 after the last page.
  std::vector<StatsText> jobs;  // Each with keys of stats-job, and perhaps others.
};

// Returns nothing if the text is no such answer, or a job in it has no id.
std::optional<JobPage> parse_job_page(std::string_view answer);

// Asks for the bodies of all these jobs at once. `take` gets each job that still exists, in order,
// and may move it. Returns false if the server failed; server.failure() has the reason.
[[nodiscard]] bool ask_bodies(
    Remote& server, std::span<StatsText> jobs,
    const std::function<void(StatsText& job, std::string_view body)>& take);

}  // namespace haricot::tool
