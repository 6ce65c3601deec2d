// kill -9 under load: acknowledged changes survive.

#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "binlog_folder.hpp"
#include "job_facts.hpp"
#include "persistence_fixture.hpp"
#include "recorded_load.hpp"

namespace haricot::test {
namespace {

class Crash : public PersistenceTest {
 protected:
  // Runs rounds of load, and kills the server at a random moment in each.
  void survive(const std::vector<std::string>& flags, int rounds) {
    RecordedLoad load(seed_of_this_run(), 5);
    ASSERT_TRUE(start(flags)) << server_.failure();
    for (int round = 0; round < rounds; ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      ASSERT_TRUE(load.connect(server_));
      const std::uint64_t batches = load.below(12);
      for (std::uint64_t i = 0; i < batches; ++i) {
        load.send(1 + load.below(60));
        ASSERT_TRUE(load.read_all());
      }
      // Sometimes more commands than the server can run in that time.
      load.send(1 + load.below(200));
      ::poll(nullptr, 0, static_cast<int>(load.below(5)));
      kill();
      load.read_what_came();
      ASSERT_TRUE(start(flags)) << server_.failure();
      const Jobs now = read_jobs(*connect(), load.highest_id());
      ASSERT_EQ(load.broken_promises(now), "");
      ASSERT_EQ(load.nonsense(), "");
      ASSERT_EQ(
          stat("current-jobs-ready") + stat("current-jobs-delayed") + stat("current-jobs-buried"),
          now.size());
      // The server must not report a kill as damage.
      ASSERT_EQ(server_.standard_error().find("damage"), std::string::npos)
          << server_.standard_error();
    }
    EXPECT_GT(load.acknowledged(), 100U);
    EXPECT_EQ(load.refused(), 0U);
  }
};

TEST_F(Crash, NothingThatWasAcknowledgedIsLostWhenEachWriteIsSynced) {
  survive({"-f", "0"}, 8);
}

TEST_F(Crash, NothingThatWasAcknowledgedIsLostWhenSyncsComeLater) {
  survive({"-f", "50"}, 8);
}

TEST_F(Crash, NothingThatWasAcknowledgedIsLostWithoutSyncs) {
  survive({"-F"}, 8);
}

TEST_F(Crash, NothingIsLostWhileSmallFilesComeAndGo) {
  survive({"-s", "20000", "-f", "50"}, 12);
}

TEST_F(Crash, NothingIsLostWhileSmallFilesComeAndGoAndEachWriteIsSynced) {
  survive({"-s", "20000", "-f", "0"}, 12);
}

TEST_F(Crash, AServerThatIsKilledWhileItReadsItsFilesLosesNothing) {
  const std::vector<std::string> flags = {"-s", "65536"};
  RecordedLoad load(seed_of_this_run(), 5);
  ASSERT_TRUE(start(flags)) << server_.failure();
  ASSERT_TRUE(load.connect(server_));
  for (int i = 0; i < 20; ++i) {
    load.send(100);
    ASSERT_TRUE(load.read_all());
  }
  kill();
  const auto binary = find_server_binary(ServerKind::haricot);
  ASSERT_TRUE(binary);
  for (int i = 0; i < 20; ++i) {
    ServerOptions options{.binary = *binary, .arguments = {"-l", "unix:" + folder_.file("socket")}};
    options.arguments.insert(options.arguments.end(), flags.begin(), flags.end());
    options.arguments.insert(options.arguments.end(), {"-b", folder_.path()});
    ASSERT_TRUE(server_.launch(options)) << server_.failure();
    ::poll(nullptr, 0, static_cast<int>(load.below(12)));
    kill();
  }
  ASSERT_TRUE(start(flags)) << server_.failure();
  EXPECT_EQ(load.broken_promises(read_jobs(*connect(), load.highest_id())), "");
  EXPECT_EQ(load.nonsense(), "");
}

// Kills of a start. The default run tries every fifth call; HARICOT_CALLS_APART=1 tries each.
class CrashOfAStart : public PersistenceTest {
 protected:
  // Starts a server that is killed in front of that system call. Returns true if it was, false if
  // it serves clients before.
  bool start_until(std::uint64_t call) {
    const auto binary = find_server_binary(ServerKind::haricot);
    const TemporaryFolder beside;
    const std::string report = beside.file("report");
    ServerOptions options{
        .binary = STOP_AT_CALL,
        .arguments = {report, std::to_string(call), "kill", binary.value_or(""), "-l",
                      "unix:" + beside.file("socket"), "-b", folder_.path()}};
    options.arguments.insert(options.arguments.end(), kFlags.begin(), kFlags.end());
    EXPECT_TRUE(server_.launch(options)) << server_.failure();
    EXPECT_TRUE(eventually([&] { return !read_file(report).empty(); }));
    const std::string end = read_file(report);
    EXPECT_TRUE(end == "stopped" || end == "serves") << end << ": " << server_.standard_error();
    kill();
    return end == "stopped";
  }
  // Copies the files of a folder, and removes all others.
  void restore(const TemporaryFolder& from) {
    namespace fs = std::filesystem;
    for (const auto& entry : fs::directory_iterator(folder_.path())) fs::remove(entry.path());
    for (const auto& entry : fs::directory_iterator(from.path())) {
      fs::copy(entry.path(), folder_.path());
    }
  }
  static std::uint64_t calls_apart() {
    const char* given = std::getenv("HARICOT_CALLS_APART");
    return given == nullptr ? 5 : std::max(std::strtoull(given, nullptr, 10), 1ULL);
  }

  const std::vector<std::string> kFlags = {"-s", "20000", "-f", "0"};
};

// A second start on the same folder is killed in front of any call. The third one serves.
TEST_F(CrashOfAStart, AStartKilledInFrontOfAnyCallLosesNothing) {
  constexpr std::uint64_t kCallsMax = 2000;
  RecordedLoad load(seed_of_this_run(), 5);
  ASSERT_TRUE(start(kFlags)) << server_.failure();
  ASSERT_TRUE(load.connect(server_));
  load.send(60);
  ASSERT_TRUE(load.read_all());
  kill();
  ASSERT_GT(file_numbers(folder_.path()).size(), 1U);
  const TemporaryFolder before;
  std::filesystem::copy(folder_.path(), before.path());
  bool was_killed = true;
  std::uint64_t call = 1;
  for (; was_killed && !HasFailure(); call += calls_apart()) {
    ASSERT_LT(call, kCallsMax);
    restore(before);
    was_killed = start_until(call);
    const std::uint64_t second = 1 + load.below(call);
    SCOPED_TRACE("call " + std::to_string(call) + ", then " + std::to_string(second));
    start_until(second);
    ASSERT_TRUE(start(kFlags)) << server_.failure();
    EXPECT_EQ(load.broken_promises(read_jobs(*connect(), load.highest_id())), "");
    EXPECT_EQ(server_.standard_error().find("damage"), std::string::npos)
        << server_.standard_error();
    kill();
  }
  EXPECT_EQ(load.nonsense(), "");
  EXPECT_GT(call, 100U);
}

}  // namespace
}  // namespace haricot::test
