#include "web/observe/link.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace haricot::web {
namespace {

constexpr Instant kStart = Instant::at(0);

// Sends commands, and records the answers in order; "lost" for those without an answer.
class PipelineTest : public ::testing::Test {
 protected:
  Question question(const std::string& command, std::uint64_t body_bytes_max = 1000) {
    return {.command = command + "\r\n",
            .take =
                [this, command](const tool::Answer* answer) {
                  answers_.push_back(command + ": " +
                                     (answer == nullptr ? std::string("lost")
                                                        : std::string(answer->line) + " " +
                                                              std::string(answer->body)));
                },
            .body_bytes_max = body_bytes_max};
  }
  std::string send(Instant now = kStart) {
    const std::string output(pipeline_.output(now));
    pipeline_.sent(output.size());
    return output;
  }

  Pipeline pipeline_;
  std::vector<std::string> answers_;
};

TEST_F(PipelineTest, AnswersGoToTheirQuestionsWhereverTheBytesAreCut) {
  pipeline_.ask(question("peek 1"));
  pipeline_.ask(question("delete 2"));
  EXPECT_EQ(send(), "peek 1\r\ndelete 2\r\n");
  for (const char c : std::string("FOUND 1 5\r\nhe\r\no\r\nNOT_FOUND\r\n")) {
    ASSERT_TRUE(pipeline_.receive({&c, 1}, kStart));
  }
  EXPECT_EQ(answers_,
            (std::vector<std::string>{"peek 1: FOUND 1 5 he\r\no", "delete 2: NOT_FOUND "}));
  EXPECT_TRUE(pipeline_.is_idle());
}

TEST_F(PipelineTest, SixtyFourQuestionsAreUnderWayAtMost) {
  for (int i = 0; i < 100; ++i) pipeline_.ask(question("delete 1"));
  EXPECT_EQ(send().size(), 64 * std::string("delete 1\r\n").size());
  EXPECT_FALSE(pipeline_.has_room());
  ASSERT_TRUE(pipeline_.receive("DELETED\r\nDELETED\r\n", kStart));
  EXPECT_EQ(send(), "delete 1\r\ndelete 1\r\n");
}

TEST_F(PipelineTest, RequestsOfViewersAreLimited) {
  for (std::size_t i = 0; i < Pipeline::kWaitingMax; ++i) pipeline_.ask(question("delete 1"));
  EXPECT_FALSE(pipeline_.can_ask(1));
}

TEST_F(PipelineTest, OnlySoMuchOfABodyIsKept) {
  pipeline_.ask(question("peek 1", 3));
  pipeline_.ask(question("peek 2"));
  send();
  ASSERT_TRUE(pipeline_.receive("FOUND 1 5\r\nhello\r\nFOUND 2 5\r\nworld\r\n", kStart));
  EXPECT_EQ(answers_,
            (std::vector<std::string>{"peek 1: FOUND 1 5 hel", "peek 2: FOUND 2 5 world"}));
}

TEST_F(PipelineTest, AServerThatSendsRarelyIsLate) {
  EXPECT_EQ(pipeline_.deadline(), Instant::never());
  pipeline_.ask(question("peek 1"));
  send();
  EXPECT_EQ(pipeline_.deadline(), kStart + Question::kPatience);
  ASSERT_TRUE(pipeline_.receive("FOUND 1 200000\r\nabc", kStart + Duration::seconds(4)));
  EXPECT_EQ(pipeline_.deadline(), kStart + Question::kPatience);
  // A server that sends much is not silent.
  const Instant later = kStart + Duration::seconds(5);
  ASSERT_TRUE(pipeline_.receive(std::string(100'000, 'x'), later));
  EXPECT_EQ(pipeline_.deadline(), later + Question::kPatience);
}

TEST_F(PipelineTest, EachQuestionHasThePatienceThatItWants) {
  Question slow = question("flush-tube mail");
  slow.patience = Duration::seconds(300);
  pipeline_.ask(question("stats-tube mail"));
  pipeline_.ask(std::move(slow));
  send();
  const Instant later = kStart + Duration::seconds(1);
  ASSERT_TRUE(pipeline_.receive("NOT_FOUND\r\n", later));
  EXPECT_EQ(pipeline_.deadline(), later + Duration::seconds(300));
}

TEST_F(PipelineTest, WhenTheConnectionIsLostEverybodyHearsOfIt) {
  pipeline_.ask(question("peek 1"));
  send();
  ASSERT_TRUE(pipeline_.receive("FOUND 1 5\r\nhe", kStart));
  pipeline_.ask(question("stats"));
  pipeline_.abort();
  EXPECT_EQ(answers_, (std::vector<std::string>{"peek 1: lost", "stats: lost"}));
  EXPECT_TRUE(pipeline_.is_idle());
  // The next connection has no bytes of the last one.
  pipeline_.ask(question("delete 1"));
  EXPECT_EQ(send(), "delete 1\r\n");
  ASSERT_TRUE(pipeline_.receive("DELETED\r\n", kStart));
  EXPECT_EQ(answers_.back(), "delete 1: DELETED ");
}

TEST_F(PipelineTest, ACommandForATubeFollowsItsUse) {
  Question use = question("use mail");
  use.followers = 2;
  pipeline_.ask(question("peek 1"));
  for (int i = 0; i < 2; ++i) {
    pipeline_.ask(use);
    pipeline_.ask(question("kick 1"));
    pipeline_.ask(question("use default"));
  }
  EXPECT_EQ(send(), "peek 1\r\nuse mail\r\n");
  ASSERT_TRUE(pipeline_.receive("NOT_FOUND\r\n", kStart));
  EXPECT_EQ(send(), "");
  ASSERT_TRUE(pipeline_.receive("OUT_OF_MEMORY\r\n", kStart));
  EXPECT_EQ(answers_,
            (std::vector<std::string>{"peek 1: NOT_FOUND ", "use mail: OUT_OF_MEMORY ",
                                      "kick 1: OUT_OF_MEMORY ", "use default: OUT_OF_MEMORY "}));
  EXPECT_EQ(send(), "use mail\r\n");
  ASSERT_TRUE(pipeline_.receive("USING mail\r\n", kStart));
  EXPECT_EQ(send(), "kick 1\r\nuse default\r\n");
  // A connection that is lost in between leaves no command waiting.
  ASSERT_TRUE(pipeline_.receive("KICKED 1\r\nUSING default\r\n", kStart));
  pipeline_.ask(use);
  send();
  pipeline_.abort();
  pipeline_.ask(question("peek 2"));
  EXPECT_EQ(send(), "peek 2\r\n");
}

TEST_F(PipelineTest, AServerOfAnotherKindIsNoticed) {
  pipeline_.ask(question("stats"));
  send();
  EXPECT_FALSE(pipeline_.receive("HTTP/1.1 400 Bad Request\r\n", kStart));
  EXPECT_EQ(pipeline_.malformed_bytes(), "HTTP/1.1 400 Bad Request");
}

TEST_F(PipelineTest, AServerThatSpeaksFirstIsNoticed) {
  EXPECT_FALSE(pipeline_.receive("220 mail.example.com ESMTP\r\n", kStart));
  EXPECT_TRUE(pipeline_.malformed_bytes().starts_with("220 mail"));
}

}  // namespace
}  // namespace haricot::web
