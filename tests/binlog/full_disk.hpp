// A disk that jobs have filled, in a test.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "binlog_world.hpp"
#include "haricot/queue/job.hpp"
#include "support/random.hpp"

namespace haricot::binlog {

// The capacity of such a disk.
inline constexpr std::uint64_t kFullDiskBytes = 65536;

// Puts jobs until one is refused. Returns their ids.
std::vector<JobId> fill(World& world, std::size_t body_bytes);
// The same with bodies of any size up to that one. Returns how many jobs there are.
std::size_t fill_mixed(World& world, test::Random& random, std::size_t body_bytes_max);

}  // namespace haricot::binlog
