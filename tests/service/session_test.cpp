// A session cuts its input into commands and bodies, for all divisions into pieces.

#include "haricot/service/session.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "service/service_world.hpp"
#include "support/random.hpp"

namespace haricot {
namespace {

using test::put_line;
using test::ServiceWorld;
using test::whole_put;

constexpr std::uint32_t kJobBytesMax = 3000;

// Returns the answer of a new session to bytes that arrive in pieces of the given lengths; the last
// piece has the rest. `directly`: pieces of large bodies are received directly.
std::string answer_to(const std::string& bytes, const std::vector<std::size_t>& lengths,
                      bool directly) {
  ServiceWorld world(kJobBytesMax);
  Session& session = world.connect();
  std::string received;
  std::size_t at = 0;
  const auto send = [&](std::size_t length) {
    const std::string_view piece = std::string_view(bytes).substr(at, length);
    at += piece.size();
    if (directly) {
      world.send(session, piece);
    } else {
      world.service.receive(session, piece, world.now);
    }
    world.settle();
    received += world.receive(session);
    world.settle();
  };
  for (const std::size_t length : lengths) send(length);
  send(bytes.size());
  received += world.ask(session, "");
  return received;
}

// Returns commands and bodies of all kinds, and their answers.
struct Script {
  std::string bytes;
  std::string answers;

