#include "tool/client/job_page.hpp"

#include <cstddef>
#include <string>
#include <utility>

#include "haricot/base/check.hpp"

namespace haricot::tool {

std::optional<JobPage> parse_job_page(std::string_view answer) {
  std::optional<ListPage> page = parse_list_page(answer, "jobs");
  if (!page) return std::nullopt;
  return JobPage{.next = page->next, .jobs = std::move(page->items)};
}

bool ask_bodies(Remote& server, std::span<StatsText> jobs,
                const std::function<void(StatsText& job, std::string_view body)>& take) {
  std::string commands;
  for (const StatsText& job : jobs) {
    commands += "peek " + std::to_string(job.number("id").value_or(0)) + "\r\n";
  }
  std::size_t at = 0;
  const auto take_answer = [&](const Answer& answer) {
    CHECK(at < jobs.size());
    StatsText& job = jobs[at++];
    // A job that is not found was deleted meanwhile.
    if (answer.code == ReplyCode::found) take(job, answer.body);
  };
  return server.ask("peek", commands, jobs.size(), take_answer);
}

}  // namespace haricot::tool
