// Sends the same random commands to haricotd and to the installed beanstalkd, which must give the
// same answers.
//
// HARICOT_SEED=n plays only one seed, HARICOT_COMMANDS=n sets the length of a stream. HARICOTD and
// BEANSTALKD name the servers, and HARICOTD_ARGUMENTS the flags of the first one (default:
// --compat= and the second one's version), so that any two servers can be compared.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "answer_comparison.hpp"
#include "differential_run.hpp"
#include "support/random.hpp"
#include "support/server_process.hpp"

namespace haricot::test {
namespace {

constexpr std::size_t kCommands = 4000;
constexpr int kAttemptsMax = 3;  // If the machine is too slow for the timed scenes.

std::optional<std::uint64_t> number_from_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

std::vector<std::string> flags_in(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

ServerOptions beanstalkd() {
  const auto binary = find_server_binary(ServerKind::beanstalkd_1_12);
  return {.binary = binary.value_or("")};
}

ServerOptions haricotd() {
  const auto binary = find_server_binary(ServerKind::haricot);
  const char* arguments = std::getenv("HARICOTD_ARGUMENTS");
  const std::string compat = "--compat=" + shown_version(beanstalkd().binary);
  return {.binary = binary.value_or(""),
          .arguments = flags_in(arguments == nullptr ? compat : arguments)};
}

DifferentialResult run_until_conclusive(const DifferentialOptions& options) {
  DifferentialResult result;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    result = run_differential(options);
    if (result.conclusive) break;
  }
  return result;
}

void expect_no_difference(const DifferentialOptions& options) {
  const DifferentialResult result = run_until_conclusive(options);
  EXPECT_TRUE(result.conclusive) << "seed " << options.seed << ": the machine is too slow";
  EXPECT_GE(result.commands, options.commands) << "seed " << options.seed << ": ended early";
  for (const std::string& difference : result.differences) {
    ADD_FAILURE() << "seed " << options.seed << ", " << difference;
  }
}

std::vector<std::uint64_t> seeds() {
  if (const auto seed = given_seed()) return {*seed};
  return {1, 2, 3, 4, 5};
}

TEST(Differential, HaricotdAnswersAsBeanstalkdDoes) {
  const ServerOptions left = haricotd();
  const ServerOptions right = beanstalkd();
  if (left.binary.empty() || right.binary.empty()) {
    GTEST_SKIP() << "needs haricotd (HARICOTD) and beanstalkd (BEANSTALKD)";
  }
  const std::size_t commands = number_from_environment("HARICOT_COMMANDS").value_or(kCommands);
  for (const std::uint64_t seed : seeds()) {
    SCOPED_TRACE("HARICOT_SEED=" + std::to_string(seed));
    std::printf("seed %llu, %zu commands\n", static_cast<unsigned long long>(seed), commands);
    expect_no_difference({.left = left, .right = right, .seed = seed, .commands = commands});
    if (HasFailure()) return;
  }
}

// Tests of the comparison itself: it reports differences, and only these.

class DifferentialItself : public testing::Test {
 protected:
  void SetUp() override {
    if (beanstalkd().binary.empty()) GTEST_SKIP() << "needs beanstalkd (BEANSTALKD)";
  }
};

TEST_F(DifferentialItself, AServerDoesNotDifferFromItself) {
  expect_no_difference({.left = beanstalkd(), .right = beanstalkd(), .seed = 11, .commands = 2500});
}

TEST_F(DifferentialItself, AStreamDrawsEveryKindOfAnswer) {
  const auto result = run_until_conclusive({.left = beanstalkd(), .right = beanstalkd()});
  for (const char* kind :
       {"INSERTED",  "EXPECTED_CRLF", "JOB_TOO_BIG",    "DRAINING",  "USING",  "RESERVED",
        "TIMED_OUT", "DEADLINE_SOON", "DELETED",        "RELEASED",  "BURIED", "TOUCHED",
        "WATCHING",  "NOT_IGNORED",   "FOUND",          "NOT_FOUND", "KICKED", "PAUSED",
        "OK",        "BAD_FORMAT",    "UNKNOWN_COMMAND"}) {
    EXPECT_GE(result.kinds_of_answers.count(kind), 1U) << kind;
  }
  // Most of the stream is not rejected.
  std::size_t all = 0;
  for (const auto& [kind, count] : result.kinds_of_answers) all += count;
  EXPECT_LT(result.kinds_of_answers.at("BAD_FORMAT") * 3, all);
  EXPECT_GT(result.kinds_of_answers.at("RESERVED") * 20, all);
}

TEST_F(DifferentialItself, ALimitSmallerByOneIsFound) {
  ServerOptions smaller = beanstalkd();
  smaller.arguments = {"-z", "65534"};
  EXPECT_FALSE(run_differential({.left = beanstalkd(), .right = smaller}).differences.empty());
}

// Options of a real server with one fault in its answers.
ServerOptions faulty(const char* fault) {
  return {.binary = FAULTY_SERVER_PATH,
          .arguments = {"--server", beanstalkd().binary, "--fault", fault, "--at", "400"}};
}

DifferentialResult run_against_faulty(const char* fault) {
  return run_differential({.left = beanstalkd(),
                           .right = faulty(fault),
                           .answer_deadline = std::chrono::milliseconds(500)});
}

TEST_F(DifferentialItself, AnAnswerWithOneWrongBitIsFound) {
  EXPECT_FALSE(run_against_faulty("wrong").differences.empty());
}

TEST_F(DifferentialItself, AnAnswerThatDoesNotComeIsFound) {
  EXPECT_FALSE(run_against_faulty("missing").differences.empty());
}

TEST_F(DifferentialItself, AnAnswerTooManyIsFound) {
  EXPECT_FALSE(run_against_faulty("extra").differences.empty());
}

// Without this the three tests above would prove nothing.
TEST_F(DifferentialItself, AServerBehindAnotherProcessStillDoesNotDiffer) {
  expect_no_difference(
      {.left = beanstalkd(), .right = faulty("none"), .seed = 14, .commands = 1000});
}

TEST(AnswersAgree, OnlyWhenEqualOutsideOfYaml) {
  EXPECT_TRUE(answers_agree("INSERTED 1\r\n", "INSERTED 1\r\n"));
  EXPECT_FALSE(answers_agree("INSERTED 1\r\n", "INSERTED 2\r\n"));
  EXPECT_FALSE(answers_agree("NOT_FOUND\r\n", "DELETED\r\n"));
  EXPECT_FALSE(answers_agree("RESERVED 1 6\r\nage: 1\r\n", "RESERVED 1 6\r\nage: 2\r\n"));
}

TEST(AnswersAgree, WhenSecondsAreOneApartAndNotTwo) {
  const std::string one = "OK 11\r\n---\nage: 9\n\r\n";
  EXPECT_TRUE(answers_agree(one, "OK 12\r\n---\nage: 10\n\r\n"));
  EXPECT_FALSE(answers_agree(one, "OK 12\r\n---\nage: 11\n\r\n"));
  EXPECT_FALSE(answers_agree(one, "OK 13\r\n---\nage: \"9\"\n\r\n"));
}

TEST(AnswersAgree, WhenSecondsAreAsFarApartAsTheMachineIsLate) {
  const std::string one = "OK 11\r\n---\nage: 9\n\r\n";
  EXPECT_TRUE(answers_agree(one, "OK 12\r\n---\nage: 12\n\r\n", 2));
  EXPECT_FALSE(answers_agree(one, "OK 12\r\n---\nage: 13\n\r\n", 2));
  EXPECT_FALSE(answers_agree("OK 11\r\n---\npri: 9\n\r\n", "OK 11\r\n---\npri: 8\n\r\n", 2));
}

TEST(AnswersAgree, NotWhenAKeyOrALineDiffers) {
  const std::string one = "OK 11\r\n---\npri: 9\n\r\n";
  EXPECT_FALSE(answers_agree(one, "OK 11\r\n---\npri: 8\n\r\n"));
  EXPECT_FALSE(answers_agree(one, "OK 11\r\n---\nprx: 9\n\r\n"));
  EXPECT_FALSE(answers_agree(one, "OK 18\r\n---\npri: 9\nttr: 1\n\r\n"));
  EXPECT_FALSE(answers_agree("OK 10\r\n---\n- a\n- b\n\r\n", "OK 10\r\n---\n- b\n- a\n\r\n"));
}

TEST(AnswersAgree, OnAnIdOfTheProcessAndNotOnThatOfAJob) {
  EXPECT_FALSE(answers_agree("OK 10\r\n---\nid: 12\n\r\n", "OK 10\r\n---\nid: 13\n\r\n"));
  const std::string stats = "OK 40\r\n---\nrusage-utime: 0.000100\nid: ";
  EXPECT_TRUE(answers_agree(stats + "0c\n\r\n", stats + "1d\n\r\n"));
  EXPECT_FALSE(answers_agree(stats + "0c\n\r\n", stats + "\n\r\n"));
  EXPECT_FALSE(answers_agree(stats + "0c\n\r\n", stats + "0x\n\r\n"));
}

TEST(AnswersAgree, WithOurVersionOnTheLeftAndWithNothingElse) {
  const std::string stats = "OK 40\r\n---\nrusage-utime: 0.000100\n";
  EXPECT_TRUE(answers_agree(stats + "haricot-version: 0.1.0\n\r\n", stats + "\r\n"));
  EXPECT_FALSE(answers_agree(stats + "\r\n", stats + "haricot-version: 0.1.0\n\r\n"));
  EXPECT_FALSE(answers_agree(stats + "other-version: 0.1.0\n\r\n", stats + "\r\n"));
  EXPECT_FALSE(answers_agree("OK 9\r\n---\nharicot-version: 1\n\r\n", "OK 9\r\n---\n\r\n"));
}

}  // namespace
}  // namespace haricot::test
