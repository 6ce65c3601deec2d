// All facts about a job that a client can see, for comparison before and after a restart.

#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "support/wire_client.hpp"

namespace haricot::test {

// The interval in which a server answered.
struct Moment {
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point end = begin;
};

struct JobFacts {
  std::uint64_t id = 0;
  std::string tube = {};
  std::string body = {};
  std::string state = {};
  std::uint64_t priority = 0;
  std::uint64_t delay = 0;
  std::uint64_t ttr = 0;
  std::uint64_t age = 0;
  std::uint64_t time_left = 0;
  std::uint64_t file = 0;
  std::array<std::uint64_t, 5> counters{};  // reserves, timeouts, releases, buries, kicks
  Moment seen = {};                         // For age and time left.
};

using Jobs = std::map<std::uint64_t, JobFacts>;

// Returns all jobs with an id up to `highest`.
Jobs read_jobs(WireClient& client, std::uint64_t highest);

// Permitted differences.
struct Allowance {
  bool beanstalkd_counted =
      false;  // beanstalkd counts restoring a buried job as a bury, in memory.
};

// Returns the differences, one line each with the job's id, or an empty string. Ignores the file of
// the job. Age and time left have to differ by the elapsed time.
std::string differences(const Jobs& before, const Jobs& after, Allowance allowed = {});

// Returns the id in `INSERTED <id>`, or 0 for another answer.
std::uint64_t inserted_id(const std::string& answer);

}  // namespace haricot::test
