#include "haricot/binlog/disk.hpp"

#include <cstring>
#include <limits>

#include <gtest/gtest.h>

namespace haricot::binlog {
namespace {

TEST(FileBytes, HoldsNothingAtFirst) {
  const FileBytes bytes;
  EXPECT_EQ(bytes.view(), "");
}

TEST(FileBytes, ReusesMemoryForSmallerFiles) {
  FileBytes bytes;
  ASSERT_TRUE(bytes.resize(300'000));
  EXPECT_TRUE(bytes.is_new());
  std::memset(bytes.data(), 'x', bytes.size());
  const char* const memory = bytes.data();
  for (const std::size_t size : {300'000U, 7U, 0U, 200'000U}) {
    ASSERT_TRUE(bytes.resize(size));
    EXPECT_FALSE(bytes.is_new());
    EXPECT_EQ(bytes.view().size(), size);
    if (size > 0) {
      EXPECT_EQ(bytes.view().data(), memory);
    }
  }
}

TEST(FileBytes, GrowsForALargerFile) {
  FileBytes bytes;
  ASSERT_TRUE(bytes.resize(10));
  ASSERT_TRUE(bytes.resize(1'000'000));
  EXPECT_TRUE(bytes.is_new());
  std::memset(bytes.data(), 'y', bytes.size());
  EXPECT_EQ(bytes.view().substr(999'999), "y");
}

TEST(FileBytes, HoldsNothingWithoutMemory) {
  FileBytes bytes;
  ASSERT_TRUE(bytes.resize(10));
  EXPECT_FALSE(bytes.resize(std::numeric_limits<std::size_t>::max() / 2));
  EXPECT_EQ(bytes.view(), "");
  ASSERT_TRUE(bytes.resize(10));
}

}  // namespace
}  // namespace haricot::binlog
