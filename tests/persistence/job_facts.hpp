// Everything a client can see of a job, to be compared before and after a restart.

#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "support/wire_client.hpp"

namespace haricot::test {

// When a server was asked for something: not before the one, and not after the other.
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
  Moment seen = {};                         // For what goes on with the time.
};

using Jobs = std::map<std::uint64_t, JobFacts>;

// All jobs with an id up to `highest`.
Jobs read_jobs(WireClient& client, std::uint64_t highest);

// What may differ although nothing is wrong.
struct Allowance {
  bool beanstalkd_counted = false;  // It counts a buried job's way back as a bury, in memory.
};

// What is different, a line each with the job's id; empty if nothing is. The file does not count.
// The age and what is left of a delay have to differ by the time that has gone by.
std::string differences(const Jobs& before, const Jobs& after, Allowance allowed = {});

// The id in `INSERTED <id>`; 0 if the answer is another one.
std::uint64_t inserted_id(const std::string& answer);

}  // namespace haricot::test
