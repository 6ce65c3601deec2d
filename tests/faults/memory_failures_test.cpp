// Every allocation fails once, alone or with all others until its step is over, in a scenario with
// every command. The server does not end, leak, or contradict its answers.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "failing_memory.hpp"
#include "haricot/base/memory.hpp"
#include "haricot/protocol/command.hpp"
#include "scenario.hpp"
#include "trial.hpp"

namespace haricot::faults {
namespace {

struct MemoryCase {
  const char* name;
  Keeping keeping;
  bool lasts;
};

void PrintTo(const MemoryCase& of, std::ostream* out) {
  *out << of.name;
}

class MemoryFailures : public ::testing::TestWithParam<MemoryCase> {};

TEST_P(MemoryFailures, ChangeNothingThatWasNotAnswered) {
  constexpr std::uint64_t kAllocationsMax = 20'000;
  const std::vector<Step> steps = every_command();
  Trial unharmed(GetParam().keeping, {});  // Makes the objects that are only made once.
  unharmed.run(steps);
  const History history = std::move(unharmed).history();
  std::uint64_t nth = 0;
  std::uint64_t refused = 0;
  bool was_hit = true;
  for (nth = 1; was_hit && nth < kAllocationsMax && !HasFailure(); nth += kStride) {
    Memory::give_all_back();
    const std::int64_t held = live_allocations();
    {
      const Trouble trouble{.nth_allocation = nth, .lasts = GetParam().lasts};
      Trial trial(GetParam().keeping, trouble, &history);
      trial.run(steps);
      was_hit = trial.was_hit();
      refused += trial.refused_for_memory();
    }
    if (HasFailure()) break;
    Memory::give_all_back();  // Memory that is kept for later is not a leak.
    EXPECT_EQ(live_allocations(), held) << "a leak, at allocation " << nth;
  }
  EXPECT_GT(nth, 200U);
  EXPECT_LT(nth, kAllocationsMax);
  // An answer needs memory, too: without any until the end of the step, the connection ends.
  if (!GetParam().lasts) {
    EXPECT_GT(refused * kStride, 50U);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, MemoryFailures,
    ::testing::Values(MemoryCase{"OnceInMemory", Keeping::nothing, false},
                      MemoryCase{"LastingInMemory", Keeping::nothing, true},
                      MemoryCase{"OnceWithBinlog", Keeping::every_turn, false},
                      MemoryCase{"LastingWithBinlog", Keeping::every_turn, true},
                      MemoryCase{"OnceWithSlowSyncs", Keeping::every_turn_slowly, false},
                      MemoryCase{"OnceWithBinlogByInterval", Keeping::interval, false},
                      MemoryCase{"LastingWithBinlogWithoutSyncs", Keeping::never, true}),
    [](const auto& of) { return std::string(of.param.name); });

TEST(Scenario, HasEveryCommand) {
  std::set<Verb> seen;
  for (const Step& step : every_command()) {
    Command command;
    if (parse_command(step.line, command) == ParseResult::ok) seen.insert(command.verb);
  }
  EXPECT_EQ(seen.size(), kVerbs);
}

TEST(Scenario, LeavesKeysBehindAndEndsHolds) {
  for (const Keeping keeping : {Keeping::nothing, Keeping::every_turn}) {
    Trial trial(keeping, {});
    trial.run(every_command());
    EXPECT_EQ(trial.keys_left(), 3U);
    EXPECT_EQ(trial.holds_ended(), 4U);
  }
}

TEST(FailingMemory, SeesEveryWayToAskForIt) {
  plan_memory({});
  const std::int64_t held = live_allocations();
  {
    const UnderTest under_test;
    const BlobRef by_malloc = BlobRef::allocate(10);
    int* volatile by_new = new int(1);
    delete by_new;
  }
  EXPECT_EQ(allocations_asked(), 2U);
  EXPECT_EQ(mallocs_asked(), 1U);
  EXPECT_EQ(live_allocations(), held);
  plan_memory({1, 1});
  {
    const UnderTest under_test;
    EXPECT_FALSE(BlobRef::allocate(10));
  }
  EXPECT_EQ(allocations_failed(), 1U);
  calm_memory();
}

}  // namespace
}  // namespace haricot::faults
