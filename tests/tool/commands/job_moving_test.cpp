#include "tool/commands/job_moving.hpp"

#include <gtest/gtest.h>

#include <string>

namespace haricot::tool {
namespace {

StatsText job(const std::string& state, const std::string& counters) {
  return *StatsText::parse("---\nid: 7\nstate: " + state + "\n" + counters);
}

constexpr const char* kNone = "reserves: 0\ntimeouts: 0\nreleases: 0\nburies: 1\nkicks: 0\n";
constexpr const char* kReserved = "reserves: 1\ntimeouts: 0\nreleases: 0\nburies: 1\nkicks: 0\n";

TEST(PlaceAtReserve, IsWhatItWasIfNobodyCameBetween) {
  for (const Place place : kPlaces) {
    EXPECT_EQ(place_at_reserve(job(std::string(name_of(place)), kNone), job("reserved", kReserved)),
              place);
  }
}

TEST(PlaceAtReserve, IsReadyAfterAKick) {
  EXPECT_EQ(place_at_reserve(
                job("buried", kNone),
                job("reserved", "reserves: 1\ntimeouts: 0\nreleases: 0\nburies: 1\nkicks: 1\n")),
            Place::ready);
}

TEST(PlaceAtReserve, IsNotKnownIfAWorkerHadTheJob) {
  for (const char* after : {"reserves: 2\ntimeouts: 0\nreleases: 1\nburies: 1\nkicks: 0\n",
                            "reserves: 2\ntimeouts: 0\nreleases: 0\nburies: 2\nkicks: 0\n",
                            "reserves: 2\ntimeouts: 1\nreleases: 0\nburies: 1\nkicks: 0\n"}) {
    EXPECT_EQ(place_at_reserve(job("ready", kNone), job("reserved", after)), std::nullopt) << after;
  }
  EXPECT_EQ(place_at_reserve(StatsText{}, job("reserved", kReserved)), std::nullopt);
}

TEST(RemainingDelay, IsNeverTooShortNorTooLong) {
  EXPECT_EQ(remaining_delay_s(0), 1U);
  EXPECT_EQ(remaining_delay_s(99), 100U);
  EXPECT_EQ(remaining_delay_s(4294967295), 4294967295U);
}

}  // namespace
}  // namespace haricot::tool
