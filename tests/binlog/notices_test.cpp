#include "haricot/binlog/notices.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

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

TEST(Notice, IsASentenceWithItsFields) {
  using Kind = Notice::Kind;
  std::set<std::string> sentences;
  for (const Kind kind :
       {Kind::no_space, Kind::space_again, Kind::refusing, Kind::recovered, Kind::file_failed,
        Kind::gone, Kind::not_back, Kind::copy_kept, Kind::copy_failed, Kind::not_written}) {
    const Notice notice{.kind = kind,
                        .file = "binlog.3",
                        .copy = "binlog.3.damaged",
                        .doing = "sync",
                        .error = "Input/output error"};
    const std::string sentence = to_sentence(notice);
    EXPECT_FALSE(sentence.empty());
    sentences.insert(sentence);
    const bool is_failure = kind == Kind::refusing || kind == Kind::file_failed ||
                            kind == Kind::copy_failed || kind == Kind::gone ||
                            kind == Kind::not_back;
    EXPECT_EQ(sentence.find(notice.error) != std::string::npos, is_failure) << sentence;
  }
  EXPECT_EQ(sentences.size(), 10U);
}

}  // namespace
}  // namespace haricot::binlog
