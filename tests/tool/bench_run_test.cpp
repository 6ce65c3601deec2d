// Tests haricot bench as a black box: it does exactly the work that it reports, leaves no jobs, and
// reports failures.

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "odd_server.hpp"
#include "tool_fixture.hpp"

namespace haricot::test {
namespace {

class BenchRun : public ToolTest {
 protected:
  Ending bench(std::vector<std::string> words, const std::string& address) {
    words.insert(words.begin(), "bench");
    words.push_back("--json");
    words.push_back(address);
    return run_tool(words);
  }
  Ending bench(std::vector<std::string> words) { return bench(std::move(words), server_address()); }

  // Runs a workload with several settings, and compares the counts of the tool and the server.
  void check_workload(const std::string& name, std::uint64_t steps) {
    constexpr std::uint64_t kJobs = 1000;
    constexpr std::uint64_t kWarmUp = 70;
    std::uint64_t jobs = 0;
    const std::vector<std::vector<std::string>> shapes = {{"-c1", "--depth=1"},
                                                          {"-c4", "--depth=7", "--tubes=3"},
                                                          {"-c3", "--depth=64", "--body-size=20k"},
                                                          {"-c5", "--depth=5000", "--body-size=0"}};
    for (const std::vector<std::string>& shape : shapes) {
      std::vector<std::string> words = {
          "--workload", name, "-n", std::to_string(kJobs), "--warm-up", std::to_string(kWarmUp)};
      words.insert(words.end(), shape.begin(), shape.end());
      const Ending ending = bench(words);
      ASSERT_EQ(ending.status, (ExitStatus{.code = 0})) << ending.error;
      EXPECT_EQ(json_value(ending.output, "commands"), kJobs * steps) << ending.output;
      jobs += kJobs + kWarmUp;
      EXPECT_EQ(server_stat("cmd-put"), jobs);
      EXPECT_EQ(server_stat("cmd-delete"), jobs);
      EXPECT_EQ(server_stat("total-jobs"), jobs);
      // Jobs of a workload of puts are removed by reserves with a timeout.
      EXPECT_EQ(server_stat("cmd-reserve"), name == "put" ? 0 : jobs);
    }
    expect_empty_server();
  }

