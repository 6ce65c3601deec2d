// A table of restarts under a service manager and by a socket: changes of settings, times ways in
// which the next process ends while it starts. In each cell every connection, job, hold and wait
// exists at the end, and a start that does not serve logs the reason.

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "support/hand_over_fixture.hpp"
#include "support/random.hpp"

namespace haricot::test {
namespace {

enum class Before : std::uint8_t { in_memory, in_folder };

// How a start ends.
struct Outcome {
  int status = 0;               // 0: it serves.
  std::string_view words = {};  // In the log of a start that does not serve.
};
constexpr Outcome kServes{};
constexpr Outcome kNoFolderBefore{20, "the previous server has no binlog"};
constexpr Outcome kOtherFolder{20, "the previous server has another folder"};
constexpr Outcome kUnknown{10, "is not known here"};
constexpr Outcome kFull{10, "not all jobs"};
constexpr Outcome kOtherJobs{20, "has other jobs"};
constexpr Outcome kNowhere{10, "/nonexistent"};
constexpr Outcome kMistake{5, "unknown flag"};
constexpr Outcome kOlder{20, "the state has version 2"};
constexpr Outcome kFewDescriptors{20, "too many are open"};

// A change of the settings between two servers.
struct Change {
  std::string_view name;
  Before before;
  // Flags of the next one. `OTHER`, `EMPTY`, `UNKNOWN` and `FULL` stand for folders with other
  // jobs, without jobs, with a file of an unknown version, and on a full disk; `SAME` for that of
  // the first server.
  std::vector<std::string> flags;
  Outcome under_manager = kServes;
  Outcome by_socket = under_manager;
  bool is_later = false;         // The first server has a later version.
  unsigned descriptors_max = 0;  // Limit of the next process; 0: that of the test.
};

const std::vector<Change> kChanges = {
    {"Nothing", Before::in_memory, {}},
    {"NothingWithBinlog", Before::in_folder, {"-b", "SAME"}},
    {"BinlogOn", Before::in_memory, {"-b", "EMPTY"}, kServes, kNoFolderBefore},
    {"BinlogOnWithSyncs", Before::in_memory, {"-b", "EMPTY", "-f", "0"}, kServes, kNoFolderBefore},
    {"BinlogOnWithSmallFiles",
     Before::in_memory,
     {"-b", "EMPTY", "-s", "4096"},
     kServes,
     kNoFolderBefore},
    {"BinlogOff", Before::in_folder, {}, kServes, {20, "the previous server has a binlog"}},
    {"BinlogMoves", Before::in_folder, {"-b", "EMPTY"}, kServes, kOtherFolder},
    {"BinlogOnWithOtherJobs", Before::in_memory, {"-b", "OTHER"}, kOtherJobs, kNoFolderBefore},
    {"BinlogMovesToOtherJobs", Before::in_folder, {"-b", "OTHER"}, kOtherJobs, kOtherFolder},
    {"BinlogOfUnknownVersion", Before::in_memory, {"-b", "UNKNOWN"}, kUnknown, kNoFolderBefore},
    {"BinlogMovesToUnknownVersion", Before::in_folder, {"-b", "UNKNOWN"}, kUnknown, kOtherFolder},
    {"BinlogOnFullDisk", Before::in_memory, {"-b", "FULL"}, kFull, kNoFolderBefore},
    {"BinlogMovesToFullDisk", Before::in_folder, {"-b", "FULL"}, kFull, kOtherFolder},
    {"BinlogNowhere", Before::in_folder, {"-b", "/nonexistent"}, kNowhere},
    {"SmallerJobs", Before::in_memory, {"-z", "10"}},
    {"SmallerJobsWithBinlog", Before::in_folder, {"-b", "SAME", "-z", "10"}},
    {"LessMemory", Before::in_memory, {"--memory-max", "1"}},
    {"LessMemoryWithBinlog", Before::in_folder, {"-b", "SAME", "--memory-max", "1"}},
    {"FewerConnections", Before::in_memory, {"--connections-max", "1"}},
    {"OtherUser", Before::in_memory, {"-u", "nobody"}},
    {"OtherUserAndAddress", Before::in_memory, {"-u", "nobody", "-l", "0.0.0.0"}},
    {"NoUser", Before::in_memory, {"-u", "nobody-has-this-name"}, {33, "there is no user"}},
    {"NoAddress", Before::in_memory, {"--listen-also", "203.0.113.1"}, {111, "cannot listen"}},
    {"Mistake", Before::in_memory, {"--nonsense"}, kMistake},
    {"MistakeWithBinlog", Before::in_folder, {"--nonsense"}, kMistake},
    {"OlderProgram", Before::in_memory, {}, kOlder, kOlder, true},
    {"FewerDescriptors", Before::in_memory, {}, kFewDescriptors, kFewDescriptors, false, 8},
};

class RestartedClients : public HandOverTest {
 protected:
  std::string path() const { return folder_.file("next"); }

