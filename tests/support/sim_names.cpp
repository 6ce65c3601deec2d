#include "support/sim_names.hpp"

#include <algorithm>
#include <utility>

namespace haricot::binlog {

void SimNames::set(const std::string& name, std::uint32_t file) {
  change(Change{0, {}, name, file});
}

void SimNames::rename(const std::string& from, const std::string& to) {
  if (from != to) change(Change{0, from, to, seen_.at(from)});
}

void SimNames::remove(const std::string& name) {
  change(Change{0, name, {}, seen_.at(name)});
}

void SimNames::put(const std::string& name, std::uint32_t file) {
  seen_[name] = file;
  durable_[name] = file;
}

void SimNames::change(Change change) {
  change.number = ++changes_made_;
  apply(seen_, change);
  changes_.push_back(std::move(change));
}

void SimNames::apply(Map& names, const Change& change) {
  // If names survive in any order, a later rename may survive without an earlier one: the file
  // loses whatever name it had. A name that belongs to another file by then is not changed.
  if (!change.set.empty()) {
    std::erase_if(names, [&change](const auto& entry) { return entry.second == change.file; });
    names[change.set] = change.file;
  } else if (const auto found = names.find(change.removed);
             found != names.end() && found->second == change.file) {
    names.erase(found);
  }
}

void SimNames::commit(std::uint64_t changes) {
  auto end = changes_.begin();
  while (end != changes_.end() && end->number <= changes) apply(durable_, *end++);
  changes_.erase(changes_.begin(), end);
}

SimNames::Map SimNames::after_crash(test::Random& random, UnsyncedNames policy) const {
  if (policy == UnsyncedNames::any) {
    policy =
        static_cast<UnsyncedNames>(random.below(static_cast<std::uint64_t>(UnsyncedNames::any)));
  }
  if (policy == UnsyncedNames::lost) return durable_;
  if (policy == UnsyncedNames::kept) return seen_;
  Map names = durable_;
  const std::uint64_t kept = random.below(changes_.size() + 1);
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    const bool keep = policy == UnsyncedNames::in_order ? i < kept : random.coin();
    if (keep) apply(names, changes_[i]);
  }
  return names;
}

bool SimNames::may_need(std::uint32_t file) const {
  const auto is_it = [file](const auto& entry) { return entry.second == file; };
  return std::any_of(seen_.begin(), seen_.end(), is_it) ||
         std::any_of(durable_.begin(), durable_.end(), is_it) ||
         std::any_of(changes_.begin(), changes_.end(),
                     [file](const Change& change) { return change.file == file; });
}

}  // namespace haricot::binlog
