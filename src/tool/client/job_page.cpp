#include "tool/client/job_page.hpp"

#include <cstddef>
#include <string>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/number.hpp"

namespace haricot::tool {
namespace {

// Adds the job whose lines these are. False: they are no job.
bool add_job(const std::string& lines, JobPage& page) {
  std::optional<StatsText> job = StatsText::parse(std::string(kYamlBegin) + lines);
  if (!job || !job->number("id")) return false;
  page.jobs.push_back(std::move(*job));
  return true;
}

// Whether a line of a job, without its first two characters, is a key with lines below it, or one
// of these lines. No key of today has lines below it.
bool is_nested(std::string_view line) {
  const bool is_key_alone = line.ends_with(":\n") && line.find(':') + 2 == line.size();
  return is_key_alone || line.starts_with(' ') || line.starts_with("- ");
}

}  // namespace

std::optional<JobPage> parse_job_page(std::string_view answer) {
  if (!answer.starts_with(kYamlBegin) || !answer.ends_with('\n')) return std::nullopt;
  answer.remove_prefix(kYamlBegin.size());
  JobPage page;
  bool has_jobs = false;
  bool is_among_jobs = false;
  std::string lines;  // Of the job that is being read.
  while (!answer.empty()) {
    const std::size_t bytes = answer.find('\n') + 1;
    std::string_view line = answer.substr(0, bytes);
    answer.remove_prefix(bytes);
    const bool is_first = line.starts_with("- ");
    if (is_first || line.starts_with("  ")) {
      if (!is_among_jobs) continue;  // It belongs to a key of a newer server.
      if (is_first && !lines.empty() && !add_job(lines, page)) return std::nullopt;
      if (is_first) lines.clear();
      if (!is_first && lines.empty()) return std::nullopt;
      line.remove_prefix(2);
      if (is_first || !is_nested(line)) lines += line;
      continue;
    }
    is_among_jobs = line == "jobs:\n";
    has_jobs = has_jobs || is_among_jobs || line == "jobs: []\n";
    if (line.starts_with("next: ")) {
      line.remove_prefix(6);
      line.remove_suffix(1);
      const std::optional<std::uint64_t> next = read_number(line);
      if (!next) return std::nullopt;
      page.next = *next;
    } else if (line.find(':') == std::string_view::npos) {
      return std::nullopt;
    }  // Another key: a newer server may say more.
  }
  if (!lines.empty() && !add_job(lines, page)) return std::nullopt;
  return has_jobs ? std::optional(std::move(page)) : std::nullopt;
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
    // A job that is not found has gone meanwhile.
    if (answer.code == ReplyCode::found) take(job, answer.body);
  };
  return server.ask("peek", commands, jobs.size(), take_answer);
}

}  // namespace haricot::tool
