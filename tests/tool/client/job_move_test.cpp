#include "tool/client/job_move.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace haricot::tool {
namespace {

StatsText job(const std::string& state, const std::string& counters) {
  return *StatsText::parse("---\nid: 7\nstate: " + state + "\n" + counters);
}

constexpr const char* kNone = "reserves: 0\ntimeouts: 0\nreleases: 0\nburies: 1\nkicks: 0\n";
constexpr const char* kReserved = "reserves: 1\ntimeouts: 0\nreleases: 0\nburies: 1\nkicks: 0\n";

TEST(PlaceAtReserve, IsUnchangedIfNoOtherClientIntervened) {
  for (const Place place : kPlaces) {
    EXPECT_EQ(place_at_reserve(job(std::string(name_of(place)), kNone), job("reserved", kReserved)),
              place);
  }
}

TEST(PlaceAtReserve, IsReadyAfterAKick) {
  EXPECT_EQ(place_at_reserve(
                job("buried", kNone),
                job("reserved", "reserves: 1\ntimeouts: 0\nreleases: 0\nburies: 1\nkicks: 1\n")),
            Place::ready);
}

TEST(PlaceAtReserve, IsNotKnownIfAWorkerHadTheJob) {
  for (const char* after : {"reserves: 2\ntimeouts: 0\nreleases: 1\nburies: 1\nkicks: 0\n",
                            "reserves: 2\ntimeouts: 0\nreleases: 0\nburies: 2\nkicks: 0\n",
                            "reserves: 2\ntimeouts: 1\nreleases: 0\nburies: 1\nkicks: 0\n"}) {
    EXPECT_EQ(place_at_reserve(job("ready", kNone), job("reserved", after)), std::nullopt) << after;
  }
  EXPECT_EQ(place_at_reserve(StatsText{}, job("reserved", kReserved)), std::nullopt);
}

TEST(RemainingDelay, IsNeverTooShortNorTooLong) {
  EXPECT_EQ(remaining_delay_s(0), 1U);
  EXPECT_EQ(remaining_delay_s(99), 100U);
  EXPECT_EQ(remaining_delay_s(4294967295), 4294967295U);
}

// A move that gets the answers of a server, and its commands.
class JobMoveTest : public ::testing::Test {
 protected:
  using Outcome = JobMove::Outcome;

  void begin(PlaceFlags places = kAllPlaces) {
    PutTags tags;
    ASSERT_TRUE(tags.add(Tag::tries, "3"));
    move_.emplace(ListedJob{.id = 7, .tags = tags}, "mail", "news", places);
  }
  // Answers that the job is reserved. `state` and `more` are the result of the stats-job before.
  void reserve(const std::string& state, const std::string& more = "") {
    begin();
    answer_reserve(state, more);
  }
  void answer_reserve(const std::string& state, const std::string& more = "",
                      const std::string& line = "RESERVED 7 5") {
    const auto stats = [&](const std::string& place, const char* counters) {
      return Response{ReplyCode::ok, 0, "OK 1",
                      "---\nid: 7\nstate: " + place + "\npri: 9\nttr: 60\n" + more + counters};
    };
    asked_ = move_->commands();
    move_->take({stats(state, kNone),
                 {ReplyCode::reserved, 7, line, "hello"},
                 stats("reserved", kReserved)});
  }
  // Answers the commands, the last one with `code`.
  void answer(ReplyCode code, std::uint64_t number = 0, const std::string& line = "") {
    asked_ = move_->commands();
    std::vector<Response> answers(asked_.size());
    answers.front().code = use_;
    answers.back() = {code, number, line, ""};
    move_->take(answers);
  }
  std::string asked_now() const {
    std::string all;
    for (const std::string& command : move_->commands()) all += command;
    return all;
  }
  void expect_over(JobMove::Outcome outcome, const std::vector<std::string>& messages = {}) {
    ASSERT_TRUE(move_->is_over());
    EXPECT_EQ(move_->outcome(), outcome);
    EXPECT_EQ(move_->messages(), messages);
  }

