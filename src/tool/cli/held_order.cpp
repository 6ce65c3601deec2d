#include "tool/cli/job_line.hpp"

#include <map>
#include <set>
#include <string_view>

namespace haricot::tool {

std::vector<std::size_t> held_order(std::span<const HeldJob> jobs) {
  struct Group {
    std::size_t members = 0;  // Number of members that are not in the order yet.
    std::vector<std::size_t> waiting;
  };
  std::map<std::string_view, Group> groups;
  for (std::size_t index = 0; index < jobs.size(); ++index) {
    if (!jobs[index].group.empty()) ++groups[jobs[index].group].members;
    groups[jobs[index].after].waiting.push_back(index);
  }
  std::set<std::size_t> left;
  std::set<std::size_t> next;
  for (std::size_t index = 0; index < jobs.size(); ++index) {
    left.insert(index);
    if (groups[jobs[index].after].members == 0) next.insert(index);
  }
  std::vector<std::size_t> order;
  order.reserve(jobs.size());
  while (!left.empty()) {
    const std::size_t index = next.empty() ? *left.begin() : *next.begin();
    next.erase(index);
    left.erase(index);
    order.push_back(index);
    if (jobs[index].group.empty()) continue;
    Group& group = groups[jobs[index].group];
    if (--group.members > 0) continue;
    for (const std::size_t waiting : group.waiting) {
      if (left.count(waiting) != 0) next.insert(waiting);
    }
  }
  return order;
}

}  // namespace haricot::tool
