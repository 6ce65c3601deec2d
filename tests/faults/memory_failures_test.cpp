#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <new>
#include <set>
#include <string>
#include <utility>

#include "failing_memory.hpp"
#include "fuzz/state_play.hpp"
#include "haricot/base/memory.hpp"
#include "haricot/protocol/command.hpp"
#include "haricot/queue/journal.hpp"
#include "haricot/service/service.hpp"
#include "haricot/service/service_serializer.hpp"
#include "scenario.hpp"
#include "trial.hpp"

namespace haricot::faults {
namespace {

// Every allocation fails once, alone or with all others until its step is over, in a scenario with
// every command. The server does not end, leak, or contradict its answers.

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
    EXPECT_EQ(trial.holds_ended(), 5U);
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

// Every allocation fails once, alone or with all later ones, while a server writes its state and
// while the next one reads it.

constexpr std::uint64_t kAllocationsMax = 20'000;
constexpr std::uint64_t kAllLater = ~std::uint64_t{0};

// Returns the state of a server with all kinds of data, with a checksum.
std::string known_state() {
  std::string state = fuzz::known_state(false);
  return state += "----";
}

class Reading {
 public:
  using Read = ServiceSerializer::Read;

  Read read(const std::string& state) {
    StateReader reader(state);
    ServiceSerializer serializer = service_.serializer();
    try {
      if (serializer.read_queue(reader) != Read::good) return Read::broken;
      for (std::uint32_t i = 0; i < serializer.sessions(); ++i) {
        Session* session = nullptr;
        if (!serializer.read_session(reader, &owners_.at(i), false, now_, session)) {
          return Read::broken;
        }
        ++sessions_;
      }
      return serializer.finish(reader, now_) ? Read::good : Read::broken;
    } catch (const std::bad_alloc&) {
      return Read::broken;
    }
  }
  // An owner whose session was not read is gone: no session may refer to it.
  void expect_no_session_without_owner() {
    Session* session = service_.first_session();
    for (; session != nullptr; session = service_.session_after(*session)) {
      EXPECT_LT(static_cast<char*>(session->owner()), owners_.data() + sessions_);
    }
  }
  Service& service() { return service_; }

 private:
  Instant now_ = Instant::at(3'000'000'000);
  ServerInfo info_;
  NoJournal no_journal_;
  Service service_{info_, no_journal_, now_};
  std::array<char, 100> owners_{};
  std::size_t sessions_ = 0;
};

class SerializerMemory : public ::testing::TestWithParam<bool> {};

TEST_P(SerializerMemory, OfTheReader) {
  const std::string state = known_state();
  std::uint64_t nth = 1;
  for (bool was_hit = true; was_hit && nth < kAllocationsMax && !HasFailure(); ++nth) {
    SCOPED_TRACE("allocation " + std::to_string(nth));
    Memory::give_all_back();
    const std::int64_t held = live_allocations();
    {
      Reading reading;
      plan_memory({nth, GetParam() ? kAllLater : nth});
      ServiceSerializer::Read read;
      {
        const UnderTest under_test;
        read = reading.read(state);
      }
      was_hit = allocations_failed() > 0;
      calm_memory();
      if (!was_hit) {
        EXPECT_EQ(read, ServiceSerializer::Read::good);
      }
      reading.expect_no_session_without_owner();
      if (read == ServiceSerializer::Read::good) reading.service().engine().check_invariants();
    }
    Memory::give_all_back();
    EXPECT_EQ(live_allocations(), held) << "a leak";
  }
  EXPECT_GT(nth, 50U);
  EXPECT_LT(nth, kAllocationsMax);
}

TEST_P(SerializerMemory, OfTheWriter) {
  const auto count = [](void* bytes, std::string_view more) {
    *static_cast<std::size_t*>(bytes) += more.size();
    return true;
  };
  const std::string state = known_state();
  Reading reading;
  ASSERT_EQ(reading.read(state), ServiceSerializer::Read::good);
  std::uint64_t nth = 1;
  for (bool was_hit = true; was_hit && nth < kAllocationsMax && !HasFailure(); ++nth) {
    SCOPED_TRACE("allocation " + std::to_string(nth));
    const std::int64_t held = live_allocations();
    std::size_t bytes = 0;
    plan_memory({nth, GetParam() ? kAllLater : nth});
    bool is_written = false;
    try {
      const UnderTest under_test;
      StateWriter writer({count, &bytes});
      reading.service().serializer().write(writer, Bodies::in_state);
      is_written = writer.end();
    } catch (const std::bad_alloc&) {
    }
    was_hit = allocations_failed() > 0;
    calm_memory();
    EXPECT_EQ(is_written, !was_hit);
    if (is_written) {
      EXPECT_EQ(bytes, state.size());
    }
    EXPECT_EQ(live_allocations(), held) << "a leak";
    reading.service().engine().check_invariants();
  }
  EXPECT_GT(nth, 2U);
  EXPECT_LT(nth, kAllocationsMax);
}

INSTANTIATE_TEST_SUITE_P(Of, SerializerMemory, ::testing::Bool(), [](const auto& of) {
  return of.param ? std::string("Lasting") : std::string("Once");
});

}  // namespace
}  // namespace haricot::faults
