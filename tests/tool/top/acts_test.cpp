#include "tool/top/acts.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

namespace haricot::tool {
namespace {

TubeStats mail_with(std::uint64_t buried, std::uint64_t delayed) {
  TubeStats tube;
  tube.name = "mail";
  tube.buried = buried;
  tube.delayed = delayed;
  return tube;
}

Question asked(Act::Kind kind, const TubeStats& tube) {
  std::string reason;
  return *Question::ask(kind, tube, reason);
}

Question::Answer answer(Question& question, std::string_view typed) {
  Question::Answer last = Question::Answer::open;
  for (const Keystroke& stroke : KeyReader().read(typed)) last = question.take(stroke);
  return last;
}

TEST(Question, AKickIsOfBuriedJobsFirst) {
  Question question = asked(Act::Kind::kick, mail_with(1200, 7));
  EXPECT_EQ(question.text(), "Make 1,200 buried jobs of tube mail ready? [y/N] ");
  EXPECT_EQ(answer(question, "y"), Question::Answer::yes);
  EXPECT_EQ(question.act(), (Act{Act::Kind::kick, "mail", 1200}));
  EXPECT_EQ(asked(Act::Kind::kick, mail_with(0, 1)).text(),
            "Make 1 delayed job of tube mail ready? [y/N] ");
}

TEST(Question, NothingToDoIsNoQuestion) {
  for (const Act::Kind kind : {Act::Kind::kick, Act::Kind::flush}) {
    std::string reason;
    EXPECT_FALSE(Question::ask(kind, mail_with(0, 0), reason));
    EXPECT_TRUE(reason.starts_with("tube mail has no ")) << reason;
  }
}

TEST(Question, OnlyAYIsAYes) {
  for (const std::string_view typed : {"n", "\r", "q", " ", "1"}) {
    Question question = asked(Act::Kind::flush, mail_with(1, 0));
    EXPECT_EQ(answer(question, typed), Question::Answer::no) << typed;
  }
  Question question = asked(Act::Kind::flush, mail_with(1, 0));
  EXPECT_EQ(answer(question, "Y"), Question::Answer::yes);
}

TEST(Question, APauseWantsATime) {
  const struct {
    std::string_view typed;
    std::optional<std::uint64_t> seconds;
  } cases[] = {{"60\r", 60},
               {"0\r", 0},
               {"5m\r", 300},
               {"1h30m\r", 5400},
               {"2.5\r", 3},
               {"250ms\r", 1},
               {"5x\x7f\r", 5},
               {"5x\r", std::nullopt},
               {"soon\r", std::nullopt},
               {"9\x15"
                "8\r",
                8},
               {"4294967295\r", 4294967295},
               {"4294967296\r", std::nullopt},
               {"\r", std::nullopt}};
  for (const auto& each : cases) {
    Question question = asked(Act::Kind::pause, mail_with(0, 0));
    const Question::Answer wanted = each.seconds ? Question::Answer::yes : Question::Answer::no;
    EXPECT_EQ(answer(question, each.typed), wanted) << each.typed;
    if (each.seconds) {
      EXPECT_EQ(question.act(), (Act{Act::Kind::pause, "mail", *each.seconds}));
    }
  }
}

TEST(Question, EscEndsIt) {
  Question question = asked(Act::Kind::pause, mail_with(0, 0));
  EXPECT_EQ(answer(question, "12"), Question::Answer::open);
  EXPECT_TRUE(question.text().ends_with("? 12"));
  EXPECT_EQ(question.take({Key::escape, '\0'}), Question::Answer::no);
}

}  // namespace
}  // namespace haricot::tool
