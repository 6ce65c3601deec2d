// A restart while the wall clock is far ahead: held jobs have a deadline a hundred years later,
// which may be beyond the last time that there is.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "failing_calls.hpp"
#include "support/hand_over_fixture.hpp"

namespace haricot::test {
namespace {

struct Year {
  int number;
  const char* begin;  // In seconds since 1970.
};
constexpr Year kYears[] = {{2200, "7258118400"}, {2255, "8993721600"}};

enum class Way : std::uint8_t { manager, socket, kill };
constexpr const char* kWayNames[] = {"Manager", "Socket", "Kill"};

class LateClock : public HandOverTest,
                  public ::testing::WithParamInterface<std::tuple<Year, Way, bool>> {
 protected:
  static Way way() { return std::get<Way>(GetParam()); }
  static bool has_folder() { return std::get<bool>(GetParam()); }
  std::string path() const { return folder_.file("next"); }

  // The manager passes each of them to the next server as well.
  void set_clock() {
    const char* known = std::getenv("ASAN_OPTIONS");
    environment_ = {
        std::string(faults::kWallClockSeconds) + "=" + std::get<Year>(GetParam()).begin,
        std::string("LD_PRELOAD=") + HARICOT_FAILING_CALLS_LIBRARY,
        std::string("ASAN_OPTIONS=verify_asan_link_order=0:") + (known == nullptr ? "" : known)};
  }
  void replace() {
    if (way() == Way::manager) return restart();
    if (way() == Way::kill) {
      server_.kill_hard();
      manager_.catch_up();
      return start_again();
    }
    ServerOptions options = at_address(address_);
    options.arguments.push_back("--take-over=" + path());
    ASSERT_TRUE(next_.launch(options));
    ASSERT_EQ(server_.wait_exit(), kGood) << next_.standard_error();
  }

  ServerProcess next_;
};

INSTANTIATE_TEST_SUITE_P(Of, LateClock,
                         ::testing::Combine(::testing::ValuesIn(kYears),
                                            ::testing::Values(Way::manager, Way::socket, Way::kill),
                                            ::testing::Bool()),
                         [](const auto& of) {
                           return "In" + std::to_string(std::get<Year>(of.param).number) + "By" +
                                  kWayNames[static_cast<int>(std::get<Way>(of.param))] +
                                  (std::get<bool>(of.param) ? "WithAFolder" : "InMemory");
                         });

TEST_P(LateClock, HeldJobsStayHeldUntilTheirGroupEnds) {
  if (way() == Way::kill && !has_folder()) return;
  set_clock();
  std::vector<std::string> flags = {"--take-over-socket=" + path()};
  if (has_folder()) flags.insert(flags.end(), {"-b", folder_.path(), "-f", "0"});
  start_first(flags);
  Client client = connect();
  ASSERT_EQ(client->ask("put 0 0 600 4 grp:g\r\nhead"), "INSERTED 1\r\n");
  ASSERT_EQ(client->ask("put 0 0 600 5 aft:g\r\nafter"), "INSERTED 2\r\n");
  ASSERT_EQ(client->ask("put 0 1000 600 7\r\ndelayed"), "INSERTED 3\r\n");
  const std::string said = server_.standard_error();
  ASSERT_NE(said.find("time=" + std::to_string(std::get<Year>(GetParam()).number)),
            std::string::npos)
      << said;
  ASSERT_NO_FATAL_FAILURE(replace());
  if (way() == Way::kill) client = connect_again();
  const std::string report = client->ask("stats");
  EXPECT_EQ(report_number(report, "current-jobs-ready"), 1U);
  EXPECT_EQ(report_number(report, "current-jobs-delayed"), 2U);
  EXPECT_EQ(client->ask("delete 1"), "DELETED\r\n");
  EXPECT_EQ(client->ask("reserve-with-timeout 5"), "RESERVED 2 5\r\nafter\r\n");
}

}  // namespace
}  // namespace haricot::test
