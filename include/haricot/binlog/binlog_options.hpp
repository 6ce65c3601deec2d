// How a binlog is to be kept: plain values, as the operator asked for them.

#pragma once

#include <cstddef>
#include <cstdint>

#include "haricot/base/time.hpp"

namespace haricot::binlog {

// When what was written is made to survive a loss of power.
enum class SyncPolicy : std::uint8_t {
  every_turn,  // Before it is acknowledged.
  interval,    // Soon after.
  never,       // Whenever the kernel likes.
};

struct BinlogOptions {
  std::uint64_t file_bytes = 10485760;  // Rounded up to a multiple of 4096.
  SyncPolicy sync = SyncPolicy::interval;
  Duration sync_interval = Duration::milliseconds(50);
  // Opens only a folder in which nothing is lost or in doubt.
  bool strict = false;
  // How many files may be open at once; fewer than 6 count as 6.
  std::size_t open_files_max = 32;
  // A body of that size is large: it is written in slices, and gets a file that begins with it.
  std::size_t large_body_bytes = 4 * 1024 * 1024;
  // So much of a large body is written in a turn. At least 1. From 512 on, slices end with sectors.
  std::uint64_t slice_bytes = 512 * 1024;
};

}  // namespace haricot::binlog