  void expect_empty_server() {
    for (const char* key : {"current-jobs-ready", "current-jobs-reserved", "current-jobs-delayed",
                            "current-jobs-buried"}) {
      EXPECT_EQ(server_stat(key), 0U) << key;
    }
    EXPECT_TRUE(eventually([this] { return server_stat("current-tubes") == 1; }));
    EXPECT_TRUE(eventually([this] { return server_stat("current-connections") == 1; }));
  }
};

TEST_F(BenchRun, PutsAreCountedAndDeletedOverTcp) {
  ASSERT_TRUE(start());
  check_workload("put", 1);
}

TEST_F(BenchRun, TwoServersGetTheSameLoadInTurns) {
  ASSERT_TRUE(start());
  const Ending ending =
      bench({"-n", "100", "--warm-up", "10", "-c2", server_address()}, server_address());
  ASSERT_EQ(ending.status, (ExitStatus{.code = 0})) << ending.error;
  EXPECT_EQ(server_stat("cmd-put"), 6 * 110U);
  EXPECT_NE(ending.output.find("\"ratio\":{\"rate\":"), std::string::npos) << ending.output;
  expect_empty_server();
  EXPECT_EQ(bench({"-n", "1", server_address()}, "unix:/nowhere").status, (ExitStatus{.code = 3}));
}

TEST_F(BenchRun, TakingIsCountedOverTcp) {
  ASSERT_TRUE(start());
  check_workload("take", 2);
}

TEST_F(BenchRun, CyclesAreCountedOverTcp) {
  ASSERT_TRUE(start());
  check_workload("cycle", 3);
}

TEST_F(BenchRun, AllWorkloadsAreCountedOverAUnixSocket) {
  for (const auto& [name, steps] : {std::pair("put", 1U), {"take", 2U}, {"cycle", 3U}}) {
    ASSERT_TRUE(start_with({.listen_address = "unix:" + folder_.file("socket")}));
    check_workload(name, steps);
    server_.stop();
  }
}

TEST_F(BenchRun, ATimeEndsTheRunToo) {
  ASSERT_TRUE(start());
  const Ending ending = bench({"--seconds", "0.2", "-c", "3"});
  ASSERT_EQ(ending.status.code, 0) << ending.error;
  EXPECT_GE(json_value(ending.output, "seconds"), 0.2);
  const double commands = json_value(ending.output, "commands");
  EXPECT_GT(commands, 0);
  // The report has all jobs except the 10,000 of the warm-up.
  EXPECT_EQ(static_cast<double>(3 * (server_stat("cmd-put") - 10'000)), commands);
  expect_empty_server();
}

TEST_F(BenchRun, TheBackgroundExistsAndIsRemovedAgain) {
  ASSERT_TRUE(start());
  ASSERT_TRUE(start_tool({"bench", "--ready=50", "--delayed=60", "--idle-tubes=70", "--waiting=8",
                          "--waiting-together=9", "--idle-connections=10", "--watch=11", "-c2",
                          "--seconds", "60", "--json", server_address()}));
  // Connections: two of the load and one of the test. Tubes: default, one of the load, 70 idle
  // ones, 8 and 1 with waiting workers, 11 watched ones.
  EXPECT_TRUE(eventually([this] { return server_stat("current-waiting") == 17; }));
  EXPECT_TRUE(eventually([this] { return server_stat("current-connections") == 30; }));
  EXPECT_TRUE(eventually([this] { return server_stat("current-tubes") == 92; }));
  EXPECT_EQ(server_stat("current-jobs-delayed"), 60U);
  EXPECT_GE(server_stat("current-jobs-ready"), 70U + 50 - 2);
  EXPECT_TRUE(eventually([this] { return server_stat("cmd-delete") > 5'000; }));

  // Interrupts the tool, which deletes the jobs nevertheless.
  EXPECT_TRUE(tool_.signal(SIGINT));
  const Ending ending = end_of_tool();
  EXPECT_EQ(ending.status.signal, SIGINT) << ending.error;
  EXPECT_NE(ending.output.find("\"interrupted\":true"), std::string::npos) << ending.output;
  expect_empty_server();
}

TEST_F(BenchRun, ReservesFromAllTubesInTheModeThatWasAskedFor) {
  ASSERT_TRUE(start());
  std::uint64_t jobs = 0;
  for (const std::string mode : {"fifo", "weighted"}) {
    const Ending ending = bench({"--reserve-mode", mode, "--tubes", "5", "-c", "7", "--depth", "3",
                                 "-n", "900", "--warm-up", "30"});
    ASSERT_EQ(ending.status, (ExitStatus{.code = 0})) << ending.error;
    EXPECT_EQ(json_value(ending.output, "commands"), 2'700) << ending.output;
    EXPECT_NE(ending.output.find("\"reserve_mode\":\"" + mode + "\""), std::string::npos);
    jobs += 930;
    EXPECT_EQ(server_stat("cmd-delete"), jobs);
    expect_empty_server();
  }
  // Each of the seven connections watches five tubes and its own one, and each mode is a command.
  EXPECT_GE(server_stat("cmd-watch"), 2U * 7 * 6);
}

TEST_F(BenchRun, AServerWithoutReserveModesIsDetected) {
  ASSERT_TRUE(start({"--no-extensions"}));
  const Ending ending = bench({"--reserve-mode", "weighted", "-n", "10"});
  EXPECT_EQ(ending.status, (ExitStatus{.code = 1}));
  EXPECT_NE(ending.error.find("BAD_FORMAT"), std::string::npos) << ending.error;
  expect_empty_server();
}

TEST_F(BenchRun, EachJobHasAKeyOfItsOwnIfThatIsAskedFor) {
  ASSERT_TRUE(start());
  const Ending ending =
      bench({"--unique", "-c", "3", "--depth", "7", "-n", "500", "--warm-up", "50"});
  ASSERT_EQ(ending.status, (ExitStatus{.code = 0})) << ending.error;
  EXPECT_EQ(json_value(ending.output, "commands"), 1'500) << ending.output;
  EXPECT_NE(ending.output.find("\"unique\":true"), std::string::npos) << ending.output;
  // No put was a duplicate.
  EXPECT_EQ(server_stat("total-jobs"), 550U);
  EXPECT_EQ(server_stat("cmd-delete"), 550U);
  expect_empty_server();
}

TEST_F(BenchRun, AServerWithoutKeysIsDetected) {
  ASSERT_TRUE(start({"--no-extensions"}));
  const Ending ending = bench({"--unique", "-n", "10"});
  EXPECT_EQ(ending.status, (ExitStatus{.code = 1}));
  EXPECT_NE(ending.error.find("BAD_FORMAT"), std::string::npos) << ending.error;
  expect_empty_server();
}

TEST_F(BenchRun, TheServersMemoryAndTimeAreReported) {
  ASSERT_TRUE(start());
  const Ending ending = bench(
      {"--workload", "put", "-n", "20k", "--depth", "100", "--pid", std::to_string(server_.pid())});
  ASSERT_EQ(ending.status.code, 0) << ending.error;
  EXPECT_GT(json_value(ending.output, "cpu_us_per_command"), 0);
  // The memory has 20,000 bodies of 100 bytes.
  EXPECT_GE(json_value(ending.output, "resident_behind"),
            json_value(ending.output, "resident_before") + 2'000'000);
}

TEST_F(BenchRun, LinesOnTheWayAddUpToTheReport) {
  ASSERT_TRUE(start());
  const Ending ending =
      run_tool({"bench", "--json", "-c2", "--seconds=1.2", "-i0.3", "-a", server_address()});
  ASSERT_EQ(ending.status.code, 0) << ending.error;
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < ending.output.size();) {
    const std::size_t end = ending.output.find('\n', begin);
    lines.push_back(ending.output.substr(begin, end - begin));
    begin = end + 1;
  }
  ASSERT_GE(lines.size(), 2U) << ending.output;
  double commands = 0;
  double last = 0;
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    EXPECT_GT(json_value(lines[i], "at"), last) << lines[i];
    last = json_value(lines[i], "at");
    commands += json_value(lines[i], "commands");
  }
  EXPECT_GT(commands, 0);
  EXPECT_LE(commands, json_value(lines.back(), "commands"));
  expect_empty_server();
}

TEST_F(BenchRun, AHistogramCountsEveryAnswer) {
  ASSERT_TRUE(start());
  const Ending json = bench({"-n", "500", "--histogram"});
  ASSERT_EQ(json.status.code, 0) << json.error;
  std::uint64_t answers = 0;
  constexpr std::string_view kName = "\"answers\":";
  for (std::size_t at = 0; (at = json.output.find(kName, at)) != std::string::npos;) {
    at += kName.size();
    answers += std::stoull(json.output.substr(at));
  }
  EXPECT_EQ(answers, 1500U) << json.output;
  const Ending text = run_tool({"bench", "-n", "500", "--histogram", server_address()});
  EXPECT_NE(text.output.find("up to us"), std::string::npos) << text.output;
  EXPECT_NE(text.output.find("  ########################################\n"), std::string::npos)
      << text.output;
}

TEST_F(BenchRun, JobsCanBeKept) {
  ASSERT_TRUE(start());
  ASSERT_EQ(bench({"--workload", "put", "-n", "30", "--warm-up", "0", "--keep"}).status.code, 0);
  EXPECT_EQ(server_stat("current-jobs-ready"), 30U);
}

TEST_F(BenchRun, ARefusedPutEndsItWithTheAnswer) {
  ASSERT_TRUE(start());
  const Ending ending = bench({"--body-size", "65536", "-n", "5"});
  EXPECT_EQ(ending.status.code, 1);
  EXPECT_EQ(ending.error, "haricot bench: put was answered: JOB_TOO_BIG\n");
  EXPECT_EQ(ending.output, "");
}

TEST_F(BenchRun, AFailureLeavesNoJobsBehind) {
  ASSERT_TRUE(start());
  ASSERT_TRUE(start_tool(
      {"bench", "-c4", "--depth=10", "--seconds=60", "--delayed=100", server_address()}));
  ASSERT_TRUE(eventually([this] { return server_stat("cmd-delete") > 1000; }));
  EXPECT_TRUE(server_.signal(SIGUSR1));
  const Ending ending = end_of_tool();
  EXPECT_EQ(ending.status.code, 1);
  EXPECT_EQ(ending.error, "haricot bench: put was answered: DRAINING\n");
  expect_empty_server();
}

TEST_F(BenchRun, AServerThatRunsOutOfMemoryKeepsNoJobs) {
  ASSERT_TRUE(start({"--memory-max=2m"}));
  const Ending ending = bench({"--idle-tubes=30000", "-n", "10"});
  EXPECT_EQ(ending.status.code, 1);
  EXPECT_TRUE(ending.error.starts_with("haricot bench: use and put was answered: "))
      << ending.error;
  expect_empty_server();
}

TEST_F(BenchRun, AServerThatDiesEndsIt) {
  ASSERT_TRUE(start());
  ASSERT_TRUE(start_tool({"bench", "--seconds=60", server_address()}));
  ASSERT_TRUE(eventually([this] { return server_stat("cmd-delete") > 1000; }));
  server_.kill_hard();
  const Ending ending = end_of_tool();
  EXPECT_EQ(ending.status.code, 1);
  EXPECT_TRUE(ending.error.starts_with("haricot bench: ")) << ending.error;
}

TEST_F(BenchRun, AMissingServerIsReported) {
  const Ending ending = bench({}, "unix:" + folder_.file("nobody"));
  EXPECT_EQ(ending.status.code, 3);
  EXPECT_NE(ending.error.find("cannot connect to unix:"), std::string::npos) << ending.error;
  EXPECT_NE(
      bench({"--pid", "1073741823"}, "unix:" + folder_.file("nobody")).error.find("no process"),
      std::string::npos);
}

// The floor server has to answer as many commands as a real one.
TEST_F(BenchRun, TheFloorServerAnswersEverythingToo) {
  ASSERT_TRUE(server_.start({.binary = FLOOR_SERVER_PATH})) << server_.failure();
  for (const char* name : {"put", "take", "cycle"}) {
    for (const std::vector<std::string>& shape :
         std::vector<std::vector<std::string>>{{"-c1", "--depth=1"},
                                               {"-c4", "--depth=64"},
                                               {"-c3", "--depth=7", "--body-size=4090"},
                                               {"-c2", "--depth=600", "--body-size=60000"}}) {
      std::vector<std::string> words = {"--workload", name, "-n", "2000"};
      words.insert(words.end(), shape.begin(), shape.end());
      EXPECT_EQ(bench(words).status, (ExitStatus{.code = 0})) << tool_.standard_error();
    }
  }
}

// An invalid answer of a server, and the report about it.
struct OddAnswer {
  const char* command;
  const char* answer;
  const char* complaint;
};

TEST_F(BenchRun, EveryAnswerIsChecked) {
  const OddAnswer cases[] = {
      {"use", "UNKNOWN_COMMAND\r\n", "use was answered: UNKNOWN_COMMAND"},
      {"watch", "BAD_FORMAT\r\n", "watch was answered: BAD_FORMAT"},
      {"put", "BURIED 3\r\n", "put was answered: BURIED 3"},
      {"put", "INSERTED\r\n", "put was answered: INSERTED (malformed)"},
      {"put", "CLOSE", "the server closed a connection during put"},
      {"put", "INSERTED 1\r\nINSERTED 2\r\n", "more answers than commands: INSERTED 2"},
      {"reserve", "RESERVED 1 5\r\nabcde\r\n", "reserve returned another body"},
      {"reserve", "RESERVED 1 4\r\nabcd\r\n", "reserve returned another body"},
      {"reserve", "DEADLINE_SOON\r\n", "reserve was answered: DEADLINE_SOON"},
      {"delete", "NOT_FOUND\r\n", "delete was answered: NOT_FOUND"},
      {"delete", "", "no answer to delete for 1 s"},
  };
  for (const OddAnswer& odd : cases) {
    OddServer server(odd.command, odd.answer);
    const Ending ending =
        bench({"-n3", "-c1", "--body-size=5", "--warm-up=0", "--timeout=1"}, server.address());
    EXPECT_EQ(ending.status.code, 1) << odd.complaint;
    EXPECT_NE(ending.error.find(odd.complaint), std::string::npos)
        << "wanted: " << odd.complaint << "\ntold: " << ending.error;
  }
}

TEST_F(BenchRun, AnOddServerThatIsNotOddIsGoodEnough) {
  OddServer server("no such command", "");
  EXPECT_EQ(bench({"-n3", "-c1"}, server.address()).status.code, 0);
}

}  // namespace
}  // namespace haricot::test
