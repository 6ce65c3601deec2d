// Every socket call of the daemon fails once, in all ways that the kernel has for it: the daemon
// continues, others are served, and nothing leaks. If the failure is transient, the client does not
// even notice.

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "planned_failures.hpp"
#include "support/daemon_fixture.hpp"
#include "support/process_facts.hpp"

namespace haricot::test {
namespace {

using faults::kOneByte;
using faults::PlannedFailures;
using faults::SocketCall;

struct Case {
  const char* name;
  SocketCall call;
  std::vector<std::uint32_t> errors;
  bool passes;  // The client gets all its answers.
};

void PrintTo(const Case& of, std::ostream* out) {
  *out << of.name;
}

constexpr std::size_t kBinlogFilesMore = 3;
const std::string kLargeBody = varied_bytes(50'000, 1);

class SocketFailures : public DaemonTest, public ::testing::WithParamInterface<Case> {
 protected:
  void SetUp() override {
    calls_.open(folder_.path() + "/failing");
    ServerOptions options;
    options.environment = calls_.environment();
    options.arguments = {"-b", folder_.path(), "-f", "0"};
    ASSERT_TRUE(start_with(options)) << server_.failure();
  }
  // A client that uses all of these calls. Returns the first wrong answer; empty: none.
  std::string use_the_server() {
    const auto client = std::make_unique<WireClient>();
    if (!client->connect(server_)) return client->failure();
    const std::string put = client->put("small");
    if (!put.starts_with("INSERTED ")) return put;
    const std::string large = client->put(kLargeBody);
    if (!large.starts_with("INSERTED ")) return large;
    for (const std::string& answer : {put, large}) {
      const std::string id = answer.substr(9, answer.find('\r') - 9);
      const std::string found = client->ask("peek " + id);
      if (!found.starts_with("FOUND " + id + " ")) return found;
      if (const std::string is = client->ask("reserve-job " + id); !is.starts_with("RESERVED ")) {
        return is;
      }
      if (const std::string is = client->ask("delete " + id); is != "DELETED\r\n") return is;
    }
    if (!client->send("use a\r\nuse b\r\nstats\r\n")) return client->failure();
    for (const char* begin : {"USING a\r\n", "USING b\r\n", "OK "}) {
      const std::string answer = client->read_answer().value_or("");
      if (!answer.starts_with(begin)) return begin + answer;
    }
    client->shutdown_write();
    return client->at_eof() ? "" : "it is not closed";
  }

  // The number of the binlog's own files varies.
  std::size_t sockets() const {
    std::size_t count = 0;
    for (const auto& [number, what] : open_descriptors(server_.pid())) {
      if (what.starts_with("socket:")) ++count;
    }
    return count;
  }

  PlannedFailures calls_;
};

TEST_P(SocketFailures, AreSurvived) {
  constexpr std::uint64_t kCallsMax = 500;
  ASSERT_EQ(use_the_server(), "");
  const std::unique_ptr<WireClient> other = connect();
  ASSERT_EQ(other->ask("use other"), "USING other\r\n");
  const std::size_t sockets_before = sockets();
  const std::size_t descriptors = open_descriptors(server_.pid()).size();
  for (const std::uint32_t error : GetParam().errors) {
    std::uint64_t nth = 1;
    bool was_hit = true;
    for (; was_hit && nth < kCallsMax && !HasFailure(); ++nth) {
      SCOPED_TRACE("error " + std::to_string(error) + ", call " + std::to_string(nth));
      calls_.plan(GetParam().call, error, nth, nth);
      const std::string wrong = use_the_server();
      was_hit = calls_.end();
      if (!was_hit || GetParam().passes) {
        EXPECT_EQ(wrong, "");
      }
      ASSERT_TRUE(server_.running()) << server_.standard_error();
      // The server, and the client that was not involved.
      EXPECT_EQ(other->ask("list-tube-used"), "USING other\r\n");
    }
    EXPECT_GT(nth, 1U);
    EXPECT_LT(nth, kCallsMax);
  }
  EXPECT_EQ(use_the_server(), "");
  EXPECT_TRUE(eventually([&] { return sockets() == sockets_before; }));
  EXPECT_LE(open_descriptors(server_.pid()).size(), descriptors + kBinlogFilesMore);
  EXPECT_EQ(server_stat("current-jobs-reserved"), 0U);
  EXPECT_EQ(server_.stop(), (ExitStatus{.code = 0}));
}

INSTANTIATE_TEST_SUITE_P(
    Of, SocketFailures,
    ::testing::Values(
        Case{"RecvThatPasses", SocketCall::recv, {EINTR, EAGAIN, kOneByte}, true},
        Case{"Recv", SocketCall::recv, {ECONNRESET, ETIMEDOUT, ENOMEM, EHOSTUNREACH}, false},
        Case{"ReadvThatPasses", SocketCall::readv, {EINTR, EAGAIN, kOneByte}, true},
        Case{"Readv", SocketCall::readv, {ECONNRESET, ENOMEM}, false},
        Case{"SendThatPasses", SocketCall::send, {EINTR, EAGAIN, kOneByte}, true},
        Case{"Send", SocketCall::send, {ECONNRESET, EPIPE, ENOBUFS, ENOMEM}, false},
        Case{"SendmsgThatPasses", SocketCall::sendmsg, {EINTR, EAGAIN, kOneByte}, true},
        Case{"Sendmsg", SocketCall::sendmsg, {ECONNRESET, EPIPE, ENOBUFS, ENOMEM}, false},
        Case{"AcceptThatPasses",
             SocketCall::accept4,
             {EAGAIN, EINTR, ECONNABORTED, EMFILE, ENFILE, ENOBUFS, ENOMEM, EPROTO, EPERM},
             true},
        Case{"EpollAdd", SocketCall::epoll_add, {ENOMEM, ENOSPC}, false},
        Case{"EpollWait", SocketCall::epoll_wait, {EINTR}, true},
        Case{"Read", SocketCall::read, {EINTR, EAGAIN}, true}),
    [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace haricot::test
