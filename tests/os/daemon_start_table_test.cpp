// A table of restarts under a service manager: changes of settings, times ways in which the next
// process ends while it starts. In each cell every connection, job, hold and wait exists at the
// end, and a start that does not serve logs the reason.

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/hand_over_fixture.hpp"
#include "support/random.hpp"

namespace haricot::test {
namespace {

enum class Before : std::uint8_t { in_memory, in_folder };

// A change of the settings between two servers.
struct Change {
  std::string_view name;
  Before before;
  // Flags of the next one. `OTHER`, `EMPTY`, `UNKNOWN` and `FULL` stand for folders with other
  // jobs, without jobs, with a file of an unknown version, and on a full disk; `SAME` for that of
  // the first server.
  std::vector<std::string> flags;
  int status = 0;               // Exit status of a start; 0: it serves.
  std::string_view words = {};  // In the log of a start that does not serve.
  bool is_later = false;        // The first server has a later version.
};

const std::vector<Change> kChanges = {
    {"Nothing", Before::in_memory, {}},
    {"NothingWithBinlog", Before::in_folder, {"-b", "SAME"}},
    {"BinlogOn", Before::in_memory, {"-b", "EMPTY"}},
    {"BinlogOnWithSyncs", Before::in_memory, {"-b", "EMPTY", "-f", "0"}},
    {"BinlogOnWithSmallFiles", Before::in_memory, {"-b", "EMPTY", "-s", "4096"}},
    {"BinlogOff", Before::in_folder, {}},
    {"BinlogMoves", Before::in_folder, {"-b", "EMPTY"}},
    {"BinlogOnWithOtherJobs", Before::in_memory, {"-b", "OTHER"}, 20, "has other jobs"},
    {"BinlogMovesToOtherJobs", Before::in_folder, {"-b", "OTHER"}, 20, "has other jobs"},
    {"BinlogOfUnknownVersion", Before::in_memory, {"-b", "UNKNOWN"}, 10, "is not known here"},
    {"BinlogMovesToUnknownVersion", Before::in_folder, {"-b", "UNKNOWN"}, 10, "is not known"},
    {"BinlogOnFullDisk", Before::in_memory, {"-b", "FULL"}, 10, "not all jobs"},
    {"BinlogMovesToFullDisk", Before::in_folder, {"-b", "FULL"}, 10, "not all jobs"},
    {"BinlogNowhere", Before::in_folder, {"-b", "/nonexistent"}, 10, "/nonexistent"},
    {"SmallerJobs", Before::in_memory, {"-z", "10"}},
    {"SmallerJobsWithBinlog", Before::in_folder, {"-b", "SAME", "-z", "10"}},
    {"LessMemory", Before::in_memory, {"--memory-max", "1"}},
    {"LessMemoryWithBinlog", Before::in_folder, {"-b", "SAME", "--memory-max", "1"}},
    {"FewerConnections", Before::in_memory, {"--connections-max", "1"}},
    {"OtherUser", Before::in_memory, {"-u", "nobody"}},
    {"NoUser", Before::in_memory, {"-u", "nobody-has-this-name"}, 33, "there is no user"},
    {"NoAddress", Before::in_memory, {"--listen-also", "203.0.113.1"}, 111, "cannot listen"},
    {"Mistake", Before::in_memory, {"--nonsense"}, 5, "unknown flag"},
    {"MistakeWithBinlog", Before::in_folder, {"--nonsense"}, 5, "unknown flag"},
    {"OlderProgram", Before::in_memory, {}, 20, "the state has version 2", true},
};

class StartTable : public HandOverTest, public ::testing::WithParamInterface<Change> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can mount a disk, and become another user";
    ASSERT_TRUE(start({"-b", other_.path()}));
    ASSERT_EQ(connect()->put("of another server"), "INSERTED 1\r\n");
    ASSERT_EQ(server_.stop(), kGood);
    std::ofstream(unknown_.file("binlog.1")) << std::string("\x08\0\0\0", 4) << "something else";
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

  void begin() {
    if (GetParam().is_later) binary_ = LATER_HARICOTD;
    start_first(GetParam().before == Before::in_folder
                    ? std::vector<std::string>{"-b", folder_.path()}
                    : std::vector<std::string>{});
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
    EXPECT_EQ(holder_->ask("touch 1"), "TOUCHED\r\n") << server_.standard_error();
    EXPECT_EQ(holder_->ask("peek-delayed"), "FOUND 3 7\r\ndelayed\r\n");
    EXPECT_EQ(report_number(holder_->ask("stats"), "current-jobs-ready"), 1U + kLarge);
    EXPECT_EQ(report_number(holder_->ask("stats"), "current-waiting"), 1U);
  }

  ServerOptions changed() {
    std::vector<std::string> words = address_;
    for (const std::string& word : GetParam().flags) words.push_back(folder_named(word));
    return options_with(std::move(words));
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
    const bool serves = manager_.start(server_, changed());
    const std::string said = server_.standard_error();
    ASSERT_EQ(serves, GetParam().status == 0) << said;
    if (serves) return expect_all();
    EXPECT_EQ(server_.wait_exit(), (ExitStatus{.code = GetParam().status})) << said;
    EXPECT_NE(said.find("event=cannot-start"), std::string::npos) << said;
    EXPECT_NE(said.find(GetParam().words), std::string::npos) << said;
    EXPECT_NE(said.find("are kept"), std::string::npos) << said;
    // The settings are corrected.
    start_again();
    expect_all();
  }

  static constexpr int kLarge = 20;
  Random random_;
  TemporaryFolder empty_;
  TemporaryFolder other_;
  TemporaryFolder unknown_;
  TemporaryFolder full_;
  bool is_mounted_ = false;
  Client holder_;
  Client waiting_;
  Client half_;
};

TEST_P(StartTable, NothingIsLostWhenItRuns) {
  begin();
  stop();
  expect_outcome();
}

TEST_P(StartTable, NothingIsLostWhenItIsKilledOnTheWay) {
  begin();
  stop();
  for (int i = 0; i < 3; ++i) ASSERT_NO_FATAL_FAILURE(disturb(false));
  expect_outcome();
}

TEST_P(StartTable, NothingIsLostWhenItHangsOnTheWay) {
  begin();
  stop();
  ASSERT_NO_FATAL_FAILURE(disturb(true));
  expect_outcome();
}

INSTANTIATE_TEST_SUITE_P(Changes, StartTable, ::testing::ValuesIn(kChanges),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace haricot::test
