#include "facts.hpp"

#include <algorithm>
#include <set>

#include "haricot/base/crc32c.hpp"
#include "haricot/base/job_tags.hpp"

namespace haricot::faults {
namespace {

std::string to_text(const TubeFacts& tube) {
  return std::to_string(tube.users) + " use it, " + std::to_string(tube.watchers) + " watch it, " +
         std::to_string(tube.waiting) + " wait, " + (tube.is_paused ? "paused" : "open");
}

std::string to_text(const KeyFacts& key) {
  return key.key + " in " + key.tube + ", for " + std::to_string(key.seconds) + " s until " +
         std::to_string(key.end);
}

template <typename Map>
std::string difference_of(const Map& expected, const Map& found) {
  if (expected == found) return "";  // The common case, a hundred thousand times.
  std::set<typename Map::key_type> keys;
  for (const auto& [key, value] : expected) keys.insert(key);
  for (const auto& [key, value] : found) keys.insert(key);
  std::string text;
  for (const auto& key : keys) {
    const auto wanted = expected.find(key);
    const auto is = found.find(key);
    const bool in_both = wanted != expected.end() && is != found.end();
    if (in_both && wanted->second == is->second) continue;
    std::string name;
    if constexpr (std::is_integral_v<typename Map::key_type>) {
      name = std::to_string(key);
    } else {
      name = key;
    }
    text += name + ": expected " +
            (wanted == expected.end() ? "nothing" : to_text(wanted->second)) + ", found " +
            (is == found.end() ? "nothing" : to_text(is->second)) + "\n";
  }
  return text;
}

}  // namespace

std::string to_text(const JobFacts& job) {
  std::string text(name_of(job.state));
  text += " in " + job.tube + ", " + std::to_string(job.body_bytes) + " bytes, pri " +
          std::to_string(job.priority) + ", delay " + std::to_string(job.delay_s) + ", ttr " +
          std::to_string(job.ttr_s) + ", counts";
  for (const std::uint64_t count : job.counts) text += " " + std::to_string(count);
  if (!job.tags.empty()) text += ", tags " + job.tags;
  if (job.tries_before > 0) text += ", tries before " + std::to_string(job.tries_before);
  return text;
}

bool JobFacts::is_spent() const {
  const std::uint32_t tries = tags_in(tags).tries;
  return tries > 0 && count(JobEvent::reserve) >= tries + count(JobEvent::kick);
}

void JobFacts::end_try(bool lacked_memory) {
  const std::uint32_t backoff = backoff_s();
  const bool is_buried = is_spent() || (backoff > 0 && lacked_memory);
  state = is_buried ? JobState::buried : backoff > 0 ? JobState::delayed : JobState::ready;
  if (is_buried) ++count(JobEvent::bury);
  if (state == JobState::delayed) delay_s = backoff;
}

void JobFacts::count_kick() {
  ++count(JobEvent::kick);
  if (tags_in(tags).backoff_s > 0) tries_before = count(JobEvent::reserve);
}

std::uint32_t JobFacts::backoff_s() const {
  const JobTags of = tags_in(tags);
  std::uint64_t seconds = of.backoff_s;
  for (std::uint64_t i = tries_before + 1; i < count(JobEvent::reserve); ++i) seconds *= 2;
  const std::uint64_t bound = std::max(of.backoff_s, of.backoff_max_s);
  return static_cast<std::uint32_t>(std::min(seconds, bound));
}

void JobFacts::set_body(std::string_view body) {
  body_bytes = body.size();
  body_sum = crc32c(0, body);
}

bool JobFacts::has_body(std::string_view body) const {
  return body_bytes == body.size() && body_sum == crc32c(0, body);
}

Jobs jobs_of(const Engine& engine) {
  Jobs jobs;
  for (JobId id = 1; id < engine.next_id(); ++id) {
    const JobRef ref = engine.peek(id);
    if (ref == JobRef::none) continue;
    const Job& job = engine.jobs()[ref];
    JobFacts facts{.tube = engine.tubes()[job.tube].name,
                   .state = job.state(),
                   .priority = job.priority,
                   .delay_s = job.delay_s,
                   .ttr_s = job.ttr_s};
    facts.set_body(engine.jobs().body(ref));
    facts.tags = engine.jobs().tags(ref);
    facts.note = engine.jobs().note(ref);
    facts.tries_before = engine.jobs().facts(ref).tries_before;
    facts.is_held = engine.jobs().is_held(ref);
    for (std::size_t i = 0; i < kJobEvents; ++i) {
      facts.counts[i] = engine.jobs().counted(ref, static_cast<JobEvent>(i));
    }
    jobs.emplace(id, std::move(facts));
  }
  return jobs;
}

Keys keys_of(const Engine& engine, Instant now) {
  const JobStore& jobs = engine.jobs();
  Keys keys;
  for (JobRef ref = jobs.first_tombstone_from(1); ref != JobRef::none;) {
    const Tombstone kept = engine.tombstone(ref);
    if (kept.end > now) {
      keys[kept.id] = {std::string(kept.tube_name), std::string(kept.key), kept.seconds,
                       kept.end.count()};
    }
    ref = jobs.first_tombstone_from(kept.id + 1);
  }
  return keys;
}

Tubes tubes_of(const Engine& engine) {
  Tubes tubes;
  for (std::uint32_t i = 0; i < engine.tubes().size(); ++i) {
    const Tube& tube = engine.tubes().at(i);
    tubes[tube.name] = {tube.using_clients, tube.watching_clients, tube.waiting_clients,
                        tube.paused};
  }
  return tubes;
}

std::string difference(const Jobs& expected, const Jobs& found) {
  return difference_of(expected, found);
}
std::string difference(const Keys& expected, const Keys& found) {
  return difference_of(expected, found);
}
std::string difference(const Tubes& expected, const Tubes& found) {
  return difference_of(expected, found);
}

}  // namespace haricot::faults
