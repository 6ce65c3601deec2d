#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "request_parts.hpp"

// Requests for groups and their held jobs.

namespace haricot::simulation {
namespace {

// Above this number of jobs, more end than are put.
constexpr std::size_t kJobsWantedOfGroups = 40;

// Returns a job that is in a group or waits for one.
JobId random_id_of_groups(test::Random& chance, const Model& model, int client) {
  std::vector<JobId> all;
  for (const auto& [id, job] : model.jobs()) {
    if (!job.group.empty() || job.hold > 0) all.push_back(id);
  }
  return all.empty() || chance.one_in(10) ? random_id(chance, model, client) : chance.pick(all);
}

void add_group_tags(Request& request, test::Random& chance) {
  request.is_after_any = !request.after.empty() && chance.one_in(2);
  if (!request.group.empty()) request.line += " grp:" + request.group;
  if (request.after.empty()) return;
  request.line += " aft:" + request.after + (request.is_after_any ? ":any" : "");
}

}  // namespace

std::string random_group(test::Random& chance) {
  const std::string_view names[] = {"default", "-h", "key", "x;$_.()/+-"};
  return chance.one_in(4) ? std::string(chance.pick(names))
                          : "g" + std::to_string(chance.below(40));
}

// Few enough names that groups end. Most puts wait for an existing group. A line has no room for
// long names beside a long key.
void add_groups(Request& request, test::Random& chance, const Model& model) {
  if (chance.one_in(2)) request.group = random_group(chance);
  if (request.group.empty() || chance.one_in(2)) request.after = random_group(chance);
  for (const auto& [id, job] : model.jobs()) {
    const bool is_taken = !request.after.empty() && !job.group.empty() && chance.one_in(3);
    if (is_taken) request.after = job.group;
  }
  if (request.after == request.group) request.after.clear();
  add_group_tags(request, chance);
}

// Very many jobs wait for a group of a few: then very many holds end at once.
void add_group_of_crowd(Request& request, test::Random& chance) {
  if (chance.one_in(20)) request.group = "crowd";
  if (request.group.empty() && !chance.one_in(4)) request.after = "crowd";
  add_group_tags(request, chance);
}

void make_of_groups(Request& request, test::Random& chance, const Mix& mix, const Model& model,
                    int client, std::uint32_t job_bytes_max) {
  const std::uint64_t kind = chance.below(100);
  const bool has_many = model.jobs().size() > kJobsWantedOfGroups && !mix.is_crowded;
  if (kind < (has_many ? 16U : 36U)) {
    make_put(request, chance, model, client, mix, job_bytes_max);
  } else if (kind < 58) {
    request.id = random_id_of_groups(chance, model, client);
    make_line(request, Verb::delete_job, number(request.id));
  } else if (kind < 66) {
    request.id = random_id_of_groups(chance, model, client);
    const bool is_kick = chance.one_in(2);
    make_line(request, is_kick ? Verb::kick_job : Verb::reserve_job, number(request.id));
  } else if (kind < 78) {
    make_reserve(request, chance, model, client);
  } else if (kind < 88) {
    make_change(request, chance, model, client);
  } else if (kind < 90 && !mix.is_crowded) {
    make_flush(request, chance);
  } else if (kind < 95) {
    make_wait_job(request, chance, model);
  } else {
    request.after = random_group(chance);
    make_line(request, Verb::stats_group, " " + request.after);
  }
}

}  // namespace haricot::simulation