  std::optional<JobMove> move_;
  std::vector<std::string> asked_;
  ReplyCode use_ = ReplyCode::now_using;  // The answer to a `use`.
};

TEST_F(JobMoveTest, AReadyJobIsReservedPutAndDeleted) {
  reserve("ready");
  EXPECT_EQ(asked_,
            (std::vector<std::string>{"stats-job 7\r\n", "reserve-job 7\r\n", "stats-job 7\r\n"}));
  EXPECT_EQ(asked_now(), "use news\r\nput 9 0 60 5 try:3\r\nhello\r\n");
  answer(ReplyCode::inserted, 12, "INSERTED 12");
  EXPECT_EQ(asked_now(), "delete 7\r\n");
  answer(ReplyCode::deleted);
  expect_over(Outcome::moved);
}

// The move of a held job with this state.
class HeldJobMoveTest : public JobMoveTest {
 protected:
  void peek(const std::string& state, PlaceFlags places = kAllPlaces) {
    PutTags tags;
    ASSERT_TRUE(tags.add(Tag::after, "g"));
    move_.emplace(ListedJob{.id = 7, .tags = tags}, "mail", "news", places);
    EXPECT_EQ(asked_now(), "stats-job 7\r\npeek 7\r\nstats-job 7\r\n");
    const Response stats{
        ReplyCode::ok, 0, "OK 1",
        "---\nid: 7\nstate: " + state + "\npri: 9\nttr: 60\ndelay: 30\ntime-left: 0\n"};
    move_->take({stats, {ReplyCode::found, 7, "FOUND 7 5", "hello"}, stats});
  }
};

TEST_F(HeldJobMoveTest, IsPutWithTheDelayThatHasNotBegun) {
  peek("delayed");
  EXPECT_EQ(asked_now(), "use news\r\nput 9 30 60 5 aft:g\r\nhello\r\n");
  answer(ReplyCode::inserted, 12, "INSERTED 12");
  EXPECT_EQ(asked_now(), "delete 7\r\n");
  answer(ReplyCode::deleted);
  expect_over(Outcome::moved);
}

TEST_F(HeldJobMoveTest, StaysAsItIsIfItIsNotPut) {
  peek("delayed");
  answer(ReplyCode::draining, 0, "DRAINING");
  expect_over(Outcome::failed);
  EXPECT_EQ(move_->refused()->command, "put");
  peek("delayed", {.ready = true});
  expect_over(Outcome::gone);
}

TEST_F(HeldJobMoveTest, IsAnotherOnesIfItIsHeldNoMore) {
  peek("reserved");
  expect_over(Outcome::gone);
  peek("delayed");
  answer(ReplyCode::inserted, 12, "INSERTED 12");
  answer(ReplyCode::not_found);
  EXPECT_EQ(asked_now(), "delete 12\r\n");
  answer(ReplyCode::deleted);
  expect_over(Outcome::stayed, {"job 7 stays in tube mail: another client took it meanwhile"});
}

TEST_F(JobMoveTest, ADelayedJobKeepsTheRestOfItsDelay) {
  reserve("delayed", "time-left: 99\n");
  EXPECT_EQ(asked_now(), "use news\r\nput 9 100 60 5 try:3\r\nhello\r\n");
}

TEST_F(JobMoveTest, ABuriedJobIsNeverReady) {
  reserve("buried");
  EXPECT_EQ(asked_now(), "use news\r\nput 9 3600 60 5 try:3\r\nhello\r\n");
  answer(ReplyCode::inserted, 12, "INSERTED 12");
  EXPECT_EQ(asked_now(), "reserve-job 12\r\nbury 12 9\r\n");
  answer(ReplyCode::buried);
  EXPECT_EQ(asked_now(), "delete 7\r\n");
  answer(ReplyCode::deleted);
  expect_over(Outcome::moved);
}

TEST_F(JobMoveTest, ACopyThatCannotBeBuriedIsReported) {
  reserve("buried");
  answer(ReplyCode::inserted, 12, "INSERTED 12");
  answer(ReplyCode::out_of_memory, 0, "OUT_OF_MEMORY");
  answer(ReplyCode::deleted);
  expect_over(Outcome::moved, {"job 12 in tube news could not be buried: OUT_OF_MEMORY"});
}

TEST_F(JobMoveTest, OtherAndMissingJobsAreNotMoved) {
  begin();
  move_->take({{}, {ReplyCode::not_found, 0, "NOT_FOUND", ""}, {}});
  expect_over(Outcome::gone);
  begin({.ready = true});
  answer_reserve("buried");
  EXPECT_EQ(asked_now(), "bury 7 9\r\n");
  answer(ReplyCode::buried);
  expect_over(Outcome::gone);
}

TEST_F(JobMoveTest, AServerWithoutReserveJobIsReported) {
  for (const ReplyCode code : {ReplyCode::bad_format, ReplyCode::unknown_command}) {
    begin();
    move_->take({{}, {code, 0, "X", ""}, {}});
    expect_over(Outcome::failed);
    EXPECT_EQ(move_->refused()->command, "reserve-job");
    EXPECT_EQ(move_->refused()->code, ReplyCode::unknown_command);
  }
}

TEST_F(JobMoveTest, AKeyThatIsTakenAndABodyThatWasCutLeaveTheJob) {
  reserve("delayed", "time-left: 9\n");
  answer(ReplyCode::inserted_again, 3, "INSERTED 3 READY");
  EXPECT_EQ(asked_now(), "release 7 9 10\r\n");
  answer(ReplyCode::released);
  expect_over(Outcome::stayed, {"job 7 stays in tube mail: the key is taken: job 3, ready"});
  begin();
  answer_reserve("ready", "", "RESERVED 7 70000");
  EXPECT_EQ(asked_now(), "release 7 9 0\r\n");
  answer(ReplyCode::released);
  expect_over(Outcome::stayed, {"job 7 stays in tube mail: its body is too large to be copied"});
}

TEST_F(JobMoveTest, ARefusedPutLeavesTheJobAsItWas) {
  reserve("buried");
  answer(ReplyCode::draining, 0, "DRAINING");
  EXPECT_EQ(asked_now(), "bury 7 9\r\n");
  answer(ReplyCode::buried);
  expect_over(Outcome::failed);
  EXPECT_EQ(move_->refused()->command, "put");
  EXPECT_EQ(move_->refused()->line, "DRAINING");
}

TEST_F(JobMoveTest, ACopyInAnotherTubeGoesAgain) {
  reserve("ready");
  use_ = ReplyCode::out_of_memory;
  answer(ReplyCode::inserted, 12, "INSERTED 12");
  EXPECT_EQ(asked_now(), "delete 12\r\n");
  answer(ReplyCode::deleted);
  EXPECT_EQ(asked_now(), "release 7 9 0\r\n");
  answer(ReplyCode::released);
  expect_over(Outcome::failed);
  EXPECT_EQ(move_->refused()->command, "use");
  EXPECT_EQ(move_->refused()->code, ReplyCode::out_of_memory);
}

TEST_F(JobMoveTest, ACopyThatAWorkerHasReservedInAnotherTubeIsReported) {
  reserve("ready");
  use_ = ReplyCode::out_of_memory;
  answer(ReplyCode::inserted, 12, "INSERTED 12");
  answer(ReplyCode::not_found);
  EXPECT_EQ(asked_now(), "release 7 9 0\r\n");
  answer(ReplyCode::released);
  expect_over(Outcome::failed,
              {"job 12, a copy of job 7, was reserved before it could be deleted"});
  EXPECT_EQ(move_->refused()->command, "use");
}

// The move puts the job into the wrong tube, so a key of that tube has no effect.
TEST_F(JobMoveTest, AKeyThatIsTakenInAnotherTubeIsNotReported) {
  reserve("ready");
  use_ = ReplyCode::out_of_memory;
  answer(ReplyCode::inserted, 12, "INSERTED 12 READY");
  EXPECT_EQ(asked_now(), "release 7 9 0\r\n");
}

TEST_F(JobMoveTest, ACopyThatTheServerHasBuriedGoesAgain) {
  reserve("ready");
  answer(ReplyCode::buried_new, 12, "BURIED 12");
  EXPECT_EQ(asked_now(), "delete 12\r\n");
  answer(ReplyCode::deleted);
  EXPECT_EQ(asked_now(), "release 7 9 0\r\n");
  // The reservation was the last try of the job.
  answer(ReplyCode::buried);
  EXPECT_EQ(asked_now(), "kick-job 7\r\n");
  answer(ReplyCode::kicked_job);
  expect_over(Outcome::failed);
  EXPECT_EQ(move_->refused()->command, "put");
}

TEST_F(JobMoveTest, AJobWhoseTtrHasEndedStaysAndItsCopyGoes) {
  for (const bool is_single : {true, false}) {
    reserve("ready");
    answer(ReplyCode::inserted, 12, "INSERTED 12");
    answer(ReplyCode::not_found);
    EXPECT_EQ(asked_now(), "delete 12\r\n");
    answer(is_single ? ReplyCode::deleted : ReplyCode::not_found);
    expect_over(Outcome::stayed,
                {is_single ? "job 7 stays in tube mail: its TTR ended before it was moved"
                           : "job 7 is in tube mail, and in tube news as job 12: its TTR ended "
                             "before it was moved"});
  }
}

TEST_F(JobMoveTest, ALostMoveReportsThePlaceOfTheJob) {
  using Answers = std::vector<std::pair<ReplyCode, std::uint64_t>>;
  const std::string stays = "job 7 stays in tube mail, and may be ready";
  const std::tuple<const char*, Answers, std::string> ends[] = {
      {"ready", {}, "job 7 is in tube mail, and may also be in tube news"},
      {"ready",
       {{ReplyCode::inserted, 12}},
       "job 7 is in tube news as job 12, and may still be in tube mail"},
      {"buried",
       {{ReplyCode::inserted, 12}},
       "job 7 is in tube mail, and in tube news as job 12, which may be delayed by an hour "
       "instead"},
      {"ready", {{ReplyCode::buried_new, 12}}, "job 7 is in both tubes"},
      {"ready", {{ReplyCode::draining, 0}}, stays},
      {"ready", {{ReplyCode::inserted_again, 3}}, stays},
      {"ready",
       {{ReplyCode::inserted, 12}, {ReplyCode::not_found, 0}},
       "job 7 is in tube mail, and in tube news as job 12"},
  };
  begin();
  move_->lose();
  expect_over(Outcome::failed, {stays});
  for (const auto& [state, answers, message] : ends) {
    SCOPED_TRACE(message);
    reserve(state);
    for (const auto& [code, number] : answers) {
      answer(code, number, code == ReplyCode::inserted_again ? "INSERTED 3 READY" : "");
    }
    move_->lose();
    expect_over(Outcome::failed, {message});
    EXPECT_FALSE(move_->refused().has_value());
  }
}

}  // namespace
}  // namespace haricot::tool
