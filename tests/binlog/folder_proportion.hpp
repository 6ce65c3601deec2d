// Bound of the size of a server's folder.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "binlog_world.hpp"
#include "haricot/binlog/format/job_record.hpp"

namespace haricot::binlog {

// Checks that the folder is in proportion to its living jobs.
inline void expect_small(const World& world, std::uint64_t file_bytes) {
  std::uint64_t live = 0;
  for (const auto& [id, job] : all_jobs(world.engine, world.wall_offset)) {
    live += full_record_bytes(job.tube.size(), job.body_bytes);
  }
  EXPECT_LE(world.file_bytes(), std::max(3 * file_bytes, 3 * live)) << live << " bytes live";
}

}  // namespace haricot::binlog
