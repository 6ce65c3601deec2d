// Registers one test per script, server and way of delivery, and runs them. Most scripts are files,
// some are written by a table (tails.hpp).
//
// Scripts mostly wait, so those against processes run side by side on a few threads from the
// beginning; their tests then only fetch the outcome.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "memory_backend.hpp"
#include "runner.hpp"
#include "script.hpp"
#include "tails.hpp"
#include "tcp_backend.hpp"

namespace haricot::conformance {
namespace {

using std::chrono::milliseconds;

// A run that was held up (kLatenessMax) and failed is repeated.
constexpr int kAttemptsMax = 12;
constexpr unsigned kThreads = 6;
// What all scripts together may wait for one server, so that the suite stays one that people run.
constexpr std::chrono::seconds kWaitedMax{95};

struct Suite {
  const char* name;
  Target target;
  Delivery delivery;
};

constexpr Suite kSuites[] = {
    {"Memory", kMemory, Delivery::as_written},
    {"MemorySplit", kMemory, Delivery::byte_by_byte},
    {"MemoryPipelined", kMemory, Delivery::pipelined},
    {"Haricotd", kHaricotd, Delivery::as_written},
    {"HaricotdSplit", kHaricotd, Delivery::byte_by_byte},
    {"HaricotdPipelined", kHaricotd, Delivery::pipelined},
    {"Beanstalkd", kBeanstalkd, Delivery::as_written},
    {"BeanstalkdSplit", kBeanstalkd, Delivery::byte_by_byte},
    {"BeanstalkdPipelined", kBeanstalkd, Delivery::pipelined},
};

std::chrono::nanoseconds waited(const Script& script) {
  std::chrono::nanoseconds sum{};
  for (const Step& step : script.steps) sum += step.duration;
  return sum;
}

Started start(const Suite& suite, const Script& script) {
  if (suite.target.transport == Transport::memory) {
    return start_in_memory(script.flags, script.keeps_binlog);
  }
  return start_process(suite.target.server, script.flags, script.keeps_binlog);
}

Outcome play(const Suite& suite, const Script& script) {
  Outcome outcome;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const Started started = start(suite, script);
    if (!started.backend) return {.report = "the server does not start: " + started.error};
    if (script.keeps_binlog && !started.backend->can_restart()) {
      return {.passed = true, .report = "this server has no binlog", .skipped = true};
    }
    outcome = run_script(script, suite.delivery, *started.backend);
    const auto lateness = started.backend->lateness();
    if (outcome.passed || lateness <= kLatenessMax) break;
    outcome.report += "(the machine was slow: " + std::to_string(lateness / milliseconds(1)) +
                      " ms behind the script)\n";
  }
  return outcome;
}

struct Case {
  const Suite* suite;
  Script script;
  std::promise<Outcome> promise;
  std::future<Outcome> outcome;
};

// The cases against processes, by the full name of their test.
std::map<std::string, Case>& process_cases() {
  static std::map<std::string, Case> cases;
  return cases;
}

// Runs the process cases that the filter left on a few threads, while gtest goes through them.
class ProcessRuns final : public testing::Environment {
 public:
  void SetUp() override {
    next_ = 0;
    const testing::UnitTest& all = *testing::UnitTest::GetInstance();
    for (int i = 0; i < all.total_test_suite_count(); ++i) add_chosen(*all.GetTestSuite(i));
    const auto count = std::min<std::size_t>(kThreads, chosen_.size());
    for (std::size_t i = 0; i < count; ++i) threads_.emplace_back([this] { run_some(); });
  }

  void TearDown() override {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    chosen_.clear();
  }

 private:
  void add_chosen(const testing::TestSuite& suite) {
    for (int i = 0; i < suite.total_test_count(); ++i) {
      const testing::TestInfo& test = *suite.GetTestInfo(i);
      const auto found = process_cases().find(std::string(suite.name()) + "." + test.name());
      if (!test.should_run() || found == process_cases().end()) continue;
      found->second.promise = {};
      found->second.outcome = found->second.promise.get_future();
      chosen_.push_back(&found->second);
    }
  }

  void run_some() {
    for (std::size_t i = next_++; i < chosen_.size(); i = next_++) {
      Case& chosen = *chosen_[i];
      chosen.promise.set_value(play(*chosen.suite, chosen.script));
    }
  }

  std::vector<Case*> chosen_;
  std::vector<std::thread> threads_;
  std::atomic<std::size_t> next_{0};
};

class MemoryTest final : public testing::Test {
 public:
  MemoryTest(const Suite& suite, Script script) : suite_(suite), script_(std::move(script)) {}

