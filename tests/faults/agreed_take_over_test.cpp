// Memory fails in a server that has confirmed that it takes over: allocation by allocation, once or
// for a while. The server before is gone by then, so this one serves, whatever happens.

#include <gtest/gtest.h>
#include <poll.h>

#include <cerrno>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "os/take_over_fixture.hpp"
#include "planned_failures.hpp"
#include "support/daemon_fixture.hpp"

namespace haricot::test {
namespace {

using faults::PlannedFailures;
using faults::SocketCall;

constexpr std::uint64_t kAllocationsMax = 1000;

// With and without a binlog; the shortage lasts for a while or not.
class AgreedTakeOver : public DaemonTest,
                       public ::testing::WithParamInterface<std::tuple<bool, bool>> {
 protected:
  static bool has_binlog() { return std::get<0>(GetParam()); }
  static bool lasts() { return std::get<1>(GetParam()); }
  std::string path() const { return folder_.file("next"); }
  std::string late_path() const { return folder_.file("late"); }

  // All of its memory comes from malloc.
  ServerOptions options_of_next() {
    std::vector<std::string> words = arguments_;
    words.push_back("--take-over=" + late_path());
    ServerOptions options = options_with(std::move(words));
    options.binary = LATER_HARICOTD;
    options.environment = calls_.environment();
    return options;
  }
  void begin() {
    calls_.open(folder_.file("failing"));
    last_ = std::make_unique<ServerProcess>();
    std::vector<std::string> words = {"--take-over-socket=" + path()};
    if (has_binlog()) words.insert(words.end(), {"-b", jobs_.path(), "-f", "0"});
    ServerOptions options = options_with(words);
    options.binary = LATER_HARICOTD;
    ASSERT_TRUE(last_->start(options)) << last_->failure();
    arguments_ = {"-l", "127.0.0.1", "-p", std::to_string(last_->port())};
    arguments_.insert(arguments_.end(), words.begin(), words.end());
    client_ = std::make_unique<WireClient>();
    ASSERT_TRUE(client_->connect(*last_));
    ASSERT_EQ(client_->put("held", 0, 0, 600), "INSERTED 1\r\n");
    ASSERT_EQ(client_->ask("reserve"), "RESERVED 1 4\r\nheld\r\n");
  }
  // Takes everything over, while that allocation after the confirmation fails. Returns whether the
  // server makes so many.
  bool take_over_without(std::uint64_t number) {
    Relay relay;
    auto next = std::make_unique<ServerProcess>();
    const bool is_ready = relay.begin(path(), late_path()) && next->launch(options_of_next()) &&
                          relay.pass_parts() && relay.end_first();
    EXPECT_TRUE(is_ready) << next->standard_error() << last_->standard_error();
    EXPECT_EQ(last_->wait_exit(), kGood);
    calls_.plan(SocketCall::malloc, ENOMEM, number,
                lasts() ? std::numeric_limits<std::uint64_t>::max() : number);
    EXPECT_TRUE(relay.let_next_begin());
    constexpr int kShortage = 30;
    if (lasts()) ::poll(nullptr, 0, kShortage);
    EXPECT_TRUE(lasts() || client_->ask("touch 1") == "TOUCHED\r\n") << next->standard_error();
    const bool was_hit = calls_.end();
    ::unlink(late_path().c_str());
    EXPECT_TRUE(next->running()) << next->standard_error();
    last_ = std::move(next);
    return was_hit;
  }
  // Changes may be refused until the binlog has begun a file.
  void expect_to_serve() {
    ASSERT_EQ(client_->ask("touch 1"), "TOUCHED\r\n") << last_->standard_error();
    std::string put;
    ASSERT_TRUE(eventually([&] {
      put = client_->put("new");
      return put != "INTERNAL_ERROR\r\n" && put != "OUT_OF_MEMORY\r\n";
    })) << last_->standard_error();
    ASSERT_TRUE(put.starts_with("INSERTED ")) << put;
    EXPECT_EQ(client_->ask("delete " + put.substr(9, put.size() - 11)), "DELETED\r\n");
  }

  PlannedFailures calls_;
  TemporaryFolder jobs_;
  std::unique_ptr<ServerProcess> last_;  // The one that serves.
  std::vector<std::string> arguments_;
  Client client_;
};

INSTANTIATE_TEST_SUITE_P(With, AgreedTakeOver,
                         ::testing::Combine(::testing::Bool(), ::testing::Bool()),
                         [](const auto& with) {
                           return std::string(std::get<0>(with.param) ? "ABinlog" : "NoBinlog") +
                                  (std::get<1>(with.param) ? "Lasting" : "Once");
                         });

TEST_P(AgreedTakeOver, ServesWithoutMemoryToo) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer has its own memory";
  ASSERT_NO_FATAL_FAILURE(begin());
  std::uint64_t number = 1;
  for (bool was_hit = true; was_hit; ++number) {
    SCOPED_TRACE("allocation " + std::to_string(number));
    ASSERT_LT(number, kAllocationsMax);
    was_hit = take_over_without(number);
    ASSERT_FALSE(HasFailure());
    ASSERT_NO_FATAL_FAILURE(expect_to_serve());
  }
  // The folder has all later records.
  last_->kill_hard();
  if (!has_binlog()) return;
  ASSERT_TRUE(last_->start(options_with({"-b", jobs_.path()})));
  WireClient again;
  ASSERT_TRUE(again.connect(*last_));
  EXPECT_EQ(again.ask("peek 1"), "FOUND 1 4\r\nheld\r\n");
  EXPECT_EQ(again.ask("peek 2"), "NOT_FOUND\r\n");
}

}  // namespace
}  // namespace haricot::test
