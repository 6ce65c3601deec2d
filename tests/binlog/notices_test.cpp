#include "haricot/binlog/notices.hpp"

#include <gtest/gtest.h>

namespace haricot::binlog {
namespace {

using Subject = Notices::Subject;

TEST(Notices, AreTakenInTheirOrder) {
  Notices notices;
  notices.add({.kind = Notice::Kind::no_space});
  notices.add({.kind = Notice::Kind::space_again});
  EXPECT_EQ(notices.take()->kind, Notice::Kind::no_space);
  EXPECT_EQ(notices.take()->kind, Notice::Kind::space_again);
  EXPECT_FALSE(notices.take());
}

TEST(Notices, OneSubjectIsReportedEveryThirtySeconds) {
  Notices notices;
  const Instant now = Instant::at(5);
  EXPECT_TRUE(notices.report_at_times(Subject::failure, {}, now));
  EXPECT_FALSE(notices.report_at_times(Subject::failure, {}, now + Duration::seconds(29)));
  EXPECT_TRUE(notices.report_at_times(Subject::gone, {}, now)) << "another subject";
  EXPECT_TRUE(notices.report_at_times(Subject::failure, {}, now + Duration::seconds(30)));
  notices.report_next(Subject::failure, now + Duration::seconds(31));
  EXPECT_TRUE(notices.report_at_times(Subject::failure, {}, now + Duration::seconds(31)));
}

TEST(Notices, ReportAnEndOnce) {
  Notices notices;
  EXPECT_FALSE(notices.take_begin(Subject::space));
  notices.begin(Subject::space);
  EXPECT_FALSE(notices.take_begin(Subject::failure));
  EXPECT_TRUE(notices.take_begin(Subject::space));
  EXPECT_FALSE(notices.take_begin(Subject::space));
}

}  // namespace
}  // namespace haricot::binlog