  // Starts the first server, with jobs in all places and clients.
  void begin(Before before) {
    std::vector<std::string> flags = {"--take-over-socket=" + path()};
    if (before == Before::in_folder) flags.insert(flags.end(), {"-b", folder_.path()});
    start_first(flags);
    holder_ = connect();
    waiting_ = connect();
    half_ = connect();
    ASSERT_EQ(holder_->put("held"), "INSERTED 1\r\n");
    ASSERT_EQ(holder_->ask("reserve"), "RESERVED 1 4\r\nheld\r\n");
    ASSERT_EQ(holder_->put("ready"), "INSERTED 2\r\n");
    ASSERT_EQ(holder_->ask("put 5 100 60 7\r\ndelayed"), "INSERTED 3\r\n");
    for (int i = 4; i < 4 + kLarge; ++i) {
      ASSERT_EQ(holder_->ask("put 9 0 60 20000\r\n" + std::string(20'000, 'x')),
                "INSERTED " + std::to_string(i) + "\r\n");
    }
    ASSERT_EQ(waiting_->ask("watch other"), "WATCHING 2\r\n");
    ASSERT_EQ(waiting_->ask("ignore default"), "WATCHING 1\r\n");
    ASSERT_TRUE(waiting_->send_line("reserve"));
    ASSERT_TRUE(half_->send("peek"));
    ASSERT_TRUE(eventually([&] { return stat("current-waiting") == 1; }));
  }
  void expect_all() {
    EXPECT_EQ(half_->ask(" 2"), "FOUND 2 5\r\nready\r\n");
    EXPECT_TRUE(half_->send("peek"));
    EXPECT_EQ(holder_->ask("touch 1"), "TOUCHED\r\n") << server_.standard_error();
    EXPECT_EQ(holder_->ask("peek-delayed"), "FOUND 3 7\r\ndelayed\r\n");
    EXPECT_EQ(report_number(holder_->ask("stats"), "current-jobs-ready"), 1U + kLarge);
    EXPECT_EQ(report_number(holder_->ask("stats"), "current-waiting"), 1U);
  }
  static ServerOptions with_descriptors(unsigned most, ServerOptions options) {
    const std::string limit = "ulimit -n " + std::to_string(most);
    std::vector<std::string> shell = {"-c", limit + "; exec \"$0\" \"$@\"", options.binary};
    shell.insert(shell.end(), options.arguments.begin(), options.arguments.end());
    options.binary = "/bin/sh";
    options.arguments = std::move(shell);
    return options;
  }

  static constexpr int kLarge = 20;
  ServerProcess next_;  // By the socket.
  Client holder_;
  Client waiting_;
  Client half_;
};

class StartTable : public RestartedClients, public ::testing::WithParamInterface<Change> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can mount a disk, and become another user";
    ASSERT_TRUE(start({"-b", other_.path()}));
    ASSERT_EQ(connect()->put("of another server"), "INSERTED 1\r\n");
    ASSERT_EQ(server_.stop(), kGood);
    std::ofstream(unknown_.file("binlog.1")) << std::string("\x08\0\0\0", 4) << "something else";
    if (GetParam().is_later) binary_ = LATER_HARICOTD;
  }
  void TearDown() override {
    server_.kill_hard();
    if (is_mounted_) ::umount2(full_.path().c_str(), MNT_DETACH);
  }

  std::string folder_named(const std::string& word) {
    if (word == "SAME") return folder_.path();
    if (word == "EMPTY") return empty_.path();
    if (word == "OTHER") return other_.path();
    if (word == "UNKNOWN") return unknown_.path();
    if (word != "FULL") return word;
    is_mounted_ =
        is_mounted_ || ::mount("tmpfs", full_.path().c_str(), "tmpfs", 0, "size=64k") == 0;
    EXPECT_TRUE(is_mounted_);
    return full_.path();
  }

