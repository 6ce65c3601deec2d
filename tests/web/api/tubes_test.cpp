#include "web/api/tubes.hpp"

#include <gtest/gtest.h>

#include <string>

namespace haricot::web {
namespace {

class TubePageTest : public ::testing::Test {
 protected:
  TubePageTest() : sample_(std::make_shared<TubeSample>(HashKey{1, 2})) {
    add("mail", 5, 1.5);
    add("Video", 5, std::nullopt);
    add("work", 9, 0);
    add("audio", 0, 20);
  }

  void add(const std::string& name, std::uint64_t ready, std::optional<double> rate) {
    TubeRow row;
    row.name = name;
    row[TubeField::ready] = ready;
    row.put_rate = rate;
    sample_->rows.add(row);
  }
  std::string names(TubeQuery query) {
    TubePage page(sample_, std::move(query));
    while (page.read(1)) {
    }
    std::string text;
    for (const std::uint32_t index : page.tubes()) {
      text += std::string(sample_->rows.name_at(index)) + " ";
    }
    sums_ = page.sums_json();
    return text + "of " + std::to_string(page.matching());
  }

  std::shared_ptr<TubeSample> sample_;
  std::string sums_;
};

TEST_F(TubePageTest, NamesGoFromAToZAndNumbersDown) {
  EXPECT_EQ(names({.count = 10}), "Video audio mail work of 4");
  EXPECT_EQ(names({.is_reversed = true, .count = 10}), "work mail audio Video of 4");
  EXPECT_EQ(names({.order = TubeOrder::ready, .count = 10}), "work Video mail audio of 4");
  EXPECT_EQ(names({.order = TubeOrder::ready, .is_reversed = true, .count = 10}),
            "audio mail Video work of 4");
  EXPECT_EQ(names({.order = TubeOrder::put_rate, .count = 10}), "audio mail work Video of 4");
}

TEST_F(TubePageTest, APageIsAPartOfTheWhole) {
  EXPECT_EQ(names({.from = 1, .count = 2}), "audio mail of 4");
  EXPECT_EQ(names({.from = 3, .count = 2}), "work of 4");
  EXPECT_EQ(names({.from = 4, .count = 2}), "of 4");
  EXPECT_EQ(names({.from = 400, .count = 2}), "of 4");
  EXPECT_EQ(names({.count = 0}), "of 4");
}

TEST_F(TubePageTest, AFilterKnowsNoCase) {
  EXPECT_EQ(names({.filter = "DIO", .count = 10}), "audio of 1");
  EXPECT_EQ(names({.filter = "viDEO", .count = 10}), "Video of 1");
  EXPECT_NE(sums_.find("\"ready\":5,"), std::string::npos) << sums_;
  EXPECT_EQ(names({.filter = "nothing", .count = 10}), "of 0");
}

TEST_F(TubePageTest, SumsAreThoseOfAllThatMatch) {
  names({.from = 3, .count = 1});
  EXPECT_NE(sums_.find("\"ready\":19,"), std::string::npos) << sums_;
  EXPECT_NE(sums_.find("\"put_rate\":21.500"), std::string::npos) << sums_;
}

TEST(History, AsJsonHasOneNumberForEachPoint) {
  Track track;
  Point point;
  point.ready = 4;
  track.add(100, point, {});
  track.add(102, point, {.at = Instant::at(0) + Duration::seconds(30), .puts = 60});
  EXPECT_EQ(history_json(&track, false, HistoryRange::hour, 103, 5),
            "{\"step_seconds\":15,\"end\":5.000,\"points\":4,\"ready\":[4,null,4,null],"
            "\"urgent\":[0,null,0,null],\"reserved\":[0,null,0,null],"
            "\"delayed\":[0,null,0,null],\"buried\":[0,null,0,null],\"waiting\":[0,null,0,null],"
            "\"put_rate\":[null,null,2.000,null],\"delete_rate\":[null,null,0.000,null],"
            "\"timeout_rate\":[null,null,0.000,null]}");
  const std::string nothing = history_json(nullptr, true, HistoryRange::hour, 103, 5);
  EXPECT_NE(nothing.find("\"points\":0,\"ready\":[],"), std::string::npos) << nothing;
}

}  // namespace
}  // namespace haricot::web
