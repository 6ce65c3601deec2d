// Commands that beanstalkd does not have, over sessions: long lines, long answers, and held-back
// answers.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "service/service_fixture.hpp"

namespace haricot {
namespace {

using test::repeated;
using test::whole_put;

class ServiceExtended : public test::ServiceTest {
 protected:
  // Returns the number of jobs in the head of the answer.
  static std::size_t jobs_in(const std::string& answer) {
    EXPECT_TRUE(answer.starts_with("RESERVED_BATCH ")) << answer.substr(0, 40);
    return std::stoul(answer.substr(15));
  }
  static std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++count;
    }
    return count;
  }
  // Returns all quoted values of the key.
  static std::vector<std::string> values_of(const std::string& text, const std::string& key) {
    std::vector<std::string> values;
    for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
      const std::size_t begin = at + key.size() + 1;
      values.push_back(text.substr(begin, text.find('"', begin) - begin));
    }
    return values;
  }
};

// Lines ----------------------------------------------------------------------------------------

TEST_F(ServiceExtended, ALongLineInPiecesIsOneCommand) {
  Session& session = world.connect();
  const std::string line = "delete-batch" + repeated(" 77", 200) + "\r\n";
  for (std::size_t cut = 1; cut < line.size(); ++cut) {
    world.send(session, std::string_view(line).substr(0, cut));
    world.settle();
    ASSERT_FALSE(session.has_output()) << cut;
    ASSERT_EQ(world.ask(session, line.substr(cut) + "use t\r\n"),
              "DELETED_BATCH 0 200\r\nUSING t\r\n")
        << cut;
  }
}

TEST_F(ServiceExtended, ALineAboveTheLimitIsRejected) {
  Session& session = world.connect();
  const std::string begin = "delete-batch 1";
  for (const std::size_t bytes : {kBatchLineBytesMax - 1, kBatchLineBytesMax,
                                  kBatchLineBytesMax + 1, 3 * kBatchLineBytesMax}) {
    const std::string line = "delete-batch " + std::string(bytes - begin.size() - 2, ' ') + "1\r\n";
    const std::string answer =
        bytes <= kBatchLineBytesMax ? "DELETED_BATCH 0 1\r\n" : "BAD_FORMAT\r\n";
    EXPECT_EQ(world.ask(session, line + "use t\r\n"), answer + "USING t\r\n") << bytes;
    // Byte by byte, the session always wants more input.
    for (const char byte : line) {
      ASSERT_TRUE(session.wants_input());
      world.send(session, std::string_view(&byte, 1));
    }
    EXPECT_EQ(world.ask(session, "use t\r\n"), answer + "USING t\r\n") << bytes;
  }
}

TEST_F(ServiceExtended, OtherLongLinesAreNotKept) {
  Session& session = world.connect();
  world.send(session, "reserve\r\n");
  world.send(session, "delete-batch" + std::string(Session::kInputBytesMax, ' '));
  // The client waits, so its line is not read.
  EXPECT_FALSE(session.wants_input());
  Session& other = world.connect();
  world.send(other, "delete-batch" + std::string(Session::kInputBytesMax, ' '));
  EXPECT_TRUE(other.wants_input());
  world.send(other, std::string(kBatchLineBytesMax - Session::kInputBytesMax - 13, ' '));
  EXPECT_TRUE(other.wants_input());
  EXPECT_EQ(world.ask(other, "  \r\nuse t\r\n"), "BAD_FORMAT\r\nUSING t\r\n");
}

TEST_F(ServiceExtended, WithoutExtensionsNoLineIsLong) {
  world.info.commands = CommandSet::standard;
  for (const bool is_local : {false, true}) {
    Session& session = world.connect(nullptr, is_local);
    EXPECT_EQ(world.ask(session, "delete-batch" + repeated(" 1", 200) + "\r\nuse t\r\n"),
              "BAD_FORMAT\r\nUSING t\r\n");
    EXPECT_EQ(world.ask(session, "delete-batch 1\r\nreserve-batch 1\r\ndrain\r\n"),
              "UNKNOWN_COMMAND\r\nBAD_FORMAT\r\nUNKNOWN_COMMAND\r\n");
  }
}

