// Commands that arrive in all pieces that a network can produce.

#include <gtest/gtest.h>
#include <poll.h>

#include <string>
#include <vector>

#include "support/daemon_fixture.hpp"

namespace haricot::test {
namespace {

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

}  // namespace
}  // namespace haricot::test
