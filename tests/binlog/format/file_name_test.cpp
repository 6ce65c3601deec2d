#include "haricot/binlog/format/file_name.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace haricot::binlog {
namespace {

TEST(BinlogFileName, IsThatOfBeanstalkd) {
  EXPECT_EQ(binlog_file_name(12), "binlog.12");
  EXPECT_EQ(spare_name(12), "binlog.12.tmp");
  EXPECT_EQ(damaged_name(12, 1), "binlog.12.damaged.1");
  EXPECT_EQ(torn_name(12, 2), "binlog.12.torn.2");
  EXPECT_EQ(aside_name(12, 3), "binlog.12.aside.3");
}

TEST(BinlogFileName, HasANumberThatBeanstalkdCanRead) {
  EXPECT_EQ(binlog_file_number("binlog.1"), 1U);
  EXPECT_EQ(binlog_file_number(binlog_file_name(kFileNumberMax)), kFileNumberMax);
  for (const char* name :
       {"binlog.", "binlog.0", "binlog.01", "binlog.-1", "binlog.+1", "binlog. 1", "binlog.1x",
        "binlog.12.tmp", "binlog.2147483648", "binlog.99999999999999999999", "xbinlog.1", "lock"}) {
    EXPECT_EQ(binlog_file_number(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace haricot::binlog
