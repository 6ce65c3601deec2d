// Everything about a server that an answer can be right or wrong about, as plain values.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "haricot/queue/engine.hpp"

namespace haricot::faults {

struct JobFacts {
  std::string tube;
  std::size_t body_bytes = 0;
  std::uint32_t body_sum = 0;
  JobState state = JobState::ready;
  std::uint32_t priority = 0;
  std::uint32_t delay_s = 0;
  std::uint32_t ttr_s = 0;
  std::array<std::uint64_t, kJobEvents> counts{};  // By JobEvent.
  std::string tags = {};
  bool is_held = false;

  std::uint64_t& count(JobEvent event) { return counts[static_cast<std::size_t>(event)]; }
  std::uint64_t count(JobEvent event) const { return counts[static_cast<std::size_t>(event)]; }
  // Whether its tries are used up, and it is buried when the last one ends.
  bool is_spent() const;
  // A try ends, and it is ready or buried.
  void end_try();
  void set_body(std::string_view body);
  bool has_body(std::string_view body) const;
  bool operator==(const JobFacts&) const = default;
};

// A key that has outlived its job.
struct KeyFacts {
  std::string tube;
  std::string key;
  std::uint32_t seconds = 0;
  std::int64_t end = 0;
  bool operator==(const KeyFacts&) const = default;
};

struct TubeFacts {
  std::uint32_t users = 0;
  std::uint32_t watchers = 0;
  std::uint32_t waiting = 0;
  bool is_paused = false;
  bool operator==(const TubeFacts&) const = default;
};

using Jobs = std::map<JobId, JobFacts>;
using Keys = std::map<JobId, KeyFacts>;
using Tubes = std::map<std::string, TubeFacts>;

Jobs jobs_of(const Engine& engine);
// Those whose time is not over.
Keys keys_of(const Engine& engine, Instant now);
Tubes tubes_of(const Engine& engine);

// For messages.
std::string to_text(const JobFacts& job);
// What the two have not in common; empty if nothing.
std::string difference(const Jobs& expected, const Jobs& found);
std::string difference(const Keys& expected, const Keys& found);
std::string difference(const Tubes& expected, const Tubes& found);

}  // namespace haricot::faults
