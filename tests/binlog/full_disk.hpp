// Fills a disk with jobs.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "binlog_world.hpp"
#include "haricot/queue/job.hpp"
#include "support/random.hpp"

namespace haricot::binlog {

// Capacity of a full disk.
inline constexpr std::uint64_t kFullDiskBytes = 65536;

// Puts jobs until one is refused. Returns their ids.
std::vector<JobId> fill(World& world, std::size_t body_bytes);
// Puts jobs with bodies of random sizes, up to that one, until one is refused. Returns their
// number.
std::size_t fill_mixed(World& world, test::Random& random, std::size_t body_bytes_max);

}  // namespace haricot::binlog
