// In the steady state no command allocates for itself, because it reuses the memory of earlier
// jobs. Only shared structures grow: a leaf of the index for 64 ids, and the first page of a heap
// that was empty. In haricotd slabs serve these without a call of malloc.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "haricot/base/memory.hpp"
#include "haricot/queue/journal.hpp"
#include "haricot/service/service.hpp"
#include "support/allocations.hpp"
#include "support/command_turns.hpp"

namespace haricot {
namespace {

using test::CommandLoad;
using test::CommandScript;
using test::made_allocations;
using test::play_turns;

constexpr std::size_t kCommands = 96'000;
constexpr std::int64_t kAllocationsMax = kCommands / 12;

class SteadyState : public testing::TestWithParam<std::size_t> {
 protected:
  // Returns the number of calls of operator new in kCommands commands.
  std::int64_t allocations(bool has_keys) {
    const Instant start = Instant::at(1'000'000'000'000);
    const ServerInfo info;
    NoJournal journal;
    Service service(info, journal, start);
    Session* const session = service.open(nullptr);
    CommandLoad load{service, *session, start};
    CommandScript script(GetParam(), has_keys);
    play_turns(load, script.turns(kCommands / 4));
    const std::vector<std::string> counted = script.turns(kCommands);
    const std::int64_t before = made_allocations();
    play_turns(load, counted);
    const std::int64_t made = made_allocations() - before;
    EXPECT_EQ(load.answer_bytes, script.answer_bytes());
    service.close(*session, load.now);
    return made;
  }
};

TEST_P(SteadyState, NoCommandAllocates) {
  EXPECT_LE(allocations(false), kAllocationsMax);
}

TEST_P(SteadyState, NoCommandOfAJobWithAKeyAllocates) {
  EXPECT_LE(allocations(true), kAllocationsMax);
}

INSTANTIATE_TEST_SUITE_P(InBatchesOf, SteadyState, testing::Values(1, 64, 500),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace haricot