  void add(std::string_view sent, std::string_view answered) {
    bytes += sent;
    answers += answered;
  }
};

Script make_script() {
  Script script;
  script.add("use t\r\n", "USING t\r\n");
  script.add(whole_put("small"), "INSERTED 1\r\n");
  script.add(whole_put(""), "INSERTED 2\r\n");
  script.add("\r\n", "UNKNOWN_COMMAND\r\n");
  script.add(whole_put("\r\n\r\n"), "INSERTED 3\r\n");
  script.add("peek 3\r\n", "FOUND 3 4\r\n\r\n\r\n\r\n");
  const std::string large = std::string(1020, 'l') + "\r\nx\r\r\n";
  script.add(whole_put(large), "INSERTED 4\r\n");
  script.add("peek 4\r\n", "FOUND 4 1026\r\n" + large + "\r\n");
  script.add(whole_put(std::string(kJobBytesMax + 1, '\r')), "JOB_TOO_BIG\r\n");
  script.add(put_line(3) + "abcde", "EXPECTED_CRLF\r\n");
  script.add(put_line(1030) + std::string(1030, 'y') + "\r\r", "EXPECTED_CRLF\r\n");
  script.add("delete x\r\n", "BAD_FORMAT\r\n");
  script.add("a\rb\nc\r\n", "UNKNOWN_COMMAND\r\n");
  script.add("use " + std::string(218, 'n') + "\r\n", "BAD_FORMAT\r\n");  // 224 bytes.
  script.add("use " + std::string(219, 'n') + "\r\n", "BAD_FORMAT\r\n");  // 225.
  script.add("use " + std::string(600, '\r') + "\n\r\n", "BAD_FORMAT\r\nUNKNOWN_COMMAND\r\n");
  script.add(std::string(500, 'q') + "\r\n", "BAD_FORMAT\r\n");
  script.add("list-tube-used\r\n", "USING t\r\n");
  script.add("watch t\r\nreserve\r\n", "WATCHING 2\r\nRESERVED 1 5\r\nsmall\r\n");
  script.add("delete 1\r\ndelete 1\r\n", "DELETED\r\nNOT_FOUND\r\n");
  return script;
}

TEST(Session, AnswersAScriptThatArrivesAtOnce) {
  const Script script = make_script();
  EXPECT_EQ(answer_to(script.bytes, {}, false), script.answers);
}

TEST(Session, AnswersTheSameForInputInTwoPieces) {
  const Script script = make_script();
  for (std::size_t split = 0; split <= script.bytes.size(); ++split) {
    ASSERT_EQ(answer_to(script.bytes, {split}, split % 2 == 0), script.answers) << split;
  }
}

TEST(Session, AnswersTheSameByteByByte) {
  const Script script = make_script();
  const std::vector<std::size_t> ones(script.bytes.size(), 1);
  EXPECT_EQ(answer_to(script.bytes, ones, false), script.answers);
  EXPECT_EQ(answer_to(script.bytes, ones, true), script.answers);
}

TEST(Session, AnswersTheSameInRandomPieces) {
  test::Random random;
  const Script script = make_script();
  for (int round = 0; round < 200; ++round) {
    std::vector<std::size_t> lengths;
    const std::uint64_t most = 1 + random.below(random.one_in(2) ? 10 : 2000);
    for (int i = 0; i < 2000; ++i) lengths.push_back(1 + random.below(most));
    ASSERT_EQ(answer_to(script.bytes, lengths, random.one_in(2)), script.answers);
  }
}

// Lines -------------------------------------------------------------------------------------------

TEST(Session, ALineMayHave224Bytes) {
  ServiceWorld world;
  Session& session = world.connect();
  std::string line = "put" + std::string(224 - 5 - 7, ' ') + "0 0 1 0\r\n";
  ASSERT_EQ(line.size(), 224u);
  EXPECT_EQ(world.ask(session, line + "\r\n"), "INSERTED 1\r\n");
  line.insert(3, " ");
  EXPECT_EQ(world.ask(session, line + "use t\r\n"), "BAD_FORMAT\r\nUSING t\r\n");
}

TEST(Session, ALongLineOfAnyLengthIsOneBadFormat) {
  for (std::size_t length = 215; length < 720; ++length) {
    ServiceWorld world;
    Session& session = world.connect();
    const std::string expected = length + 2 <= 224 ? "UNKNOWN_COMMAND\r\n" : "BAD_FORMAT\r\n";
    ASSERT_EQ(world.ask(session, std::string(length, 'z') + "\r\nuse t\r\n"),
              expected + "USING t\r\n")
        << length;
  }
}

TEST(Session, ASplitLineEndIsFoundAtEachLength) {
  for (const std::size_t length : {0u, 1u, 221u, 222u, 223u, 224u, 225u, 447u, 448u, 449u, 1000u}) {
    ServiceWorld world;
    Session& session = world.connect();
    world.send(session, std::string(length, 'z') + "\r");
    EXPECT_EQ(world.receive(session), "");
    const std::string expected = length + 2 <= 224 ? "UNKNOWN_COMMAND\r\n" : "BAD_FORMAT\r\n";
    EXPECT_EQ(world.ask(session, "\nuse t\r\n"), expected + "USING t\r\n") << length;
  }
}

TEST(Session, ALongLineIsNotKept) {
  ServiceWorld world;
  Session& session = world.connect();
  const std::string piece(64 * 1024, 'z');
  for (int i = 0; i < 100; ++i) {
    world.send(session, piece);
    world.settle();
    ASSERT_TRUE(session.wants_input());  // Kept bytes would count against its limit.
  }
  EXPECT_EQ(world.ask(session, "\r\n"), "BAD_FORMAT\r\n");
}

// Bodies ------------------------------------------------------------------------------------------

TEST(Session, BodiesAroundTheInlineLimitArriveWhole) {
  for (std::size_t bytes = JobStore::kInlineBodyBytesMax - 3;
       bytes <= JobStore::kInlineBodyBytesMax + 3; ++bytes) {
    std::string body(bytes, 'x');
    body.front() = '<';
    body.back() = '>';
    ServiceWorld world;
    Session& session = world.connect();
    EXPECT_EQ(world.ask(session, whole_put(body)), "INSERTED 1\r\n");
    EXPECT_EQ(world.ask(session, "reserve\r\n"),
              "RESERVED 1 " + std::to_string(bytes) + "\r\n" + body + "\r\n");
  }
}

TEST(Session, OffersDirectSpaceOnlyDuringALargeBody) {
  ServiceWorld world;
  Session& session = world.connect();
  EXPECT_TRUE(session.direct_space().empty());
  world.service.receive(session, put_line(2000).substr(0, 10), world.now);
  EXPECT_TRUE(session.direct_space().empty());
  world.service.receive(session, put_line(2000).substr(10) + "abc", world.now);
  ASSERT_EQ(session.direct_space().size(), 1997u);
  std::memset(session.direct_space().data(), 'd', 1000);
  world.service.receive_directly(session, 1000);
  ASSERT_EQ(session.direct_space().size(), 997u);
  world.service.receive(session, std::string(500, 'e'), world.now);
  ASSERT_EQ(session.direct_space().size(), 497u);
  std::memset(session.direct_space().data(), 'f', 497);
  world.service.receive_directly(session, 497);
  EXPECT_TRUE(session.direct_space().empty());
  EXPECT_EQ(world.ask(session, "\r\n"), "INSERTED 1\r\n");
  EXPECT_TRUE(session.direct_space().empty());
  EXPECT_EQ(world.ask(session, "peek 1\r\n"), "FOUND 1 2000\r\nabc" + std::string(1000, 'd') +
                                                  std::string(500, 'e') + std::string(497, 'f') +
                                                  "\r\n");
}

TEST(Session, OffersNoDirectSpaceForASmallOrRefusedBody) {
  ServiceWorld world(kJobBytesMax);
  Session& session = world.connect();
  world.service.receive(session, put_line(1024), world.now);
  EXPECT_TRUE(session.direct_space().empty());
  world.service.receive(session, std::string(1024, 'x') + "\r\n", world.now);
  world.service.receive(session, put_line(kJobBytesMax + 1), world.now);
  EXPECT_TRUE(session.direct_space().empty());
}

TEST(Session, AnOversizedBodyOf4GigabytesIsDiscarded) {
  ServiceWorld world;
  Session& session = world.connect();
  world.send(session, put_line(4294967295));
  const std::string piece(1024 * 1024, 'x');
  for (int i = 0; i < 4095; ++i) {
    world.service.receive(session, piece, world.now);
    world.settle();
  }
  EXPECT_TRUE(session.wants_input());
  EXPECT_EQ(world.receive(session), "");
  world.service.receive(session, std::string_view(piece).substr(1), world.now);
  EXPECT_EQ(world.ask(session, "\r\nuse t\r\n"), "JOB_TOO_BIG\r\nUSING t\r\n");
}

TEST(Session, AnOversizedBodyEndsAtItsAnnouncedSize) {
  ServiceWorld world(10);
  Session& session = world.connect();
  // The last two bytes of the body are not checked.
  EXPECT_EQ(world.ask(session, put_line(11) + "12345678901xyuse t\r\n"),
            "JOB_TOO_BIG\r\nUSING t\r\n");
}

TEST(Session, ALineFollowsABodyWithoutItsEnd) {
  ServiceWorld world;
  Session& session = world.connect();
  EXPECT_EQ(world.ask(session, put_line(3) + "abcde\r\n"), "EXPECTED_CRLF\r\nUNKNOWN_COMMAND\r\n");
  EXPECT_EQ(world.ask(session, put_line(1500) + std::string(1502, 'x') + "use t\r\n"),
            "EXPECTED_CRLF\r\nUSING t\r\n");
  EXPECT_EQ(world.ask(session, whole_put("good")), "INSERTED 3\r\n");
}

TEST(Session, TheBodyOfAMalformedPutIsReadAsCommands) {
  ServiceWorld world;
  Session& session = world.connect();
  EXPECT_EQ(world.ask(session, "put 0 0 1 x\r\nstats-job 1\r\n"), "BAD_FORMAT\r\nNOT_FOUND\r\n");
}

TEST(Session, ReasonsToRefuseABodyHaveAnOrder) {
  ServiceWorld world(2000);
  Session& session = world.connect();
  world.service.drain();
  EXPECT_EQ(world.ask(session, put_line(2001) + std::string(2001, 'x') + "yy"), "JOB_TOO_BIG\r\n");
  EXPECT_EQ(world.ask(session, put_line(2) + "xxyy"), "EXPECTED_CRLF\r\n");
  EXPECT_EQ(world.ask(session, whole_put("xx")), "DRAINING\r\n");
  EXPECT_EQ(world.ask(session, whole_put(std::string(1500, 'x'))), "DRAINING\r\n");
}

TEST(Session, ARefusedBodyIsFreed) {
  ServiceWorld world;
  Session& session = world.connect();
  world.journal.refuse_from(1, JournalStatus::full);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(world.ask(session, whole_put(std::string(60'000, 'x'))), "OUT_OF_MEMORY\r\n");
  }
  world.journal.accept();
  EXPECT_EQ(world.ask(session, whole_put("x")), "INSERTED 11\r\n");
}

TEST(Session, ClosingDuringABodyDiscardsIt) {
  for (const std::size_t sent : {0u, 1u, 500u, 1999u, 2000u, 2001u}) {
    ServiceWorld world;
    Session& session = world.connect();
    Session& other = world.connect();
    world.send(session, put_line(2000) + std::string(sent, 'x'));
    world.disconnect(session);
    EXPECT_EQ(world.stat(other, "total-jobs"), 0u);
    EXPECT_EQ(world.stat(other, "cmd-put"), 1u);
    EXPECT_EQ(world.ask(other, whole_put("y")), "INSERTED 2\r\n");  // The id is taken.
  }
}

}  // namespace
}  // namespace haricot
