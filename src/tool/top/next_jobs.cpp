#include "tool/top/next_jobs.hpp"

#include <algorithm>
#include <utility>

#include "tool/client/job_page.hpp"

namespace haricot::tool {
namespace {

bool list_jobs(Remote& server, const std::string& tube, std::size_t count, NextJobs& found) {
  std::string commands;
  for (const std::string_view state : kSeenStates) {
    commands +=
        "list-jobs " + tube + " " + std::string(state) + " " + std::to_string(count) + "\r\n";
  }
  std::size_t next = 0;
  std::string odd;
  const auto take = [&](const Answer& answer) {
    std::vector<StatsText>& jobs = found.jobs[next++];
    if (answer.code == ReplyCode::not_found) return;  // The tube was deleted meanwhile.
    std::optional<JobPage> page;
    if (answer.code == ReplyCode::ok) page = parse_job_page(answer.body);
    if (page) {
      jobs = std::move(page->jobs);
    } else {
      odd = answer.line;
    }
  };
  if (!server.ask("list-jobs", commands, kSeenStates.size(), take)) return false;
  if (!odd.empty()) server.refuse("list-jobs", ReplyCode::none, odd);
  return odd.empty();
}

struct Peeked {
  std::uint64_t id = 0;
  std::size_t bytes = 0;
};

bool peek_jobs(Remote& server, const std::string& tube, NextJobs& found) {
  // Return to `default` afterwards: using a tube keeps it alive as long as the screen is shown.
  std::string commands = "use " + tube + "\r\n";
  for (const std::string_view state : kSeenStates)
    commands += "peek-" + std::string(state) + "\r\n";
  commands += "use default\r\n";
  std::array<std::optional<Peeked>, kSeenStates.size()> peeked;
  std::size_t next = 0;
  std::string odd;
  const auto take = [&](const Answer& answer) {
    const std::size_t i = next++;
    const bool is_peek = i > 0 && i <= kSeenStates.size();
    if (is_peek && answer.code == ReplyCode::found) {
      peeked[i - 1] = {answer.number, answer.body.size()};
    } else if (answer.code != (is_peek ? ReplyCode::not_found : ReplyCode::now_using)) {
      odd = answer.line;
    }
  };
  if (!server.ask("peek", commands, kSeenStates.size() + 2, take)) return false;
  if (!odd.empty()) {
    server.refuse("peek", ReplyCode::none, odd);
    return false;
  }
  for (std::size_t i = 0; i < kSeenStates.size(); ++i) {
    if (!peeked[i]) continue;
    const auto response = server.ask("stats-job " + std::to_string(peeked[i]->id), ReplyCode::ok);
    if (!response) return false;
    if (response->code == ReplyCode::not_found) continue;  // Deleted meanwhile.
    std::optional<StatsText> job =
        StatsText::parse(response->body + "bytes: " + std::to_string(peeked[i]->bytes) + "\n");
    // A worker may have reserved it meanwhile.
    const std::string* state = job ? job->find("state") : nullptr;
    if (state != nullptr && *state == kSeenStates[i]) found.jobs[i].push_back(std::move(*job));
  }
  return true;
}

}  // namespace

std::optional<Abilities> ask_abilities(Remote& server) {
  const std::optional<Response> response = server.ask("capabilities");
  if (!response) return std::nullopt;
  Abilities abilities;
  if (response->code != ReplyCode::ok) return abilities;
  const std::vector<std::string> words =
      parse_list(response->body).value_or(std::vector<std::string>{});
  const auto has = [&words](std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  abilities.lists_jobs = has("list-jobs");
  abilities.lists_clients = has("list-clients");
  abilities.flushes = has("flush-tube");
  return abilities;
}

bool ask_next_jobs(Remote& server, const Abilities& abilities, const std::string& tube,
                   std::size_t count, NextJobs& found) {
  found = {.tube = tube, .jobs = {}, .is_first_only = !abilities.lists_jobs};
  return abilities.lists_jobs ? list_jobs(server, tube, std::max<std::size_t>(count, 1), found)
                              : peek_jobs(server, tube, found);
}

}  // namespace haricot::tool
