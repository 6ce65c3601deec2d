// Helpers for the tests of the simulated disk.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/sim_disk.hpp"

namespace haricot::binlog {

inline constexpr std::size_t kSector = kSectorBytes;
inline constexpr int kCrashes = 400;  // Enough to see each of a few outcomes.

inline DiskStatus write_at(Disk& disk, FileHandle file, std::uint64_t offset,
                           std::string_view bytes) {
  return disk.write(file, offset, std::vector<std::string_view>{bytes});
}

inline FileHandle create(Disk& disk, const std::string& name) {
  FileHandle file = FileHandle::none;
  EXPECT_EQ(disk.create(name, file), DiskStatus::ok);
  return file;
}

// Creates a file whose name and first bytes are durable.
inline FileHandle create_durable(SimDisk& disk, const std::string& name,
                                 std::string_view bytes = {}) {
  const FileHandle file = create(disk, name);
  EXPECT_EQ(write_at(disk, file, 0, bytes), DiskStatus::ok);
  EXPECT_EQ(disk.sync(file), DiskStatus::ok);
  EXPECT_EQ(disk.sync_folder(), DiskStatus::ok);
  return file;
}

inline std::string sectors(std::size_t count, char fill) {
  return std::string(count * kSector, fill);
}

// Returns the contents of a file after each of many crashes; "(gone)" if it does not exist.
inline std::set<std::string> outcomes(const SimDisk& disk, const std::string& name,
                                      CrashPolicy policy = {}) {
  std::set<std::string> found;
  SimDisk::Random random(1);
  for (int i = 0; i < kCrashes; ++i) {
    const auto crashed = disk.crash(random, policy);
    found.insert(crashed->has(name) ? crashed->bytes_of(name) : "(gone)");
  }
  return found;
}

using Strings = std::set<std::string>;

}  // namespace haricot::binlog