  void TestBody() override {
    const Outcome outcome = play(suite_, script_);
    if (outcome.skipped) GTEST_SKIP() << outcome.report;
    EXPECT_TRUE(outcome.passed) << outcome.report;
  }

 private:
  const Suite& suite_;
  Script script_;
};

class ProcessTest final : public testing::Test {
 public:
  explicit ProcessTest(std::string name) : name_(std::move(name)) {}

  void TestBody() override {
    Case& mine = process_cases().at(name_);
    // Asked for by whoever builds where there is no beanstalkd; without asking, its lack is a
    // failure.
    const bool excused = std::getenv("CONFORMANCE_WITHOUT_BEANSTALKD") != nullptr;
    const Outcome outcome = mine.outcome.get();
    if (mine.suite->target.server == ServerKind::beanstalkd && excused &&
        !has_binary(ServerKind::beanstalkd)) {
      GTEST_SKIP() << "there is no beanstalkd";
    }
    EXPECT_TRUE(outcome.passed) << outcome.report;
  }

 private:
  std::string name_;
};

class BrokenScriptTest final : public testing::Test {
 public:
  explicit BrokenScriptTest(std::string error) : error_(std::move(error)) {}
  void TestBody() override { FAIL() << error_; }

 private:
  std::string error_;
};

// All scripts of one server together.
class WaitedTest final : public testing::Test {
 public:
  explicit WaitedTest(std::chrono::nanoseconds sum) : sum_(sum) {}
  void TestBody() override {
    EXPECT_LT(sum_ / milliseconds(1), kWaitedMax / milliseconds(1)) << "ms of advance";
  }

 private:
  std::chrono::nanoseconds sum_;
};

struct ScriptFile {
  std::string name;  // "topic/fact"
  std::string path;
  std::string text;
};

std::vector<ScriptFile> read_scripts() {
  namespace fs = std::filesystem;
  const fs::path root = CONFORMANCE_SCRIPTS;
  std::vector<ScriptFile> files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".script") continue;
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    const std::string name = entry.path().lexically_relative(root).replace_extension().string();
    files.push_back({name, entry.path().string(), text.str()});
  }
  for (TailScript& written : tail_scripts()) {
    files.push_back(
        {"tail/" + written.name, "tails.cpp, " + written.name, std::move(written.text)});
  }
  std::sort(files.begin(), files.end(),
            [](const ScriptFile& a, const ScriptFile& b) { return a.name < b.name; });
  return files;
}

template <typename MakeTest>
void register_test(const char* suite, const std::string& name, MakeTest make_test) {
  testing::RegisterTest(suite, name.c_str(), nullptr, nullptr, __FILE__, __LINE__, make_test);
}

void register_script(const Suite& suite, const ScriptFile& file) {
  static const bool beanstalkd_is_1_13 = is_1_13(ServerKind::beanstalkd);
  Target target = suite.target;
  target.is_1_13 = target.server == ServerKind::beanstalkd && beanstalkd_is_1_13;
  ParsedScript parsed = parse_script(file.text, file.path, target);
  if (!parsed.error.empty()) {
    register_test(suite.name, file.name, [error = parsed.error]() -> testing::Test* {
      return new BrokenScriptTest(error);
    });
    return;
  }
  Script& script = parsed.script;
  if (!script.applies) return;
  if (suite.target.transport == Transport::memory) {
    register_test(suite.name, file.name,
                  [&suite, script]() -> testing::Test* { return new MemoryTest(suite, script); });
    return;
  }
  // Waiting once is enough: the other deliveries are for scripts that go at once.
  if (suite.delivery != Delivery::as_written && waited(script).count() > 0) return;
  const std::string name = std::string(suite.name) + "." + file.name;
  Case& added = process_cases()[name];
  added.suite = &suite;
  added.script = std::move(script);
  register_test(suite.name, file.name,
                [name]() -> testing::Test* { return new ProcessTest(name); });
}

void register_all() {
  const std::vector<ScriptFile> files = read_scripts();
  for (const Suite& suite : kSuites) {
    for (const ScriptFile& file : files) register_script(suite, file);
  }
  for (const char* server : {"Haricotd", "Beanstalkd"}) {
    std::chrono::nanoseconds sum{};
    for (const auto& [name, added] : process_cases()) {
      if (server == std::string(added.suite->name)) sum += waited(added.script);
    }
    register_test("ScriptsTogether", std::string("WaitOnlyBrieflyFor") + server,
                  [sum]() -> testing::Test* { return new WaitedTest(sum); });
  }
}

}  // namespace
}  // namespace haricot::conformance

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  haricot::conformance::register_all();
  testing::AddGlobalTestEnvironment(new haricot::conformance::ProcessRuns);
  return RUN_ALL_TESTS();
}
