#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "support/daemon_fixture.hpp"

namespace haricot::test {
namespace {

// Commands that arrive in all pieces that a network can produce.

class DaemonLines : public DaemonTest {};

TEST_F(DaemonLines, OneByteAtATimeIsAsGoodAsAllAtOnce) {
  ASSERT_TRUE(start()) << server_.failure();
  const Client client = connect();
  const std::string body = varied_bytes(200, 7);
  const std::string bytes = "use tube\r\nput 1 0 60 200\r\n" + body +
                            "\r\nnonsense\r\nwatch tube\r\nreserve\r\nput 0 0 60 1\r\nxyz\r\n" +
                            "delete 1\r\nlist-tube-used\r\n";
  for (const char byte : bytes) {
    ASSERT_TRUE(client->send(std::string_view(&byte, 1)));
    // The bytes must leave as one segment and be read as such.
    ::poll(nullptr, 0, 0);
  }
  const std::string answers =
      "USING tube\r\nINSERTED 1\r\nUNKNOWN_COMMAND\r\nWATCHING 2\r\n"
      "RESERVED 1 200\r\n" +
      body + "\r\nEXPECTED_CRLF\r\nUNKNOWN_COMMAND\r\nDELETED\r\nUSING tube\r\n";
  // The put's trailer is "yz", and the next command is an empty line.
  EXPECT_EQ(escaped(client->read_exact(answers.size()).value_or(client->failure())),
            escaped(answers));
}

// A line is cut at every byte, and the command after it is answered. The server reads both parts
// separately: the second one is sent after the answer on another connection shows that the first
// was read.
TEST_F(DaemonLines, ALineCutAnywhereNeverSwallowsTheCommandBehindIt) {
  ASSERT_TRUE(start()) << server_.failure();
  const Client client = connect();
  const Client other = connect();
  for (const std::size_t length :
       std::vector<std::size_t>{200, 222, 223, 224, 225, 226, 227, 300, 447, 448, 449, 450, 460}) {
    SCOPED_TRACE(length);
    const std::string line = "use " + std::string(length - 6, 'x') + "\r\n";
    const bool too_long = length > 224 || length - 6 > 200;
    const std::string answer = too_long ? "BAD_FORMAT" : "USING " + std::string(length - 6, 'x');
    for (std::size_t cut = 1; cut < length; ++cut) {
      ASSERT_TRUE(client->send(line.substr(0, cut)));
      ASSERT_EQ(other->ask("list-tube-used"), "USING default\r\n");
      ASSERT_TRUE(client->send(line.substr(cut) + "watch default\r\n"));
      ASSERT_EQ(client->read_line(), answer) << "cut behind byte " << cut;
      ASSERT_EQ(client->read_line(), "WATCHING 1") << "cut behind byte " << cut;
    }
  }
}

// The last byte of a read is the CR of the line end, or another CR.
TEST_F(DaemonLines, ACarriageReturnAloneEndsNoLine) {
  ASSERT_TRUE(start()) << server_.failure();
  const Client client = connect();
  const Client other = connect();
  for (const std::size_t length : std::vector<std::size_t>{5, 222, 223, 224, 225, 300}) {
    SCOPED_TRACE(length);
    ASSERT_TRUE(client->send(std::string(length, 'x') + "\r"));
    ASSERT_EQ(other->ask("list-tube-used"), "USING default\r\n");
    ASSERT_TRUE(client->send("\r"));
    ASSERT_EQ(other->ask("list-tube-used"), "USING default\r\n");
    ASSERT_TRUE(client->send("x\r"));
    ASSERT_EQ(other->ask("list-tube-used"), "USING default\r\n");
    ASSERT_TRUE(client->send("\nwatch default\r\n"));
    ASSERT_EQ(client->read_line(), length + 5 > 224 ? "BAD_FORMAT" : "UNKNOWN_COMMAND");
    ASSERT_EQ(client->read_line(), "WATCHING 1");
  }
}

// Large bodies in both directions, and other clients that are served meanwhile.

using Clock = std::chrono::steady_clock;

class DaemonBodies : public DaemonTest, public ::testing::WithParamInterface<std::size_t> {
 protected:
  // Makes a request of another client, and updates the longest time that one took.
  void serve_another(WireClient& other) {
    const auto start = Clock::now();
    ASSERT_EQ(other.ask("list-tube-used"), "USING default\r\n");
    longest_ = std::max(longest_, Clock::now() - start);
  }