// Batches --------------------------------------------------------------------------------------

TEST_F(ServiceExtended, ABatchOfSmallJobsIsBoundedByCopiedBytes) {
  Session& session = world.connect();
  world.ask(session, repeated(whole_put(std::string(1000, 'x')), 200));
  const std::string answer = world.ask(session, "reserve-batch 1000\r\n");
  EXPECT_EQ(jobs_in(answer), count_of(answer, "RESERVED "));
  EXPECT_LE(answer.size(), 48U * 1024 + 30);
  EXPECT_GE(answer.size(), 40U * 1024);
  // The jobs that did not fit are still ready.
  EXPECT_EQ(world.stat(session, "current-jobs-ready"), 200 - jobs_in(answer));
  EXPECT_EQ(world.stat(session, "current-jobs-reserved"), jobs_in(answer));
}

TEST_F(ServiceExtended, ABatchOfTinyJobsIsBoundedByItsCount) {
  Session& session = world.connect();
  world.ask(session, repeated(whole_put(""), 1200));
  const std::string answer = world.ask(session, "reserve-batch 1000\r\n");
  EXPECT_EQ(jobs_in(answer), 1000U);
  EXPECT_EQ(lines_in(answer), 1 + 2 * 1000U);
}

TEST_F(ServiceExtended, ABatchOfLargeJobsIsBoundedByAMebibyte) {
  Session& session = world.connect();
  for (int i = 0; i < 40; ++i) world.ask(session, whole_put(std::string(50'000, 'x')));
  const std::string answer = world.ask(session, "reserve-batch 1000\r\n");
  EXPECT_EQ(jobs_in(answer), count_of(answer, "RESERVED "));
  EXPECT_LE(answer.size(), 1024U * 1024 + 30);
  EXPECT_GE(answer.size(), 900U * 1024);
}

TEST_F(ServiceExtended, ABatchTakesASingleJobOfAnySize) {
  Session& session = world.connect();
  const std::string large(3 * 1024 * 1024, 'x');
  world.ask(session, whole_put(large) + whole_put("y"));
  EXPECT_EQ(world.ask(session, "reserve-batch 1000\r\n"),
            "RESERVED_BATCH 1\r\nRESERVED 1 3145728\r\n" + large + "\r\n");
  EXPECT_EQ(world.ask(session, "reserve-batch 1000\r\n"),
            "RESERVED_BATCH 1\r\nRESERVED 2 1\r\ny\r\n");
}

TEST_F(ServiceExtended, AWaitingBatchIsAnsweredWithTheFirstJob) {
  Session& worker = world.connect();
  Session& producer = world.connect();
  EXPECT_EQ(world.ask(worker, "reserve-batch 10 5\r\n"), "");
  world.ask(producer, whole_put("x") + whole_put("y"));
  EXPECT_EQ(world.ask(worker, ""), "RESERVED_BATCH 1\r\nRESERVED 1 1\r\nx\r\n");
  EXPECT_EQ(world.ask(worker, "delete-batch 1 2\r\nreserve-batch 10 5\r\n"),
            "DELETED_BATCH 2 0\r\n");
  world.pass_s(5);
  EXPECT_EQ(world.receive(worker), "RESERVED_BATCH 0\r\n");
  // A half-closed client does not wait.
  world.send(worker, "reserve-batch 10 5\r\n");
  service.end_of_input(worker);
  EXPECT_EQ(world.receive(worker), "RESERVED_BATCH 0\r\n");
  EXPECT_TRUE(worker.is_finished());
}

// The journal ----------------------------------------------------------------------------------

TEST_F(ServiceExtended, ABatchInDoubtIsOneFailure) {
  world.journal.hold_back();
  Session& session = world.connect();
  service.advance(world.now);
  world.send(session, whole_put("x") + whole_put("y") + "reserve-batch 5\r\nuse t\r\n");
  EXPECT_FALSE(session.may_send());
  world.journal.doubt(2);
  service.end_turn(world.now);
  EXPECT_EQ(world.receive(session), repeated("INTERNAL_ERROR\r\n", 4));
}

TEST_F(ServiceExtended, AnswersToDeletesWaitForTheirRecords) {
  Session& session = world.connect();
  world.ask(session, repeated(whole_put("x"), 9));
  world.journal.hold_back();
  world.journal.make_safe();
  service.advance(world.now);
  world.send(session, "delete-batch 1 2 3\r\n");
  EXPECT_FALSE(session.may_send());
  world.journal.make_safe();
  service.end_turn(world.now);
  EXPECT_EQ(world.receive(session), "DELETED_BATCH 3 0\r\n");
  service.advance(world.now);
  world.send(session, "flush-tube default\r\n");
  EXPECT_FALSE(session.may_send());
  world.journal.make_safe();
  service.end_turn(world.now);
  EXPECT_EQ(world.receive(session), "FLUSHED 6\r\n");
  // A command that deletes nothing does not wait.
  EXPECT_EQ(world.ask(session, "delete-batch 1 2 3\r\nflush-tube default\r\n"),
            "DELETED_BATCH 0 3\r\nFLUSHED 0\r\n");
}

TEST_F(ServiceExtended, ALongLineRunsOnceWhenTheDiskCatchesUp) {
  Session& session = world.connect();
  world.ask(session, whole_put("x"));
  world.journal.refuse_from(1, JournalStatus::later);
  const std::string line = "delete-batch 1" + repeated(" 4294967296", 999) + "\r\n";
  EXPECT_EQ(world.ask(session, line), "");
  EXPECT_GT(service.next_event(), world.now) << "it waits without being busy";
  EXPECT_EQ(world.stat(world.connect(), "current-jobs-ready"), 1U);
  world.journal.accept();
  world.journal.let_try_again();
  service.advance(world.now);
  service.run_backlog(world.now);
  EXPECT_EQ(world.ask(session, "use t\r\n"), "DELETED_BATCH 1 999\r\nUSING t\r\n");
}

TEST_F(ServiceExtended, ARefusalOfTheJournalIsAnInternalError) {
  Session& session = world.connect();
  world.ask(session, repeated(whole_put("x"), 5));
  world.journal.refuse_from(1, JournalStatus::full);
  EXPECT_EQ(world.ask(session, "delete-batch 1 2\r\n"), "INTERNAL_ERROR\r\n");
  EXPECT_EQ(world.stat(session, "current-jobs-ready"), 5U);
  // The first deletion is refused: nothing has changed.
  world.journal.refuse_from(1, JournalStatus::failed);
  EXPECT_EQ(world.ask(session, "flush-tube default\r\npeek 3\r\n"),
            "INTERNAL_ERROR\r\nFOUND 3 1\r\nx\r\n");
  // A later deletion is refused: the task deletes the rest later.
  world.journal.refuse_from(4, JournalStatus::failed);
  EXPECT_EQ(world.ask(session, "flush-tube default\r\n"), "INTERNAL_ERROR\r\n");
  EXPECT_EQ(world.stat(session, "current-jobs-ready"), 3U);
  for (const char* id : {"1", "2", "3", "4", "5"}) {
    EXPECT_EQ(world.ask(session, "peek " + std::string(id) + "\r\n"), "NOT_FOUND\r\n");
  }
  world.journal.accept();
  world.pass(Duration::milliseconds(100));
  EXPECT_EQ(world.stat(session, "current-jobs-ready"), 0U);
}

// Long flushes ---------------------------------------------------------------------------------

TEST_F(ServiceExtended, AFlushAnswersAHalfClosedClient) {
  Session& session = world.connect();
  const std::size_t jobs = 3 * Engine::kJobsPerCall;
  world.ask(session, repeated(whole_put(""), jobs));
  service.advance(world.now);
  world.send(session, "flush-tube default\r\n");
  service.end_of_input(session);
  EXPECT_FALSE(session.is_finished());
  EXPECT_EQ(world.ask(session, ""), "FLUSHED " + std::to_string(jobs) + "\r\n");
  EXPECT_TRUE(session.is_finished());
}

TEST_F(ServiceExtended, AFlushContinuesWithoutItsClient) {
  Session& session = world.connect();
  Session& other = world.connect();
  world.ask(session, repeated(whole_put(""), 3 * Engine::kJobsPerCall));
  service.advance(world.now);
  world.send(session, "flush-tube default\r\nuse t\r\n");
  EXPECT_FALSE(session.has_output());
  world.disconnect(session);
  EXPECT_EQ(world.ask(other, "peek-ready\r\nreserve-batch 1\r\n"),
            "NOT_FOUND\r\nRESERVED_BATCH 0\r\n");
  world.settle();
  EXPECT_EQ(world.stat(other, "current-jobs-ready"), 0U);
}

// Drain mode -----------------------------------------------------------------------------------

TEST_F(ServiceExtended, OnlyALocalClientMayDrain) {
  Session& remote = world.connect();
  Session& local = world.connect(nullptr, true);
  EXPECT_EQ(world.ask(remote, "drain\r\nundrain\r\n"), repeated("UNKNOWN_COMMAND\r\n", 2));
  EXPECT_EQ(world.ask(local, "drain\r\n"), "DRAINING\r\n");
  EXPECT_TRUE(service.is_draining());
  EXPECT_EQ(world.ask(remote, whole_put("x")), "DRAINING\r\n");
  EXPECT_EQ(world.ask(remote, "undrain\r\n"), "UNKNOWN_COMMAND\r\n");
  EXPECT_TRUE(service.is_draining());
  EXPECT_EQ(world.ask(local, "undrain\r\n"), "NOT_DRAINING\r\n");
  EXPECT_FALSE(service.is_draining());
  const std::string all = world.ask(local, "capabilities\r\n");
  EXPECT_NE(all.find("- drain\n- undrain\n"), std::string::npos) << all;
  EXPECT_EQ(world.ask(remote, "capabilities\r\n").find("drain"), std::string::npos);
}

TEST_F(ServiceExtended, EachClientMayDrainIfAllowed) {
  world.info.commands = CommandSet::operators;
  Session& remote = world.connect();
  EXPECT_EQ(world.ask(remote, "drain\r\nundrain\r\n"), "DRAINING\r\nNOT_DRAINING\r\n");
}

// Pages ----------------------------------------------------------------------------------------

// With many ready jobs in each tube, a page costs more, so it has fewer tubes.
TEST_F(ServiceExtended, PagesOfTubesShowEachTubeOnce) {
  Session& session = world.connect();
  std::set<std::string> wanted = {"default"};
  for (int i = 0; i < 700; ++i) {
    wanted.insert("t" + std::to_string(i));
    ASSERT_EQ(world.ask(session, "watch t" + std::to_string(i) + "\r\n"),
              "WATCHING " + std::to_string(i + 2) + "\r\n");
  }
  for (const std::size_t count : {1U, 7U, 300U, 1000U}) {
    std::multiset<std::string> seen;
    std::string from = "*";
    std::size_t pages = 0;
    do {
      const std::string text =
          world.ask(session, "stats-tubes " + from + " " + std::to_string(count) + "\r\n");
      ASSERT_TRUE(text.starts_with("OK ")) << text.substr(0, 40);
      EXPECT_LE(count_of(text, "\n- name: "), count);
      EXPECT_EQ(count_of(text, "\n  work-time-max: "), count_of(text, "\n- name: "));
      for (const std::string& name : values_of(text, "\n- name: ")) seen.insert(name);
      from = values_of(text, "\nnext: ").at(0);
      ++pages;
    } while (from != "*" && pages <= wanted.size());
    EXPECT_EQ(seen, std::multiset<std::string>(wanted.begin(), wanted.end()));
    EXPECT_GE(pages, wanted.size() / count);
    EXPECT_LE(pages, 2 + wanted.size() / std::min<std::size_t>(count, 500));
    EXPECT_GE(pages, 2U) << "a page is a bounded amount of work";
  }
}

}  // namespace
}  // namespace haricot
