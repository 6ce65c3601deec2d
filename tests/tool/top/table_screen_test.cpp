#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tool/top/screens.hpp"

namespace haricot::tool {
namespace {

std::vector<TubeStats> tubes_called(const std::vector<std::string>& names) {
  std::vector<TubeStats> tubes;
  for (const std::string& name : names) tubes.emplace_back().name = name;
  return tubes;
}

bool has(const TableLayout& layout, TubeColumn column) {
  return std::find(layout.numbers.begin(), layout.numbers.end(), column) != layout.numbers.end();
}

TEST(TopTable, EveryLineIsAsWideAsTheScreen) {
  std::vector<TubeStats> tubes = tubes_called({"a", std::string(200, 'x'), "b\x1b"});
  tubes[0].put_rate = tubes[0].delete_rate = 1e17;
  for (std::size_t columns = 1; columns <= 400; ++columns) {
    const TableLayout layout = layout_of(tubes, TubeColumn::ready, columns);
    EXPECT_EQ(table_header(layout).columns(), columns);
    for (const TubeStats& tube : tubes) {
      const ScreenLine line = table_row(layout, tube, {Mark::buried, Mark::paused}, true);
      ASSERT_EQ(line.columns(), columns);
    }
  }
}

TEST(TopTable, NumbersLeaveOneByOneAndNoneComesBack) {
  const std::vector<TubeStats> tubes = tubes_called({"a-name-of-20-columns"});
  std::size_t before = kTubeColumns - 1;
  for (std::size_t columns = 200; columns > 0; --columns) {
    const TableLayout layout = layout_of(tubes, TubeColumn::ready, columns);
    EXPECT_LE(layout.numbers.size(), before);
    EXPECT_GE(layout.numbers.size() + 1, before);
    before = layout.numbers.size();
    // The name is complete if there is a column of numbers.
    EXPECT_TRUE(layout.numbers.empty() || layout.name_columns == 20) << columns;
  }
  EXPECT_EQ(before, 0U);
}

TEST(TopTable, TheColumnThatSortsLeavesLast) {
  const std::vector<TubeStats> tubes = tubes_called({"a-name-of-20-columns"});
  const TableLayout layout = layout_of(tubes, TubeColumn::urgent, 36);
  EXPECT_EQ(layout.numbers, std::vector<TubeColumn>{TubeColumn::urgent});
  EXPECT_TRUE(has(layout_of(tubes, TubeColumn::name, 36), TubeColumn::ready));
}

TEST(TopTable, ALongNameIsCutOnlyForNumbersAndInItsMiddle) {
  const std::vector<TubeStats> tubes = tubes_called({std::string(100, 'x') + "end"});
  const TableLayout narrow = layout_of(tubes, TubeColumn::ready, 80);
  EXPECT_GE(narrow.name_columns, 40U);
  EXPECT_GE(narrow.numbers.size(), 4U);
  const std::string text = table_row(narrow, tubes[0], {}, false).text();
  EXPECT_NE(text.find("x..x"), std::string::npos) << text;
  EXPECT_NE(text.find("xend "), std::string::npos) << text;
  EXPECT_EQ(layout_of(tubes, TubeColumn::ready, 250).name_columns, 103U);
}

TEST(TopTable, AWideScreenHasTheRatesHoweverLongANameIs) {
  const std::vector<TubeStats> tubes = tubes_called({std::string(100, 'x') + "end"});
  for (const TubeColumn sort : {TubeColumn::ready, TubeColumn::name, TubeColumn::urgent}) {
    for (std::size_t columns = 120; columns <= 200; ++columns) {
      const TableLayout layout = layout_of(tubes, sort, columns);
      EXPECT_TRUE(has(layout, TubeColumn::put_rate)) << columns;
      EXPECT_TRUE(has(layout, TubeColumn::delete_rate)) << columns;
      EXPECT_GE(layout.name_columns, 40U);
    }
  }
}

TEST(TopTable, MarksAreLettersAndWordsIfThereIsRoom) {
  const std::vector<TubeStats> tubes = tubes_called({"mail"});
  const std::vector<Mark> marks = {Mark::no_worker, Mark::paused};
  const TableLayout narrow = layout_of(tubes, TubeColumn::ready, 60);
  const std::string letters = table_row(narrow, tubes[0], marks, false).text();
  EXPECT_TRUE(letters.starts_with(" mail N  P")) << letters;
  const TableLayout wide = layout_of(tubes, TubeColumn::ready, 200);
  const std::string words = table_row(wide, tubes[0], marks, true).text();
  EXPECT_TRUE(words.starts_with(">mail      ")) << words;
  EXPECT_NE(words.find(" no worker, paused "), std::string::npos) << words;
}

TEST(TopTable, NumbersAreGroupedAndToned) {
  std::vector<TubeStats> tubes = tubes_called({"mail"});
  tubes[0].ready = 59207;
  tubes[0].put_rate = 1290000;
  const TableLayout layout = layout_of(tubes, TubeColumn::ready, 120);
  const ScreenLine plain = table_row(layout, tubes[0], {}, false);
  EXPECT_NE(plain.text().find(" 59,207 "), std::string::npos);
  EXPECT_NE(plain.text().find(" 1.2M "), std::string::npos);
  EXPECT_FALSE(plain.has(Tone::alarm));
  for (const Tone tone : {Tone::alarm, Tone::warning}) {
    const Mark mark = tone == Tone::alarm ? Mark::no_worker : Mark::growing;
    const ScreenLine line = table_row(layout, tubes[0], {mark}, false);
    const auto& pieces = line.pieces();
    EXPECT_TRUE(std::any_of(pieces.begin(), pieces.end(), [tone](const ScreenLine::Piece& piece) {
      return piece.text == "59,207" && piece.tone == tone;
    }));
  }
}

using Marks = std::vector<Mark>;

TubeStats waiting_jobs(const std::string& name, std::uint64_t watching) {
  TubeStats tube;
  tube.name = name;
  tube.ready = 1;
  tube.watching = watching;
  return tube;
}

TEST(TubeMarks, RowsStandInTheOrderOfTheMarks) {
  for (std::size_t i = 0; i < kMarks.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(kMarks[i].mark), i);
  }
}

TEST(TubeMarks, JobsWithoutAWorkerAreMarked) {
  EXPECT_EQ(marks_of(waiting_jobs("mail", 0), {}), Marks{Mark::no_worker});
  EXPECT_EQ(marks_of(waiting_jobs("mail", 1), {}), Marks{});
  // This program watches the tube, too.
  EXPECT_EQ(marks_of(waiting_jobs("default", 1), {}), Marks{Mark::no_worker});
  EXPECT_EQ(marks_of(waiting_jobs("default", 2), {}), Marks{});
}

TEST(TubeMarks, ATubeHasAWorkerIfAJobIsHeldOrNothingIsKnown) {
  TubeStats held = waiting_jobs("mail", 0);
  held.reserved = 1;
  EXPECT_EQ(marks_of(held, {}), Marks{});
  TubeStats unknown = waiting_jobs("mail", 0);
  unknown.watching.reset();
  EXPECT_EQ(marks_of(unknown, {}), Marks{});
  TubeStats empty = waiting_jobs("mail", 0);
  empty.ready = 0;
  EXPECT_EQ(marks_of(empty, {}), Marks{});
}

TEST(TubeMarks, ATubeMayHaveAllMarks) {
  TubeStats tube = waiting_jobs("mail", 0);
  tube.buried = tube.paused_s = 1;
  History history;
  for (std::uint64_t i = 1; i <= 4; ++i) {
    Sample sample;
    tube.ready = i;
    sample.tubes.push_back(tube);
    history.add(sample);
  }
  EXPECT_EQ(marks_of(tube, history),
            (Marks{Mark::no_worker, Mark::buried, Mark::growing, Mark::paused}));
}

}  // namespace
}  // namespace haricot::tool