  Clock::duration longest_{};
};

INSTANTIATE_TEST_SUITE_P(OfEachSize, DaemonBodies,
                         ::testing::Values(0, 1, 1023, 1024, 1025, 4095, 4096, 65535, 65536, 262144,
                                           20'000'000, kIsSanitized ? 30'000'000 : 100'000'000),
                         [](const auto& instance) {
                           return std::to_string(instance.param) + "Bytes";
                         });

TEST_P(DaemonBodies, ComeBackByteForByteWhileOthersAreServed) {
  constexpr std::size_t kPieceBytes = 1'000'000;
  ASSERT_TRUE(start({"-z", "100000000"})) << server_.failure();
  const std::string body = varied_bytes(GetParam(), 11);
  const Client client = connect();
  const Client other = connect();

  client->send_line("put 0 0 60 " + std::to_string(body.size()));
  for (std::size_t at = 0; at < body.size(); at += kPieceBytes) {
    ASSERT_TRUE(client->send(std::string_view(body).substr(at, kPieceBytes)));
    serve_another(*other);
  }
  client->send("\r\n");
  ASSERT_EQ(client->read_answer(), "INSERTED 1\r\n");

  client->send_line("reserve");
  ASSERT_EQ(client->read_line(), "RESERVED 1 " + std::to_string(body.size()));
  for (std::size_t at = 0; at < body.size(); at += kPieceBytes) {
    const std::string_view expected = std::string_view(body).substr(at, kPieceBytes);
    ASSERT_TRUE(client->read_exact(expected.size()) == expected) << "behind byte " << at;
    serve_another(*other);
  }
  EXPECT_EQ(client->read_line(), "");
  EXPECT_EQ(client->ask("delete 1"), "DELETED\r\n");
  std::printf("longest wait of another client: %.1f ms\n",
              std::chrono::duration<double, std::milli>(longest_).count());
}

class DaemonLargeBodies : public DaemonTest {};

TEST_F(DaemonLargeBodies, AJobDeletedWhileItIsSentArrivesWhole) {
  ASSERT_TRUE(start({"-z", "30000000"})) << server_.failure();
  const std::string body = varied_bytes(20'000'000, 5);
  const Client client = connect();
  ASSERT_EQ(client->put(body), "INSERTED 1\r\n");
  const Client slow = connect_narrow();
  slow->send_line("peek 1");
  ASSERT_TRUE(slow->has_input_within(kAnswerDeadline));
  ASSERT_EQ(client->ask("delete 1"), "DELETED\r\n");
  // A body that would reuse the job's memory.
  ASSERT_EQ(client->put(varied_bytes(20'000'000, 6)), "INSERTED 2\r\n");
  EXPECT_TRUE(slow->read_answer() == "FOUND 1 20000000\r\n" + body + "\r\n");
}

// Bodies below and above the limit of copying, with small answers between them.
TEST_F(DaemonLargeBodies, PipelinedBodiesOfAllSizesKeepTheirOrder) {
  ASSERT_TRUE(start({"-z", "2000000"})) << server_.failure();
  std::vector<std::string> bodies;
  for (std::uint32_t i = 0; i < 200; ++i) {
    const std::size_t sizes[] = {0, 10, 1000, 1100, 4095, 4096, 5000, 70'000, 300'000};
    bodies.push_back(varied_bytes(sizes[i % std::size(sizes)] + i % 7, i));
  }
  std::string requests;
  std::string answers;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const std::string id = std::to_string(i + 1);
    const std::string bytes = std::to_string(bodies[i].size());
    requests += "put 0 0 60 " + bytes + "\r\n" + bodies[i] + "\r\n";
    answers += "INSERTED " + id + "\r\n";
    requests += "peek " + id + "\r\nuse tube-" + id + "\r\n";
    answers += "FOUND " + id + " " + bytes + "\r\n" + bodies[i] + "\r\nUSING tube-" + id + "\r\n";
  }
  const Client client = connect();
  ASSERT_TRUE(client->send(requests));
  EXPECT_TRUE(client->read_exact(answers.size()) == answers);
}

// More commands than a session may run in a turn, so that the put is separated from its body, or
// the body is split, while the rest is still in the socket. The lengths of the commands determine
// how much of the body the first read includes.
TEST_F(DaemonLargeBodies, ABodyBehindManyCommandsArrivesWhole) {
  ASSERT_TRUE(start({"-z", "100000"})) << server_.failure();
  const std::string body = varied_bytes(100'000, 9);
  for (const std::size_t command_bytes : std::vector<std::size_t>{3, 9, 10, 11, 12, 28}) {
    for (const std::size_t commands :
         std::vector<std::size_t>{1023, 1024, 1025, 2047, 2048, 2049, 3071, 3072, 3073}) {
      SCOPED_TRACE(std::to_string(commands) + " of " + std::to_string(command_bytes) + " bytes");
      const std::string nonsense = std::string(command_bytes - 2, 'x') + "\r\n";
      const Client client = connect();
      client->send(repeated(nonsense, commands) + "put 0 0 60 100000\r\n" + body +
                   "\r\nreserve\r\n");
      for (std::size_t i = 0; i < commands; ++i) ASSERT_EQ(client->read_line(), "UNKNOWN_COMMAND");
      const auto inserted = client->read_line();
      ASSERT_TRUE(inserted && inserted->starts_with("INSERTED ")) << client->failure();
      const std::string id = inserted->substr(9);
      ASSERT_EQ(client->read_line(), "RESERVED " + id + " 100000");
      ASSERT_TRUE(client->read_exact(body.size()) == body);
      ASSERT_EQ(client->read_line(), "");
      ASSERT_EQ(client->ask("delete " + id), "DELETED\r\n");
    }
  }
}

TEST_F(DaemonLargeBodies, ABodyThatIsTooBigBehindManyCommandsIsSkippedWhole) {
  ASSERT_TRUE(start()) << server_.failure();
  const std::string body = repeated("delete 1\r\n", 10'000);
  for (const std::size_t commands : std::vector<std::size_t>{1024, 2047, 2048, 2049, 3072}) {
    SCOPED_TRACE(commands);
    const Client client = connect();
    client->send(repeated("x\r\n", commands) + "put 0 0 60 100000\r\n" + body + "\r\n");
    for (std::size_t i = 0; i < commands; ++i) ASSERT_EQ(client->read_line(), "UNKNOWN_COMMAND");
    ASSERT_EQ(client->read_line(), "JOB_TOO_BIG");
    ASSERT_EQ(client->ask("list-tube-used"), "USING default\r\n");
  }
}

// After a large body the next read is small at first, so that the next body needs no copy: wherever
// the small part ends, in the line, in the body or after it.
TEST_F(DaemonLargeBodies, ABodyBehindAnotherArrivesWhole) {
  ASSERT_TRUE(start()) << server_.failure();
  const Client client = connect();
  int id = 0;
  for (const std::size_t size : std::vector<std::size_t>{1, 100, 400, 2000, 30'000, 60'000}) {
    for (std::size_t before = 2; before < 540; before += before < 470 ? 78 : 3) {
      SCOPED_TRACE(std::to_string(size) + " behind " + std::to_string(before));
      ASSERT_EQ(client->put(varied_bytes(50'000, 3)), "INSERTED " + std::to_string(++id) + "\r\n");
      // Lines that are too long are discarded up to their end.
      const std::string body = varied_bytes(size, static_cast<std::uint32_t>(before));
      client->send(std::string(before - 2, 'x') + "\r\nput 0 0 60 " + std::to_string(size) +
                   "\r\n" + body + "\r\npeek " + std::to_string(++id) + "\r\n");
      ASSERT_EQ(client->read_line(), before > 224 ? "BAD_FORMAT" : "UNKNOWN_COMMAND");
      ASSERT_EQ(client->read_line(), "INSERTED " + std::to_string(id));
      ASSERT_TRUE(client->read_answer() == "FOUND " + std::to_string(id) + " " +
                                               std::to_string(size) + "\r\n" + body + "\r\n");
    }
  }
}

}  // namespace
}  // namespace haricot::test