  ServerOptions changed() {
    std::vector<std::string> words = address_;
    for (const std::string& word : GetParam().flags) words.push_back(folder_named(word));
    const unsigned descriptors = GetParam().descriptors_max;
    ServerOptions options = options_with(std::move(words));
    return descriptors == 0 ? options : with_descriptors(descriptors, std::move(options));
  }
  // Ends the next process at some point.
  void disturb(bool hangs) {
    manager_.hear_no_removals();
    ASSERT_TRUE(server_.launch(manager_.passing(changed())));
    std::this_thread::sleep_for(std::chrono::microseconds(random_.below(60'000)));
    if (hangs) {
      server_.signal(SIGSTOP);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    server_.kill_hard();
    manager_.catch_up();
    manager_.hear_removals();
    ASSERT_GT(manager_.kept(), 0U);
  }
  void expect_outcome() {
    const Outcome& outcome = GetParam().under_manager;
    const bool serves = manager_.start(server_, changed());
    const std::string said = server_.standard_error();
    ASSERT_EQ(serves, outcome.status == 0) << said;
    if (serves) return expect_all();
    EXPECT_EQ(server_.wait_exit(), (ExitStatus{.code = outcome.status})) << said;
    EXPECT_NE(said.find("event=cannot-start"), std::string::npos) << said;
    EXPECT_NE(said.find(outcome.words), std::string::npos) << said;
    EXPECT_NE(said.find("are kept"), std::string::npos) << said;
    // The settings are corrected.
    start_again();
    expect_all();
  }
  // A next server that does not serve leaves everything to the first one.
  void expect_outcome_by_socket() {
    const Outcome& outcome = GetParam().by_socket;
    ServerOptions options = changed();
    options.arguments.push_back("--take-over=" + path());
    ASSERT_TRUE(next_.launch(options));
    const std::optional<ExitStatus> end = (outcome.status == 0 ? server_ : next_).wait_exit();
    const std::string said = next_.standard_error();
    ASSERT_EQ(end, (ExitStatus{.code = outcome.status})) << said << server_.standard_error();
    EXPECT_NE(said.find(outcome.words), std::string::npos) << said;
    expect_all();
  }

  Random random_;
  TemporaryFolder empty_;
  TemporaryFolder other_;
  TemporaryFolder unknown_;
  TemporaryFolder full_;
  bool is_mounted_ = false;
};

TEST_P(StartTable, NothingIsLostWhenItRuns) {
  begin(GetParam().before);
  stop();
  expect_outcome();
}

TEST_P(StartTable, NothingIsLostWhenItAsksOnASocket) {
  begin(GetParam().before);
  expect_outcome_by_socket();
}

TEST_P(StartTable, NothingIsLostWhenItIsKilledOnTheWay) {
  begin(GetParam().before);
  stop();
  for (int i = 0; i < 3; ++i) ASSERT_NO_FATAL_FAILURE(disturb(false));
  expect_outcome();
}

TEST_P(StartTable, NothingIsLostWhenItHangsOnTheWay) {
  begin(GetParam().before);
  stop();
  ASSERT_NO_FATAL_FAILURE(disturb(true));
  expect_outcome();
}

INSTANTIATE_TEST_SUITE_P(Changes, StartTable, ::testing::ValuesIn(kChanges),
                         [](const auto& info) { return std::string(info.param.name); });

// The limit of open descriptors of the next process, one after another.
class DescriptorLimit : public RestartedClients,
                        public ::testing::WithParamInterface<std::tuple<Before, bool>> {
 protected:
  ServerOptions limited(unsigned most, bool by_socket) {
    std::vector<std::string> words = address_;
    words.insert(words.end(), arguments_.begin(), arguments_.end());
    if (by_socket) words.push_back("--take-over=" + path());
    return with_descriptors(most, options_with(std::move(words)));
  }
};

TEST_P(DescriptorLimit, KeepsEverythingUntilItIsHighEnough) {
  constexpr unsigned kLeast = 7;  // For a program to be loaded.
  constexpr unsigned kMost = 60;
  const auto [before, by_socket] = GetParam();
  begin(before);
  if (!by_socket) stop();
  unsigned limit = kLeast;
  for (bool serves = false; !serves; ++limit) {
    SCOPED_TRACE(limit);
    ASSERT_LT(limit, kMost);
    ServerProcess& next = by_socket ? next_ : server_;
    if (by_socket) {
      ASSERT_TRUE(next.launch(limited(limit, true)));
      ASSERT_TRUE(eventually([&] { return !next_.running() || !server_.running(); }));
      serves = next_.running();
    } else {
      serves = manager_.start(server_, limited(limit, false));
    }
    const std::string said = next.standard_error();
    if (!serves) {
      EXPECT_GT(next.wait_exit()->code, 0) << said;
      EXPECT_NE(said.find("event=cannot-start"), std::string::npos) << said;
    }
    if (by_socket || serves) expect_all();
    ASSERT_FALSE(HasFailure()) << said;
  }
  EXPECT_GT(limit, kLeast + 3);
}

INSTANTIATE_TEST_SUITE_P(Of, DescriptorLimit,
                         ::testing::Combine(::testing::Values(Before::in_memory, Before::in_folder),
                                            ::testing::Bool()),
                         [](const auto& of) {
                           return std::string(std::get<bool>(of.param) ? "Socket" : "Manager") +
                                  (std::get<Before>(of.param) == Before::in_memory ? "InMemory"
                                                                                   : "InFolder");
                         });

}  // namespace
}  // namespace haricot::test
