#include "tool/commands/job_search.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace haricot::tool {
namespace {

// Number of ids that are requested at once.
constexpr std::uint64_t kIdsPerRound = 1000;

}  // namespace

std::optional<std::vector<StatsText>> JobSearch::ask_jobs(std::span<const std::uint64_t> ids) {
  std::string commands;
  for (const std::uint64_t id : ids) commands += "stats-job " + std::to_string(id) + "\r\n";
  std::vector<StatsText> jobs;
  ReplyCode refusal = ReplyCode::none;
  std::string refused;
  const auto take = [&](const Answer& answer) {
    if (answer.code == ReplyCode::not_found) return;
    std::optional<StatsText> job;
    if (answer.code == ReplyCode::ok) job = StatsText::parse(answer.body);
    const std::string* tube = job ? job->find("tube") : nullptr;
    if (tube == nullptr || !job->number("id")) {
      refusal = answer.code;
      refused = std::string(answer.line);
      return;
    }
    if (!tubes_.empty() && std::find(tubes_.begin(), tubes_.end(), *tube) == tubes_.end()) return;
    jobs.push_back(std::move(*job));
  };
  if (!server_.ask("stats-job", commands, ids.size(), take)) return std::nullopt;
  if (refusal == ReplyCode::none) return jobs;
  server_.refuse("stats-job", refusal, refused);
  return std::nullopt;
}

bool JobSearch::find_bound() {
  const std::string tube = "haricot-export-" + std::to_string(::getpid());
  if (!server_.ask("use " + tube, ReplyCode::now_using)) return false;
  // The longest delay, so that no worker gets the job, even one that watches all tubes.
  const auto put = server_.ask_together("put", "put 4294967295 4294967295 1 0\r\n\r\n", 1);
  if (!put) return false;
  const Response& answer = put->front();
  if (answer.code == ReplyCode::inserted || answer.code == ReplyCode::buried_new) {
    bound_ = answer.number;
    if (!server_.ask("delete " + std::to_string(bound_), ReplyCode::deleted)) return false;
  } else if (answer.code != ReplyCode::draining) {
    server_.refuse("put", answer.code, answer.line);
    return false;
  }
  return server_.ask("use default", ReplyCode::now_using).has_value();
}

std::optional<std::uint64_t> JobSearch::count_jobs() {
  std::vector<std::string> commands{"stats"};
  if (!tubes_.empty()) {
    commands.clear();
    for (const std::string& tube : tubes_) commands.push_back("stats-tube " + tube);
  }
  std::uint64_t count = 0;
  for (const std::string& command : commands) {
    bool is_there = false;
    const std::optional<StatsText> stats = server_.ask_stats(command, is_there);
    if (!stats) return std::nullopt;
    for (const std::string_view state : {"ready", "reserved", "delayed", "buried"}) {
      count += stats->number("current-jobs-" + std::string(state)).value_or(0);
    }
  }
  return count;
}

bool JobSearch::add_next() {
  std::uint64_t first = asked_ + 1;
  std::uint64_t count = kIdsPerRound;
  if (bound_ != 0) {
    const std::uint64_t left = bound_ - 1 - asked_;
    count = std::min(count, left);
    first = left - count + 1;
  }
  std::vector<std::uint64_t> ids(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = first + i;
  const auto jobs = ask_jobs(ids);
  if (!jobs) return false;
  for (const StatsText& job : *jobs) found_.push_back(*job.number("id"));
  asked_ += count;
  return true;
}

bool JobSearch::drop_gone() {
  std::vector<std::uint64_t> left;
  for (std::size_t at = 0; at < found_.size(); at += kIdsPerRound) {
    const std::size_t count = std::min<std::size_t>(kIdsPerRound, found_.size() - at);
    const auto jobs = ask_jobs(std::span(found_).subspan(at, count));
    if (!jobs) return false;
    for (const StatsText& job : *jobs) left.push_back(*job.number("id"));
  }
  found_ = std::move(left);
  return true;
}

// Returns true if all jobs are found. Counts the jobs first, and then asks again for the found
// ones. A found job cannot come back. So if as many as counted still exist, they are all jobs of
// the moment of the count.
std::optional<bool> JobSearch::has_all() {
  const std::optional<std::uint64_t> count = count_jobs();
  if (!count) return std::nullopt;
  if (found_.size() < *count) return false;
  if (!drop_gone()) return std::nullopt;
  return found_.size() >= *count;
}

std::optional<std::vector<std::uint64_t>> JobSearch::find(const Show& show) {
  if (!find_bound()) return std::nullopt;
  // While jobs come and go, has_all() may ask for all found jobs again. So call it only after
  // asking for as many new ids.
  std::uint64_t next_look = 0;
  while (bound_ == 0 || asked_ + 1 < bound_) {
    if (asked_ >= next_look) {
      const std::optional<bool> is_over = has_all();
      if (!is_over) return std::nullopt;
      if (*is_over) break;
      next_look = asked_ + found_.size();
    }
    if (!add_next()) return std::nullopt;
    show(asked_, bound_);
  }
  std::sort(found_.begin(), found_.end());
  return std::move(found_);
}

}  // namespace haricot::tool
