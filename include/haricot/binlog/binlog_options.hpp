// Settings of a binlog, as the operator chose them: plain values.

#pragma once

#include <cstddef>
#include <cstdint>

#include "haricot/base/time.hpp"

namespace haricot::binlog {

// Moment at which records are made durable.
enum class SyncPolicy : std::uint8_t {
  every_turn,  // Before they are acknowledged.
  interval,    // At most sync_interval after they are written.
  never,       // At the discretion of the kernel.
};

struct BinlogOptions {
  std::uint64_t file_bytes = 10485760;  // Rounded up to a multiple of 4096.
  SyncPolicy sync = SyncPolicy::interval;
  Duration sync_interval = Duration::milliseconds(50);
  // If set, a folder is opened only if nothing in it is lost or in doubt.
  bool strict = false;
  // Maximum number of files open at once; values below 6 count as 6.
  std::size_t open_files_max = 32;
  // Size from which a body is large: it is written in slices, to a file that begins with it.
  std::size_t large_body_bytes = 4 * 1024 * 1024;
  // Bytes of a large body that a turn writes, at least 1. From 512 on, slices end at sectors.
  std::uint64_t slice_bytes = 512 * 1024;
};

}  // namespace haricot::binlog
