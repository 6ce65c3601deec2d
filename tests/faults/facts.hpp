// All facts about a server that an answer can report, as plain values.

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
  std::array<std::uint64_t, kJobEvents> counts{};  // Indexed by JobEvent.
  std::string tags = {};
  std::string note = {};
  std::uint64_t tries_before = 0;  // Reserves at the last kick of a job with a backoff.
  bool is_held = false;

  std::uint64_t& count(JobEvent event) { return counts[static_cast<std::size_t>(event)]; }
  std::uint64_t count(JobEvent event) const { return counts[static_cast<std::size_t>(event)]; }
  // Returns true if its tries are used up, so that the end of the last one buries it.
  bool is_spent() const;
  // Ends a try: the job is ready, delayed by its backoff or buried then. `lacked_memory`: it is
  // buried because it could not be delayed.
  void end_try(bool lacked_memory);
  void count_kick();
  // Returns the delay of its backoff after a try; 0: it has none.
  std::uint32_t backoff_s() const;
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
// Returns the keys whose time is not over.
Keys keys_of(const Engine& engine, Instant now);
Tubes tubes_of(const Engine& engine);

// Returns a text for messages.
std::string to_text(const JobFacts& job);
// Returns the differences; empty: none.
std::string difference(const Jobs& expected, const Jobs& found);
std::string difference(const Keys& expected, const Keys& found);
std::string difference(const Tubes& expected, const Tubes& found);

}  // namespace haricot::faults
