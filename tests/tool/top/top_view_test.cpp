#include "tool/top/top_view.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace haricot::tool {
namespace {

using Keys = std::vector<Key>;

Keys read(std::string_view bytes) {
  return KeyReader().read(bytes);
}

TEST(KeyReader, LettersAreKeys) {
  EXPECT_EQ(read("q>r"), (Keys{Key::quit, Key::next_column, Key::reverse}));
  EXPECT_EQ(read("xyz7"), Keys{});
}

TEST(KeyReader, ArrowsComeInBothForms) {
  EXPECT_EQ(read("\x1b[A\x1bOB"), (Keys{Key::up, Key::down}));
  EXPECT_EQ(read("\x1b[5~\x1b[6~\x1b[H\x1b[4~"),
            (Keys{Key::page_up, Key::page_down, Key::first, Key::last}));
}

TEST(KeyReader, ASequenceMayComeInPieces) {
  KeyReader reader;
  EXPECT_EQ(reader.read("\x1b"), Keys{});
  EXPECT_EQ(reader.read("["), Keys{});
  EXPECT_EQ(reader.read("Aq"), (Keys{Key::up, Key::quit}));
}

TEST(KeyReader, TheBytesOfAnUnknownSequenceAreNoKeys) {
  EXPECT_EQ(read("\x1b[1;5q"), Keys{});
  EXPECT_EQ(read("\x1bq"), Keys{});
  EXPECT_EQ(read("\x1b[24~j"), Keys{Key::down});
}

TEST(KeyReader, ASequenceWithoutEndIsGivenUp) {
  EXPECT_EQ(read("\x1b[0000000000000000q"), Keys{Key::quit});
}

TEST(TopView, ColumnsGoRoundInBothDirections) {
  TopView view;
  apply(Key::previous_column, 10, 5, view);
  EXPECT_EQ(view.sort, TubeColumn::name);
  apply(Key::next_column, 10, 5, view);
  apply(Key::next_column, 10, 5, view);
  EXPECT_EQ(view.sort, TubeColumn::urgent);
  apply(Key::by_name, 10, 5, view);
  EXPECT_EQ(view.sort, TubeColumn::name);
}

TEST(TopView, ScrollingStaysWithinTheTable) {
  TopView view;
  apply(Key::up, 10, 4, view);
  EXPECT_EQ(view.first_row, 0U);
  apply(Key::page_down, 10, 4, view);
  EXPECT_EQ(view.first_row, 4U);
  apply(Key::page_down, 10, 4, view);
  EXPECT_EQ(view.first_row, 6U);
  apply(Key::down, 10, 4, view);
  EXPECT_EQ(view.first_row, 6U);
  apply(Key::page_up, 10, 4, view);
  EXPECT_EQ(view.first_row, 2U);
  apply(Key::page_up, 10, 4, view);
  EXPECT_EQ(view.first_row, 0U);
  apply(Key::last, 10, 4, view);
  EXPECT_EQ(view.first_row, 6U);
  apply(Key::first, 10, 4, view);
  EXPECT_EQ(view.first_row, 0U);
  apply(Key::last, 3, 4, view);
  EXPECT_EQ(view.first_row, 0U);
}

TEST(TopView, TheIntervalHasLimits) {
  TopView view;
  apply(Key::slower, 0, 0, view);
  EXPECT_EQ(view.interval_ms, 2000U);
  for (int i = 0; i < 50; ++i) apply(Key::slower, 0, 0, view);
  EXPECT_EQ(view.interval_ms, TopView::kIntervalMsMax);
  for (int i = 0; i < 50; ++i) apply(Key::faster, 0, 0, view);
  EXPECT_EQ(view.interval_ms, TopView::kIntervalMsMin);
}

TEST(TopView, AnyKeyEndsTheHelp) {
  for (const Key key : {Key::help, Key::refresh, Key::down}) {
    TopView view;
    apply(Key::help, 0, 0, view);
    EXPECT_TRUE(view.shows_help);
    apply(key, 0, 0, view);
    EXPECT_FALSE(view.shows_help);
  }
}

TEST(TopView, HidingIdleTubesGoesBackToTheFirst) {
  TopView view;
  view.first_row = 5;
  apply(Key::idle, 10, 2, view);
  EXPECT_TRUE(view.hides_idle);
  EXPECT_EQ(view.first_row, 0U);
}

}  // namespace
}  // namespace haricot::tool
