// Every call to the disk fails, in a scenario with every command: all answers to clients remain
// true, and the server continues.

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "scenario.hpp"
#include "trial.hpp"

namespace haricot::faults {
namespace {

using binlog::DiskStatus;
using binlog::Fault;

struct DiskCase {
  const char* name;
  Keeping keeping;
  Fault fault;
  bool lasts;
};

void PrintTo(const DiskCase& of, std::ostream* out) {
  *out << of.name;
}

class DiskFailures : public ::testing::TestWithParam<DiskCase> {};

TEST_P(DiskFailures, ChangeNothingThatWasNotAnswered) {
  constexpr std::uint64_t kCallsMax = 5000;
  const std::vector<Step> steps = every_command();
  Trial unharmed(GetParam().keeping, {});
  unharmed.run(steps);
  const History history = std::move(unharmed).history();
  std::uint64_t nth = 0;
  bool was_hit = true;
  for (nth = 1; was_hit && nth < kCallsMax && !HasFailure(); nth += kStride) {
    Fault fault = GetParam().fault;
    fault.nth = nth;
    const Trouble trouble{.disk_fault = fault, .lasts = GetParam().lasts};
    Trial trial(GetParam().keeping, trouble, &history);
    trial.run(steps);
    was_hit = trial.was_hit();
  }
  EXPECT_GT(nth, 100U);
  EXPECT_LT(nth, kCallsMax);
}

constexpr DiskStatus kFull = DiskStatus::full;

INSTANTIATE_TEST_SUITE_P(
    Of, DiskFailures,
    ::testing::Values(
        DiskCase{"OneCall", Keeping::every_turn, {}, false},
        DiskCase{"OneCallFull", Keeping::every_turn, {.status = kFull}, false},
        DiskCase{"OneCallThatTookEffect", Keeping::every_turn, {.takes_effect = true}, false},
        DiskCase{"OneCallDoneByHalf", Keeping::every_turn, {.bytes_written = 7}, false},
        DiskCase{"OneCallWithSlowSyncs", Keeping::every_turn_slowly, {}, false},
        DiskCase{"OneCallByInterval", Keeping::interval, {}, false},
        DiskCase{"OneCallWithoutSyncs", Keeping::never, {}, false},
        DiskCase{"AllCallsOfAStep", Keeping::every_turn, {}, true},
        DiskCase{"AllCallsOfAStepFull", Keeping::interval, {.status = kFull}, true}),
    [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace haricot::faults
