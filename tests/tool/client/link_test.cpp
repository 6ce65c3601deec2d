#include "tool/client/link.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/address.hpp"
#include "os/clock.hpp"
#include "os/descriptor.hpp"
#include "os/poller.hpp"
#include "support/temporary_folder.hpp"

namespace haricot::tool {
namespace {

// A link to a listener of the test on a unix socket.
class LinkTest : public ::testing::Test {
 protected:
  static constexpr Duration kPatience = Duration::seconds(30);

  LinkTest() : address_(address_of(folder_.file("socket"))) {
    stats_.take = record_handler();
    stats_.patience = kPatience;
  }

  static Address address_of(const std::string& path) {
    std::string error;
    return Address::find("unix:" + path, error).value();
  }
  void listen(int queue = 16) {
    listener_ = os::Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = os::unix_address(folder_.file("socket"));
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    ASSERT_EQ(::bind(listener_.get(), generic, sizeof address), 0);
    ASSERT_EQ(::listen(listener_.get(), queue), 0);
  }
  os::Descriptor accept() {
    return os::Descriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  // Returns as many connections as the queue of the listener holds.
  std::vector<os::Descriptor> fill_queue() const {
    std::vector<os::Descriptor> all;
    while (true) {
      os::Descriptor other;
      if (address_.connect(other, 0) != 0) return all;
      all.push_back(std::move(other));
    }
  }
  static void say(const os::Descriptor& server, std::string_view words) {
    ASSERT_EQ(::send(server.get(), words.data(), words.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(words.size()));
  }
  static std::string hear(const os::Descriptor& server) {
    char bytes[65536];
    const ssize_t count = ::recv(server.get(), bytes, sizeof bytes, 0);
    return {bytes, count > 0 ? static_cast<std::size_t>(count) : 0};
  }

  // Waits for an event of the link and handles it.
  void step() {
    link_.advance(os::read_clock());
    pollfd wanted{link_.descriptor(), link_.wanted_events(), 0};
    constexpr int kLongMs = 20'000;
    constexpr int kShortMs = 1;
    ::poll(&wanted, 1, wanted.fd < 0 ? kShortMs : kLongMs);
    link_.handle(static_cast<std::uint16_t>(wanted.revents));
  }
  void open() {
    link_.open(kPatience, os::read_clock());
    while (link_.is_open() && !link_.is_connected()) step();
    server_ = accept();
  }
  void ask() {
    link_.pipeline().ask(stats_);
    if (link_.is_connected()) link_.advance(os::read_clock());
  }
  AnswerHandler record_handler() { return AnswerHandler::to<&LinkTest::record>(*this); }
  void record(Request& /*request*/, const Answer* answer) {
    events_.push_back(answer == nullptr ? "null" : std::string(answer->line));
    if (closes_) link_.close();
  }
  using Events = std::vector<std::string>;

  test::TemporaryFolder folder_;
  Address address_;
  os::Descriptor listener_;
  os::Descriptor server_;
  Events events_;
  bool closes_ = false;  // The handler of answers closes the link.
  bool opens_again_ = false;
  Request stats_{.commands = "stats\r\n"};
  std::array<char, 4096> buffer_{};
  Link link_{address_,
             buffer_,
             {.opened = [this](Instant) { events_.emplace_back("opened"); },
              .lost =
                  [this](Instant now, const Loss& loss) {
                    events_.push_back(to_sentence(loss, "late"));
                    if (opens_again_) link_.open(kPatience, now);
                  }}};
};

TEST_F(LinkTest, SendsRequestsThatWereAskedBeforeItWasConnected) {
  listen();
  link_.open(kPatience, os::read_clock());
  ask();
  while (!link_.is_connected()) step();
  link_.advance(os::read_clock());
  server_ = accept();
  EXPECT_EQ(hear(server_), "stats\r\n");
  say(server_, "DRAINING\r\n");
  step();
  EXPECT_EQ(events_, (Events{"opened", "DRAINING"}));
}

TEST_F(LinkTest, SendsTheRequestsOfAHandlerTogether) {
  listen();
  open();
  Request first{.commands = "peek 1\r\n"};
  Request second{.commands = "peek 2\r\n"};
  auto ask_more = [&](const Request&, const Answer* answer) {
    if (answer == nullptr) return;
    first.take = second.take = record_handler();
    link_.pipeline().ask(first);
    link_.pipeline().ask(second);
    char byte = 0;
    EXPECT_EQ(::recv(server_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT), -1);
  };
  stats_.take = AnswerHandler::of(ask_more);
  ask();
  EXPECT_EQ(hear(server_), "stats\r\n");
  say(server_, "DRAINING\r\n");
  step();
  EXPECT_EQ(hear(server_), "peek 1\r\npeek 2\r\n");
  link_.close();
  EXPECT_EQ(events_, (Events{"opened", "null", "null"}));
}

TEST_F(LinkTest, AServerThatCannotBeReachedIsReportedByAdvance) {
  link_.open(kPatience, os::read_clock());
  EXPECT_EQ(events_, Events{});
  EXPECT_LE(link_.next_event(), os::read_clock());
  ask();
  step();
  const std::string why = "cannot connect to " + address_.name() + ": No such file or directory";
  EXPECT_EQ(events_, (Events{"null", why}));
  EXPECT_FALSE(link_.is_open());
  EXPECT_EQ(link_.next_event(), Instant::never());
}

TEST_F(LinkTest, AFullQueueIsTriedAgain) {
  listen(0);
  const std::vector<os::Descriptor> others = fill_queue();
  link_.open(kPatience, os::read_clock());
  for (int i = 0; i < 3; ++i) step();
  EXPECT_TRUE(link_.is_open());
  EXPECT_EQ(link_.descriptor(), -1);
  for (std::size_t i = 0; i < others.size(); ++i) accept();
  while (!link_.is_connected()) step();
  EXPECT_EQ(events_, Events{"opened"});
}

TEST_F(LinkTest, AQueueThatStaysFullIsGivenUp) {
  listen(0);
  const std::vector<os::Descriptor> others = fill_queue();
  const Instant now = os::read_clock();
  link_.open(kPatience, now);
  link_.advance(now);
  EXPECT_TRUE(link_.is_open());
  link_.advance(now + kPatience);
  EXPECT_EQ(events_, Events{"cannot connect to " + address_.name() + ": Connection timed out"});
}

TEST_F(LinkTest, AServerThatClosesTheConnectionIsLost) {
  listen();
  open();
  ask();
  EXPECT_EQ(hear(server_), "stats\r\n");
  say(server_, "DRAI");
  step();
  server_.reset();
  step();
  EXPECT_EQ(events_, (Events{"opened", "null", "the server closed the connection"}));
  EXPECT_FALSE(link_.is_open());
}

TEST_F(LinkTest, ASilentServerIsLate) {
  listen();
  open();
  EXPECT_EQ(link_.next_event(), Instant::never());
  ask();
  const Instant due = link_.next_event();
  link_.advance(due - Duration::nanoseconds(1));
  EXPECT_TRUE(link_.is_open());
  link_.advance(due);
  EXPECT_EQ(events_, (Events{"opened", "null", "late"}));
}

TEST_F(LinkTest, AServerOfAnotherKindIsForeign) {
  listen();
  open();
  ask();
  say(server_, "SSH-2.0-OpenSSH_9.2\r\n");
  step();
  EXPECT_EQ(events_,
            (Events{"opened", "null", "not a beanstalk server; it sent: SSH-2.0-OpenSSH_9.2"}));
}

TEST_F(LinkTest, AnUnfinishedLineShowsAServerOfAnotherKind) {
  listen();
  for (const bool is_closed : {true, false}) {
    open();
    ask();
    EXPECT_EQ(hear(server_), "stats\r\n");  // Unread bytes would make the close an error.
    say(server_, "SSH-2.0");
    step();
    EXPECT_TRUE(link_.is_open());
    if (is_closed) {
      server_.reset();
      step();
    } else {
      link_.advance(link_.next_event());
    }
    EXPECT_EQ(events_, (Events{"opened", "null", "not a beanstalk server; it sent: SSH-2.0"}));
    events_.clear();
  }
}

TEST_F(LinkTest, UnaskedBytesEndTheConnection) {
  listen();
  for (const auto& [words, why] :
       {std::pair<const char*, const char*>{"INSERTED 5\r\n", "unexpected answer: INSERTED 5"},
        {"220 mail ESMTP\r\n", "not a beanstalk server; it sent: 220 mail ESMTP"}}) {
    open();
    say(server_, words);
    step();
    EXPECT_EQ(events_, (Events{"opened", why}));
    events_.clear();
  }
}

TEST_F(LinkTest, AFailedSendIsReportedByAdvance) {
  listen();
  open();
  server_.reset();
  link_.pipeline().ask(stats_);
  EXPECT_LE(link_.next_event(), os::read_clock());
  link_.advance(os::read_clock());
  EXPECT_EQ(events_, (Events{"opened", "null", "cannot send: Broken pipe"}));
}

TEST_F(LinkTest, AHandlerMayCloseIt) {
  listen();
  open();
  ask();
  closes_ = true;
  say(server_, "DRAINING\r\nDRAINING\r\n");
  step();
  EXPECT_EQ(events_, (Events{"opened", "DRAINING"}));
  EXPECT_FALSE(link_.is_open());
}

TEST_F(LinkTest, MayBeOpenedAgainWhenItIsLost) {
  listen();
  open();
  opens_again_ = true;
  server_.reset();
  step();
  EXPECT_TRUE(link_.is_open());
  EXPECT_FALSE(link_.is_connected());
  while (!link_.is_connected()) step();
  EXPECT_EQ(events_, (Events{"opened", "the server closed the connection", "opened"}));
}

TEST_F(LinkTest, SendsTheRestWhenTheServerReads) {
  listen();
  open();
  const std::string much = std::string(4'000'000, 'x') + "\r\n";
  stats_.commands = much;
  ask();
  EXPECT_EQ(link_.wanted_events(), POLLIN | POLLOUT);
  std::string heard;
  while (heard.size() < much.size()) {
    heard += hear(server_);
    link_.advance(os::read_clock());
  }
  EXPECT_EQ(heard, much);
  EXPECT_EQ(link_.wanted_events(), POLLIN);
}

TEST_F(LinkTest, HandsItsConnectionOver) {
  listen();
  open();
  const os::Descriptor socket = link_.release();
  EXPECT_FALSE(link_.is_open());
  say(socket, "list-tube-used\r\n");
  EXPECT_EQ(hear(server_), "list-tube-used\r\n");
}

TEST_F(LinkTest, IsServedByAPoller) {
  os::Poller poller;
  ASSERT_TRUE(poller.open());
  listen();
  link_.set_poller(poller);
  link_.open(kPatience, os::read_clock());
  ask();
  while (events_.size() < 3) {
    const Instant now = os::read_clock();
    for (const os::Poller::Event& event : poller.wait(now, link_.next_event())) event.handle();
    link_.advance(os::read_clock());
    if (!server_ && link_.is_connected()) {
      server_ = accept();
      EXPECT_EQ(hear(server_), "stats\r\n");
      say(server_, "DRAINING\r\n");
    }
    if (events_.size() == 2) server_.reset();
  }
  EXPECT_EQ(events_, (Events{"opened", "DRAINING", "the server closed the connection"}));
}

}  // namespace
}  // namespace haricot::tool
