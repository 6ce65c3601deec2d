#include "tool/top/top_view.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

namespace haricot::tool {
namespace {

TopState state_of(std::size_t tubes) {
  TopState state;
  for (std::size_t i = 0; i < tubes; ++i) {
    TubeStats tube;
    tube.name = std::string("tube") + static_cast<char>('a' + i);
    tube.ready = 100 - i;
    state.sample.tubes.push_back(tube);
  }
  return state;
}

Wish press(Key key, const TopState& state, TopView& view, std::size_t page = 4) {
  return apply({key, '\0'}, state, page, view);
}

void type(std::string_view text, const TopState& state, TopView& view) {
  for (const char c : text) apply({Key::none, c}, state, 4, view);
}

std::string shown(const TopState& state, const TopView& view) {
  std::string names;
  for (const TubeStats& tube : tubes_in_view(state, view)) names += tube.name.substr(4);
  return names;
}

TEST(TopView, ColumnsGoRoundInBothDirections) {
  TopView view;
  press(Key::previous_column, {}, view);
  EXPECT_EQ(view.sort, TubeColumn::name);
  press(Key::next_column, {}, view);
  press(Key::next_column, {}, view);
  EXPECT_EQ(view.sort, TubeColumn::urgent);
  press(Key::by_name, {}, view);
  EXPECT_EQ(view.sort, TubeColumn::name);
}

TEST(TopView, TheSelectionStaysWithinTheTable) {
  const TopState state = state_of(10);
  TopView view;
  const auto row_after = [&](Key key) {
    press(key, state, view);
    settle(tubes_in_view(state, view), 4, view);
    return view.selected_row;
  };
  EXPECT_EQ(row_after(Key::up), 0U);
  EXPECT_EQ(row_after(Key::page_down), 4U);
  EXPECT_EQ(view.first_row, 1U);
  EXPECT_EQ(row_after(Key::page_down), 8U);
  EXPECT_EQ(row_after(Key::page_down), 9U);
  EXPECT_EQ(view.first_row, 6U);
  EXPECT_EQ(row_after(Key::down), 9U);
  EXPECT_EQ(row_after(Key::up), 8U);
  EXPECT_EQ(view.first_row, 6U);
  EXPECT_EQ(row_after(Key::first), 0U);
  EXPECT_EQ(view.first_row, 0U);
  EXPECT_EQ(row_after(Key::last), 9U);
}

TEST(TopView, TheSelectionGoesWithItsTube) {
  TopState state = state_of(4);
  TopView view;
  press(Key::down, state, view);
  EXPECT_EQ(view.selected, "tubeb");
  state.sample.tubes[1].ready = 500;
  settle(tubes_in_view(state, view), 4, view);
  EXPECT_EQ(view.selected_row, 0U);
  state.sample.tubes[1].ready = 0;
  settle(tubes_in_view(state, view), 4, view);
  EXPECT_EQ(view.selected_row, 3U);
  // When the tube ends, the tube in its place is selected.
  state.sample.tubes.erase(state.sample.tubes.begin() + 1);
  settle(tubes_in_view(state, view), 4, view);
  EXPECT_EQ(view.selected, "tubed");
}

TEST(TopView, TheFirstLineIsOfNoTubeUntilAKeyIsAboutIt) {
  TopState state = state_of(2);
  TopView view;
  settle(tubes_in_view(state, view), 4, view);
  EXPECT_EQ(view.selected, "");
  press(Key::pause, state, view);
  EXPECT_EQ(view.selected, "tubea");
}

TEST(TopView, AFilterIsAPartOfANameOrAPattern) {
  const TopState state = state_of(3);
  TopView view;
  press(Key::filter, state, view);
  type("ubeb", state, view);
  EXPECT_EQ(shown(state, view), "b");
  press(Key::erase, state, view);
  EXPECT_EQ(shown(state, view), "abc");
  press(Key::erase_all, state, view);
  type("*[ac]", state, view);
  EXPECT_EQ(shown(state, view), "ac");
  press(Key::enter, state, view);
  EXPECT_FALSE(view.types_filter);
  EXPECT_EQ(view.tube, "");  // This Enter has opened no tube.
  EXPECT_EQ(shown(state, view), "ac");
  press(Key::escape, state, view);
  EXPECT_EQ(shown(state, view), "abc");
}

TEST(TopView, LettersOfAFilterAreNoKeys) {
  TopView view;
  press(Key::filter, {}, view);
  EXPECT_FALSE(apply({Key::quit, 'q'}, {}, 4, view).quits);
  EXPECT_EQ(view.filter, "q");
  EXPECT_TRUE(apply({Key::quit, '\0'}, {}, 4, view).quits);  // Ctrl-C.
}

TEST(TopView, EnterShowsATubeAndEscGoesBack) {
  const TopState state = state_of(2);
  TopView view;
  view.filter = "tube";
  press(Key::down, state, view);
  EXPECT_TRUE(press(Key::enter, state, view).asks);
  EXPECT_EQ(view.tube, "tubeb");
  press(Key::up, state, view);  // The table is hidden.
  press(Key::escape, state, view);
  EXPECT_EQ(view.tube, "");
  EXPECT_EQ(view.selected, "tubeb");
  EXPECT_EQ(view.filter, "tube");
}

TEST(TopView, EnterInAnEmptyTableShowsNoTube) {
  TopView view;
  EXPECT_FALSE(press(Key::enter, {}, view).asks);
  EXPECT_EQ(view.tube, "");
}

TEST(TopView, ActsNeedLeaveAndAYes) {
  TopState state = state_of(2);
  state.sample.tubes[0].buried = 3;
  TopView view;
  press(Key::kick, state, view);
  EXPECT_FALSE(view.question);
  EXPECT_NE(view.message.find("--allow-changes"), std::string::npos);

  view.allows_changes = true;
  press(Key::kick, state, view);
  ASSERT_TRUE(view.question);
  EXPECT_FALSE(apply({Key::none, 'x'}, state, 4, view).act);
  EXPECT_FALSE(view.question);
  press(Key::kick, state, view);
  const Wish wish = apply({Key::none, 'y'}, state, 4, view);
  EXPECT_EQ(wish.act, (Act{Act::Kind::kick, "tubea", 3}));
}

TEST(TopView, AFlushNeedsAServerThatKnowsIt) {
  TopState state = state_of(1);
  TopView view;
  view.allows_changes = true;
  press(Key::flush, state, view);
  EXPECT_FALSE(view.question);
  EXPECT_EQ(view.message, "the server does not know flush-tube");
  state.abilities.flushes = true;
  press(Key::flush, state, view);
  EXPECT_TRUE(view.question);
  EXPECT_EQ(view.message, "");
}

TEST(TopView, AnActOnTheScreenOfATubeThatIsGoneAsksNothing) {
  TopView view;
  view.allows_changes = true;
  view.tube = "gone";
  press(Key::pause, state_of(2), view);
  EXPECT_FALSE(view.question);
  EXPECT_EQ(view.message, "the tube no longer exists");
}

TEST(TopView, TheIntervalHasLimits) {
  TopView view;
  press(Key::slower, {}, view);
  EXPECT_EQ(view.interval_ms, 2000U);
  for (int i = 0; i < 50; ++i) press(Key::slower, {}, view);
  EXPECT_EQ(view.interval_ms, TopView::kIntervalMsMax);
  for (int i = 0; i < 50; ++i) press(Key::faster, {}, view);
  EXPECT_EQ(view.interval_ms, TopView::kIntervalMsMin);
}

TEST(TopView, AnyKeyEndsTheHelp) {
  for (const Key key : {Key::help, Key::refresh, Key::down, Key::escape}) {
    TopView view;
    press(Key::help, {}, view);
    EXPECT_TRUE(view.shows_help);
    press(key, {}, view);
    EXPECT_FALSE(view.shows_help);
  }
}

TEST(TopView, HidingIdleTubesGoesBackToTheFirst) {
  TopView view;
  view.selected = "tubeb";
  press(Key::idle, state_of(3), view);
  EXPECT_TRUE(view.hides_idle);
  EXPECT_EQ(view.selected, "");
}

TEST(TopView, ServersGoRoundWithTheirSum) {
  TopView view;
  EXPECT_FALSE(press(Key::next_server, {}, view).asks);
  EXPECT_EQ(view.server, 0U);
  view.servers = 2;
  EXPECT_TRUE(press(Key::next_server, {}, view).asks);
  EXPECT_EQ(view.server, 1U);
  press(Key::next_server, {}, view);
  EXPECT_EQ(view.server, 2U);
  press(Key::next_server, {}, view);
  EXPECT_EQ(view.server, 0U);
}

TEST(TopView, TheSumOfServersCannotBeChanged) {
  TopState state = state_of(3);
  state.servers = 2;
  TopView view;
  view.allows_changes = true;
  press(Key::pause, state, view);
  EXPECT_FALSE(view.question);
  EXPECT_NE(view.message.find("select one with v"), std::string::npos) << view.message;
}

TEST(TopView, ConnectionsAreShownInThePlaceOfTubes) {
  TopState state = state_of(3);
  TopView view;
  view.allows_changes = true;
  EXPECT_TRUE(press(Key::clients, state, view).asks);
  EXPECT_TRUE(view.clients.is_shown);
  // Keys apply to the visible view, not to a hidden tube.
  for (const Key key : {Key::enter, Key::flush, Key::kick, Key::pause, Key::down, Key::filter}) {
    EXPECT_FALSE(press(key, state, view).act);
  }
  EXPECT_FALSE(view.question);
  EXPECT_FALSE(view.types_filter);
  EXPECT_TRUE(view.message.empty());
  EXPECT_EQ(view.tube + view.selected, "");
  press(Key::next_column, state, view);
  EXPECT_EQ(view.sort, TubeColumn::ready);
  EXPECT_EQ(view.clients.sort, 3U);
  press(Key::slower, state, view);
  EXPECT_EQ(view.interval_ms, 2000U);
  EXPECT_FALSE(press(Key::clients, state, view).asks);
  EXPECT_FALSE(view.clients.is_shown);
}

TEST(TopView, EscGoesBackFromTheConnectionsToTheTube) {
  const TopState state = state_of(3);
  TopView view;
  press(Key::enter, state, view);
  press(Key::clients, state, view);
  press(Key::escape, state, view);
  EXPECT_FALSE(view.clients.is_shown);
  EXPECT_EQ(view.tube, "tubea");
}

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
