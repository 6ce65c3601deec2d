#include "haricot/binlog/notice.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace haricot::binlog {
namespace {

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
