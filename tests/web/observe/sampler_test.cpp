#include "web/observe/sampler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::web {
namespace {

std::string report(const std::string& text) {
  return "OK " + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

struct Tube {
  std::uint64_t ready = 0;
  std::uint64_t puts = 0;
  std::uint64_t deletes = 0;
};

std::string lines_of(const Tube& tube, const std::string& indent) {
  return indent + "current-jobs-ready: " + std::to_string(tube.ready) + "\n" + indent +
         "total-jobs: " + std::to_string(tube.puts) + "\n" + indent +
         "cmd-delete: " + std::to_string(tube.deletes) + "\n";
}

// A server as a function from commands to answers.
struct ScriptedServer {
  bool is_haricot = true;
  std::string id = "1";
  std::map<std::string, Tube> tubes;
  std::size_t page = 2;
  std::vector<std::string> asked;
  bool endless = false;  // Each page has new tubes, and a next page.
  std::size_t pages = 0;

  std::string answer(const std::string& command) {
    asked.push_back(command);
    if (command == "stats") {
      return report("---\nversion: \"1.13\"\npid: 1\nid: " + id + "\nuptime: 5\n" +
                    (is_haricot ? "haricot-version: \"0.1.0\"\n" : ""));
    }
    if (command == "capabilities") {
      return is_haricot ? report("---\n- stats-tubes\n- scan-jobs\n") : "UNKNOWN_COMMAND\r\n";
    }
    if (command == "list-tubes") {
      std::string text = "---\n";
      for (const auto& [name, tube] : tubes) text += "- " + name + "\n";
      return report(text);
    }
    if (command.starts_with("stats-tube ")) {
      const auto found = tubes.find(command.substr(11));
      if (found == tubes.end()) return "NOT_FOUND\r\n";
      return report("---\nname: " + found->first + "\n" + lines_of(found->second, ""));
    }
    if (endless && command.starts_with("stats-tubes ")) {
      std::string list;
      const std::string page_name = std::string(80, 'x') + std::to_string(++pages);
      for (int i = 0; i < 50; ++i) {
        list += "- name: \"" + page_name + "-" + std::to_string(i) + "\"\n" + lines_of({}, "  ");
      }
      return report("---\nnext: \"" + page_name + "\"\ntubes:\n" + list);
    }
    if (command.starts_with("stats-tubes ")) {
      std::string from = command.substr(12, command.rfind(' ') - 12);
      auto at = from == "*" ? tubes.begin() : tubes.lower_bound(from);
      std::string list;
      for (std::size_t i = 0; i < page && at != tubes.end(); ++i, ++at) {
        list += "- name: \"" + at->first + "\"\n" + lines_of(at->second, "  ");
      }
      return report("---\nnext: \"" + (at == tubes.end() ? "*" : at->first) + "\"\ntubes:\n" +
                    list);
    }
    return "UNKNOWN_COMMAND\r\n";
  }
};

class SamplerTest : public ::testing::Test {
 protected:
  SamplerTest() {
    std::string error;
    EXPECT_TRUE(labels_.add("emails-.*=emails", error));
  }

  ~SamplerTest() override { pipeline_.abort(); }

  void restart() { sampler_.restart(now_); }
  // Returns the commands to send, and takes them as sent.
  std::string take_output() {
    std::string output;
    std::string_view pieces[4];
    while (const std::size_t count = pipeline_.gather(pieces, now_)) {
      std::size_t bytes = 0;
      for (const std::string_view piece : std::span(pieces).first(count)) {
        output += piece;
        bytes += piece.size();
      }
      pipeline_.sent(bytes, now_);
    }
    return output;
  }
  bool receive(std::string_view answers) {
    return pipeline_.receive(answers, now_) == tool::Pipeline::Read::good;
  }
  // Runs all due work, until there are no more commands and answers.
  void run() {
    for (int i = 0; i < 1000; ++i) {
      if (!step()) return;
    }
    FAIL() << "it never ends";
  }
  // Answers the pending commands. Returns false if there are none.
  bool step() {
    sampler_.advance(now_);
    const std::string output = take_output();
    if (output.empty()) return false;
    std::string answers;
    std::size_t about_tubes = 0;
    for (std::size_t at = 0; at < output.size();) {
      const std::size_t end = output.find("\r\n", at);
      if (output.compare(at, 10, "stats-tube") == 0) ++about_tubes;
      answers += server_.answer(output.substr(at, end - at));
      at = end + 2;
    }
    at_once_ = std::max(at_once_, about_tubes);
    now_ = now_ + answer_time_;
    EXPECT_TRUE(receive(answers));
    return true;
  }
  // Takes the next sample of tubes, `seconds` later.
  void later(std::uint32_t seconds) {
    now_ = now_ + Duration::seconds(seconds);
    sampler_.demand_tubes(now_);
    run();
  }
  std::optional<TubeRow> tube(const std::string& name) {
    const auto found = facts_.tubes->rows.find(name);
    if (!found) return std::nullopt;
    return facts_.tubes->rows.at(*found);
  }

  TubeLabels labels_;
  tool::Pipeline pipeline_;
  Facts facts_;
  ScriptedServer server_;
  Instant now_ = Instant::at(1'000'000'000);
  Duration answer_time_ = Duration::milliseconds(1);
  std::size_t at_once_ = 0;  // Most commands about tubes that were sent at once.
  Sampler sampler_{pipeline_, facts_, {.labels = labels_, .key = {1, 2}}};
};

TEST_F(SamplerTest, SamplesTubesOfABeanstalkdOnlyForAViewer) {
  server_.is_haricot = false;
  server_.tubes = {{"default", {}}};
  restart();
  run();
  EXPECT_EQ(server_.asked, (std::vector<std::string>{"capabilities", "stats"}));
  EXPECT_EQ(facts_.state, ServerState::up);
  EXPECT_EQ(facts_.tubes, nullptr);

  sampler_.demand_tubes(now_);
  run();
  ASSERT_NE(facts_.tubes, nullptr);
  EXPECT_EQ(facts_.tubes->rows.size(), 1U);

  server_.asked.clear();
  now_ = now_ + Sampler::kDemandTime;
  run();
  EXPECT_EQ(server_.asked, std::vector<std::string>{"stats"});
  ASSERT_NE(facts_.tubes, nullptr);
  now_ = now_ + Sampler::kTubesKeptFor;
  run();
  EXPECT_EQ(facts_.tubes, nullptr);
}

TEST_F(SamplerTest, SamplesTheTubesOfAHaricotdAlways) {
  server_.tubes = {{"default", {}}};
  restart();
  run();
  ASSERT_NE(facts_.tubes, nullptr);
  for (int i = 0; i < 100; ++i) {
    const Instant before = facts_.tubes->at;
    now_ = now_ + Sampler::kIdleInterval;
    run();
    EXPECT_GT(facts_.tubes->at, before);
  }
}

TEST_F(SamplerTest, EndlessPagesAreCutAndReportedInTheRow) {
  restart();
  run();
  server_.endless = true;
  now_ = now_ + Duration::seconds(100);
  for (std::size_t i = 0; i < Sampler::kTubesMax && facts_.warning.empty(); ++i) step();
  EXPECT_NE(facts_.warning.find("too many tubes"), std::string::npos) << facts_.warning;
  EXPECT_LE(facts_.tubes->rows.size(), Sampler::kTubesMax + 50);
  EXPECT_LE(facts_.tubes->rows.bytes(), Sampler::kTubeBytesMax + 20'000);
  server_.endless = false;
  server_.tubes = {{"default", {}}};
  now_ = now_ + Duration::seconds(10'000);
  run();
  EXPECT_EQ(facts_.warning, "");
  EXPECT_EQ(facts_.tubes->rows.size(), 1U);
}

TEST_F(SamplerTest, AServerWhoseStatisticsAreLateIsDown) {
  restart();
  run();
  EXPECT_EQ(facts_.state, ServerState::up);
  now_ = now_ + Duration::seconds(3);
  sampler_.advance(now_);
  now_ = now_ + Sampler::kStatsPatience;
  sampler_.advance(now_);
  EXPECT_EQ(facts_.state, ServerState::down);
  run();
  EXPECT_EQ(facts_.state, ServerState::up);
}

TEST_F(SamplerTest, AServerWhoseStatisticsAreVeryLongIsDown) {
  server_.id = std::string(Sampler::kStatsBytesMax, '1');
  restart();
  run();
  EXPECT_EQ(facts_.state, ServerState::down);
  EXPECT_EQ(facts_.error, "the statistics are too long");
}

TEST_F(SamplerTest, ReadsPagesOfAHaricotdAndEachTubeOfAnother) {
  for (const bool is_haricot : {true, false}) {
    server_.is_haricot = is_haricot;
    server_.asked.clear();
    for (int i = 0; i < 500; ++i) {
      server_.tubes["tube-" + std::to_string(i)] = {.ready = static_cast<std::uint64_t>(i)};
    }
    restart();
    run();
    later(3);
    ASSERT_NE(facts_.tubes, nullptr);
    EXPECT_EQ(facts_.tubes->rows.size(), 500U);
    EXPECT_EQ(tube("tube-77").value()[TubeField::ready], 77U);
    EXPECT_EQ(facts_.tubes->has_details, is_haricot);
    const auto asked_for_one = std::count_if(
        server_.asked.begin(), server_.asked.end(),
        [](const std::string& command) { return command.starts_with("stats-tube "); });
    EXPECT_EQ(asked_for_one, is_haricot ? 0 : 500);
    facts_.tubes.reset();
  }
}

TEST_F(SamplerTest, RatesAreMeasuredBetweenTwoSamplesOfOneTube) {
  server_.tubes = {{"mail", {.puts = 100, .deletes = 50}}, {"goes", {.puts = 9}}};
  restart();
  run();
  later(0);
  EXPECT_FALSE(tube("mail")->put_rate.has_value());

  server_.tubes = {
      {"mail", {.puts = 300, .deletes = 100}}, {"goes", {.puts = 1}}, {"new", {.puts = 5}}};
  later(10);
  EXPECT_NEAR(tube("mail")->put_rate.value_or(0), 20, 0.2);
  EXPECT_NEAR(tube("mail")->delete_rate.value_or(0), 5, 0.1);
  EXPECT_FALSE(tube("new")->put_rate.has_value());
  // With fewer puts than before, it is another tube of this name.
  EXPECT_FALSE(tube("goes")->put_rate.has_value());

  server_.tubes = {{"mail", {.puts = 400, .deletes = 300}}};
  sampler_.stop();
  pipeline_.abort();
  facts_.state = ServerState::down;
  restart();
  later(10);
  EXPECT_TRUE(tube("mail")->put_rate.has_value()) << "only the connection was lost";

  server_.tubes = {{"mail", {.puts = 500, .deletes = 400}}};
  server_.id = "2";
  sampler_.stop();
  pipeline_.abort();
  facts_.state = ServerState::down;
  restart();
  later(10);
  EXPECT_FALSE(tube("mail")->put_rate.has_value()) << "the server is another process";
  EXPECT_FALSE(tube("goes").has_value());
}

// The connection stays, as when a server hands over to the next one.
TEST_F(SamplerTest, AServerThatWasTakenOverIsQueriedForItsCommands) {
  server_.is_haricot = false;
  server_.tubes = {{"mail", {}}};
  restart();
  run();
  later(3);
  ASSERT_NE(facts_.tubes, nullptr);
  EXPECT_FALSE(facts_.tubes->has_details);
  server_.asked.clear();
  later(3);
  EXPECT_EQ(std::count(server_.asked.begin(), server_.asked.end(), "capabilities"), 0);
  server_.is_haricot = true;
  server_.id = "2";
  later(3);
  later(3);
  EXPECT_EQ(std::count(server_.asked.begin(), server_.asked.end(), "capabilities"), 1);
  EXPECT_TRUE(facts_.can("stats-tubes"));
  EXPECT_TRUE(facts_.tubes->has_details);
}

TEST_F(SamplerTest, TheCountersOfALabelSurviveItsTubes) {
  server_.tubes = {{"emails-1", {.puts = 100, .deletes = 90}}, {"default", {.puts = 7}}};
  restart();
  run();
  later(0);
  ASSERT_EQ(facts_.labels.size(), 1U);
  EXPECT_EQ(facts_.labels[0].puts, 100U);
  server_.tubes = {{"emails-1", {.puts = 110, .deletes = 95}}, {"emails-2", {.puts = 3}}};
  later(10);
  EXPECT_EQ(facts_.labels[0].puts, 113U);
  EXPECT_EQ(facts_.labels[0].deletes, 95U);
  server_.tubes = {{"emails-2", {.puts = 4}}};
  later(10);
  EXPECT_EQ(facts_.labels[0].puts, 114U);
  EXPECT_EQ(tube("emails-2")->label, 1);
}

// Limits the commands that are sent at once, because other clients wait while the server answers.
TEST_F(SamplerTest, AsksForLittleAtATime) {
  for (int i = 0; i < 500; ++i) server_.tubes["tube-" + std::to_string(i)] = {};
  for (const bool is_haricot : {true, false}) {
    server_.is_haricot = is_haricot;
    facts_.tubes.reset();
    restart();
    run();
    at_once_ = 0;
    later(3);
    ASSERT_NE(facts_.tubes, nullptr);
    EXPECT_EQ(at_once_, is_haricot ? 1U : 8U);
  }
}

TEST_F(SamplerTest, TakesATenthOfTheTimeAtMost) {
  server_.is_haricot = false;
  server_.tubes = {{"default", {}}};
  answer_time_ = Duration::seconds(1);
  restart();
  run();
  // The answer took a second, so the sampler pauses for nine.
  EXPECT_EQ(sampler_.next_event(), now_ + Duration::seconds(9));
}

TEST_F(SamplerTest, ASampleTakesThePlaceOfTheOneBeforeWhenItIsWhole) {
  for (const char* name : {"a", "b", "c", "d", "e"}) server_.tubes[name] = {};
  restart();
  run();
  later(0);
  const std::shared_ptr<const TubeSample> before = facts_.tubes;
  server_.tubes.erase("a");
  now_ = now_ + Duration::seconds(5);
  sampler_.demand_tubes(now_);
  // Only the first page.
  sampler_.advance(now_);
  ASSERT_EQ(take_output(), "stats\r\nstats-tubes * 50\r\n");
  ASSERT_TRUE(receive(server_.answer("stats") + server_.answer("stats-tubes * 50")));
  EXPECT_EQ(facts_.tubes, before);
  // The connection ends, and its unfinished sample with it.
  sampler_.stop();
  pipeline_.abort();
  EXPECT_EQ(facts_.tubes, before);
  restart();
  run();
  later(5);
  EXPECT_EQ(facts_.tubes->rows.size(), 4U);
}

TEST_F(SamplerTest, AServerWithoutStatisticsIsNotUp) {
  restart();
  sampler_.advance(now_);
  take_output();
  ASSERT_TRUE(receive("UNKNOWN_COMMAND\r\nOUT_OF_MEMORY\r\n"));
  EXPECT_EQ(facts_.state, ServerState::down);
  EXPECT_FALSE(facts_.error.empty());
  // No work becomes due without being done.
  sampler_.demand_tubes(now_);
  EXPECT_GT(sampler_.next_event(), now_);
}

TEST(Facts, KnowWhoHasReserveJob) {
  const auto has = [](const std::string& stats, std::vector<std::string> words) {
    Facts facts;
    facts.capabilities = std::move(words);
    facts.sample =
        tool::Sample{.at = {}, .server = tool::StatsText::parse(stats).value(), .tubes = {}};
    return facts.has_reserve_job();
  };
  EXPECT_TRUE(has("---\nversion: 1.12\n", {}));
  EXPECT_TRUE(has("---\nversion: \"1.13\"\n", {}));
  EXPECT_TRUE(has("---\nversion: \"1.12+2+gb7b4a6a\"\n", {}));
  EXPECT_FALSE(has("---\nversion: 1.11\n", {}));
  EXPECT_FALSE(has("---\nversion: 1.4.6\n", {}));
  EXPECT_FALSE(has("---\npid: 3\n", {}));
  EXPECT_TRUE(has("---\nversion: \"1.4\"\n", {"scan-jobs"}));
}

}  // namespace
}  // namespace haricot::web
