#include "web/http/exchange.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace haricot::web {
namespace {

class ExchangeTest : public testing::Test {
 protected:
  std::shared_ptr<Exchange> begin(Request request = {}) {
    if (request.method == Method::other) request.method = Method::get;
    return std::make_shared<Exchange>(
        std::move(request), server_,
        Exchange::Connection{&changes_, [](void* self) { ++*static_cast<int*>(self); }});
  }
  static std::string take(Exchange& exchange, std::size_t bytes = std::string::npos) {
    const std::string result(exchange.output().substr(0, bytes));
    exchange.sent(result.size());
    return result;
  }

  std::vector<std::string> acts_;
  int changes_ = 0;
  Exchange::Server server_{
      &acts_,
      [](void* self, const Request& request, std::string_view action, std::string_view server,
         std::string_view what, std::string_view result) {
        static_cast<std::vector<std::string>*>(self)->push_back(
            request.peer + "/" + std::string(action) + "/" + std::string(server) + "/" +
            std::string(what) + "/" + std::string(result));
      },
      "X-Common: yes\r\n"};
};

TEST_F(ExchangeTest, WritesAResponse) {
  const auto exchange = begin();
  exchange->respond({200, "text/plain", "hello", {{"X-A", "b"}}});
  EXPECT_TRUE(exchange->is_ended());
  EXPECT_FALSE(exchange->has_to_close());
  EXPECT_EQ(changes_, 1);
  EXPECT_EQ(take(*exchange),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\nX-A: b\r\n"
            "Cache-Control: no-store\r\nX-Common: yes\r\n\r\nhello");
}

TEST_F(ExchangeTest, AnswersHeadWithoutTheBody) {
  const auto exchange = begin({.method = Method::head});
  exchange->respond({200, "text/plain", "hello", {}});
  const std::string bytes = take(*exchange);
  EXPECT_NE(bytes.find("Content-Length: 5\r\n"), std::string::npos);
  EXPECT_TRUE(bytes.ends_with("\r\n\r\n"));
}

TEST_F(ExchangeTest, AnswersWhoHasTheTagWithout) {
  for (const char* const known : {"\"1\"", "W/\"1\"", "\"0\", \"1\"", "*"}) {
    const auto exchange = begin({.method = Method::get, .headers = {{"if-none-match", known}}});
    exchange->respond(
        {200, "text/plain", "hello", {{"ETag", "\"1\""}, {"Cache-Control", "no-cache"}}});
    const std::string bytes = take(*exchange);
    EXPECT_TRUE(bytes.starts_with("HTTP/1.1 304 Not Modified\r\n")) << known;
    EXPECT_TRUE(bytes.ends_with("\r\n\r\n"));
    EXPECT_EQ(bytes.find("Content-"), std::string::npos);
    EXPECT_NE(bytes.find("ETag: \"1\"\r\n"), std::string::npos);
  }
  const auto other = begin({.method = Method::get, .headers = {{"If-None-Match", "\"2\""}}});
  other->respond({200, "text/plain", "hello", {{"ETag", "\"1\""}}});
  EXPECT_TRUE(take(*other).ends_with("hello"));
}

TEST_F(ExchangeTest, LetsNoByteOfAValueEndAHeader) {
  const auto exchange = begin();
  exchange->respond({303, "", "", {{"Location", "a\r\nSet-Cookie: x\n\0"}}});
  EXPECT_NE(take(*exchange).find("Location: a??Set-Cookie: x?\r\n"), std::string::npos);
}

TEST_F(ExchangeTest, ReportsIfTheConnectionStaysOpen) {
  const auto ends = begin({.keeps_alive = false});
  ends->respond({});
  EXPECT_TRUE(ends->has_to_close());
  EXPECT_NE(take(*ends).find("Connection: close\r\n"), std::string::npos);
  const auto old = begin({.is_http10 = true});
  old->respond({});
  EXPECT_FALSE(old->has_to_close());
  EXPECT_NE(take(*old).find("Connection: keep-alive\r\n"), std::string::npos);
}

TEST_F(ExchangeTest, StreamsInChunks) {
  const auto exchange = begin();
  exchange->begin_stream("text/event-stream");
  EXPECT_TRUE(exchange->write("hello"));
  EXPECT_TRUE(exchange->write(""));
  EXPECT_TRUE(exchange->write(std::string(16, 'x')));
  exchange->end();
  exchange->end();
  EXPECT_FALSE(exchange->write("late"));
  const std::string bytes = take(*exchange);
  EXPECT_NE(bytes.find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  EXPECT_TRUE(bytes.ends_with("\r\n\r\n5\r\nhello\r\n10\r\nxxxxxxxxxxxxxxxx\r\n0\r\n\r\n"))
      << bytes;
}

TEST_F(ExchangeTest, StreamsToAnOldPeerUntilTheConnectionEnds) {
  const auto exchange = begin({.is_http10 = true, .keeps_alive = true});
  exchange->begin_stream("text/plain");
  EXPECT_TRUE(exchange->write("hello"));
  exchange->end();
  EXPECT_TRUE(exchange->has_to_close());
  const std::string bytes = take(*exchange);
  EXPECT_TRUE(bytes.ends_with("\r\n\r\nhello"));
  EXPECT_EQ(bytes.find("Transfer-Encoding"), std::string::npos);
}

TEST_F(ExchangeTest, StreamsNothingToWhoAsksForTheHead) {
  const auto exchange = begin({.method = Method::head});
  exchange->begin_stream("text/plain");
  EXPECT_TRUE(exchange->is_ended());
  EXPECT_FALSE(exchange->write("hello"));
}

TEST_F(ExchangeTest, CallsWhoWaitsForRoomOnce) {
  const auto exchange = begin();
  int ready = 0;
  exchange->on_ready = [&, exchange] {
    ++ready;
    EXPECT_TRUE(exchange->can_take());
    if (ready == 2) exchange->end();
  };
  exchange->begin_stream("text/plain");
  const std::string piece(Exchange::kOutputBytesMax, 'x');
  for (int i = 1; i <= 2; ++i) {
    EXPECT_TRUE(exchange->write(piece));
    EXPECT_FALSE(exchange->can_take());
    take(*exchange, 5);
    EXPECT_EQ(ready, i - 1) << "there is no room yet";
    take(*exchange);
    EXPECT_EQ(ready, i);
    if (i == 1) take(*exchange);
    EXPECT_EQ(ready, i);
  }
  EXPECT_TRUE(exchange->is_ended());
  EXPECT_EQ(exchange.use_count(), 1) << "what was called is dropped";
}

TEST_F(ExchangeTest, GivesUpAPeerThatReadsTooSlowly) {
  const auto exchange = begin();
  exchange->on_gone = [] { FAIL() << "write() has said it"; };
  exchange->begin_stream("text/event-stream");
  const std::string piece(Exchange::kOutputBytesEnd / 2, 'x');
  EXPECT_TRUE(exchange->write(piece));
  EXPECT_FALSE(exchange->write(piece));
  EXPECT_TRUE(exchange->is_broken());
  EXPECT_TRUE(exchange->has_to_close());
  exchange->end();
  EXPECT_FALSE(exchange->output().ends_with("0\r\n\r\n")) << "the peer must not take it for whole";
  exchange->detach();
}

TEST_F(ExchangeTest, ReportsOnceThatThePeerIsGone) {
  const auto exchange = begin();
  int gone = 0;
  exchange->on_gone = [&, exchange] {
    ++gone;
    EXPECT_FALSE(exchange->can_take());
    EXPECT_FALSE(exchange->write("x"));
  };
  exchange->on_ready = [] { FAIL(); };
  exchange->begin_stream("text/event-stream");
  const int before = changes_;
  exchange->detach();
  exchange->detach();
  EXPECT_EQ(gone, 1);
  EXPECT_EQ(changes_, before) << "the connection may be gone too";
  EXPECT_EQ(exchange.use_count(), 1);
}

TEST_F(ExchangeTest, MayBeAnsweredAfterThePeerIsGone) {
  for (const bool is_stream : {false, true}) {
    const auto exchange = begin();
    exchange->detach();
    if (is_stream) {
      exchange->begin_stream("text/plain");
      EXPECT_FALSE(exchange->write("x"));
      exchange->end();
    } else {
      exchange->respond({200, "text/plain", "hello", {}});
    }
    EXPECT_TRUE(exchange->output().empty());
    EXPECT_EQ(changes_, 0);
  }
}

TEST_F(ExchangeTest, TakesAPieceOfAnySizeIfAllBeforeItWasRead) {
  const auto exchange = begin();
  exchange->begin_stream("text/event-stream");
  take(*exchange);
  const std::string event(2 * Exchange::kOutputBytesEnd, 'e');
  EXPECT_TRUE(exchange->write(event));
  EXPECT_GT(take(*exchange).size(), event.size());
  EXPECT_TRUE(exchange->write(event));
  EXPECT_FALSE(exchange->write("x")) << "the reader is too far behind";
  EXPECT_TRUE(exchange->is_broken());
}

TEST_F(ExchangeTest, LogsAnActionEvenWhenThePeerIsGone) {
  const auto exchange = begin({.peer = "10.0.0.1:5"});
  exchange->detach();
  exchange->log_action("kick", "a:11300", "tube=mail", "done=1");
  EXPECT_EQ(acts_, (std::vector<std::string>{"10.0.0.1:5/kick/a:11300/tube=mail/done=1"}));
}

TEST_F(ExchangeTest, KeepsNoMemoryOfSentBytes) {
  const auto exchange = begin();
  exchange->begin_stream("text/plain");
  std::string all;
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    const std::string piece(1000, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(exchange->write(piece));
    expected += "3e8\r\n" + piece + "\r\n";
    all += take(*exchange, 700);
    if (i % 10 == 9) all += take(*exchange);
  }
  EXPECT_EQ(all.substr(all.find("\r\n\r\n") + 4), expected);
}

}  // namespace
}  // namespace haricot::web
