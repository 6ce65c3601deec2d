#include "web/http/request_parser.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::web {
namespace {

constexpr std::size_t kHeadMax = 8 * 1024;
constexpr std::size_t kBodyMax = 1000;

// Feeds pieces of this number of bytes, and reads each body, up to the first request or failure.
// `left` has the remaining bytes.
struct Reading {
  explicit Reading(std::string_view bytes, std::size_t piece = std::string_view::npos) {
    while (!bytes.empty() && !parser.is_whole() && !parser.failure()) {
      const std::size_t taken = parser.feed(bytes.substr(0, piece));
      bytes.remove_prefix(taken);
      if (parser.has_head()) parser.begin_body(kBodyMax);
    }
    left = bytes;
    if (parser.failure()) status = parser.failure()->status;
    if (parser.is_whole()) request = parser.take();
  }

  RequestParser parser{kHeadMax};
  std::optional<Request> request;
  int status = 200;
  std::string_view left;
};

int status_of(const std::string& bytes) {
  const Reading whole(bytes);
  // The result does not depend on the pieces.
  for (const std::size_t piece : {1U, 2U, 3U, 7U}) {
    const Reading cut(bytes, piece);
    EXPECT_EQ(cut.status, whole.status) << piece << ": " << bytes;
    EXPECT_EQ(cut.request.has_value(), whole.request.has_value()) << piece << ": " << bytes;
  }
  EXPECT_TRUE(whole.request.has_value() || whole.status != 200) << "unfinished: " << bytes;
  return whole.status;
}

std::string get(const std::string& target, const std::string& headers = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n";
}

std::string post(const std::string& headers, const std::string& body) {
  return "POST / HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n" + body;
}

std::string chunked(const std::string& body) {
  return post("Transfer-Encoding: chunked\r\n", body);
}

TEST(RequestParser, ReadsARequestHoweverItIsCut) {
  const std::string bytes =
      "GET /a%20b?x=1%26+2&y=&x=3 HTTP/1.1\r\nHost: h\r\nAccept:  text/html "
      "\t\r\nX-Empty:\r\n\r\nGET";
  for (std::size_t piece = 1; piece < bytes.size(); ++piece) {
    const Reading reading(bytes, piece);
    ASSERT_TRUE(reading.request);
    const Request& request = *reading.request;
    EXPECT_EQ(request.method, Method::get);
    EXPECT_EQ(request.path, "/a b");
    EXPECT_EQ(request.parameter("x"), "1& 2");
    EXPECT_EQ(request.parameter("y"), "");
    EXPECT_EQ(request.parameter("z"), std::nullopt);
    EXPECT_EQ(request.header("ACCEPT"), "text/html");
    EXPECT_EQ(request.header("x-empty"), "");
    EXPECT_TRUE(request.keeps_alive);
    EXPECT_EQ(reading.left, "GET");
  }
}

TEST(RequestParser, GivesOneRequestAfterTheOther) {
  const std::string bytes = get("/1") + post("Content-Length: 2\r\n", "ab") + "\r\n" + get("/3");
  RequestParser parser(kHeadMax);
  std::string_view left = bytes;
  std::vector<std::string> found;
  while (!left.empty()) {
    left.remove_prefix(parser.feed(left));
    if (parser.has_head()) parser.begin_body(kBodyMax);
    if (!parser.is_whole()) continue;
    const Request request = parser.take();
    found.push_back(request.path + request.body);
    EXPECT_TRUE(parser.is_idle());
  }
  EXPECT_EQ(found, (std::vector<std::string>{"/1", "/ab", "/3"}));
}

TEST(RequestParser, ReadsTheRequestLineOnly) {
  EXPECT_EQ(status_of(get("/")), 200);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\n\r\n"), 200);
  EXPECT_EQ(status_of("BREW / HTTP/1.1\r\nHost: a\r\n\r\n"), 200);
  for (const char* const line : {"GET /",
                                 "GET / ",
                                 "GET",
                                 "GET  /  HTTP/1.1",
                                 " GET / HTTP/1.1",
                                 "GET / HTTP/1.1 ",
                                 "G(T / HTTP/1.1",
                                 "GET / http/1.1",
                                 "GET / HTTP/1.",
                                 "GET / HTTP/11",
                                 "GET / HTTP/a.1",
                                 "GET a HTTP/1.1",
                                 "GET * HTTP/1.1",
                                 "GET ?a HTTP/1.1",
                                 "GET /#a HTTP/1.1",
                                 "GET /% HTTP/1.1",
                                 "GET /%4 HTTP/1.1",
                                 "GET /%4g HTTP/1.1",
                                 "GET /%00 HTTP/1.1",
                                 "GET /?%zz HTTP/1.1",
                                 "GET /\x01 HTTP/1.1",
                                 "GET /\xc3\xa9 HTTP/1.1",
                                 "GET /a b HTTP/1.1",
                                 "GET http:///a HTTP/1.1",
                                 "GET ftp://a/ HTTP/1.1",
                                 "GET a:80 HTTP/1.1"}) {
    EXPECT_EQ(status_of(line + std::string("\r\nHost: a\r\n\r\n")), 400) << line;
  }
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET / HTTP/0.9\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(status_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
}

TEST(RequestParser, TakesTheHostFromAWholeUrl) {
  for (const auto& [target, path] : {std::pair("http://b:1/x?y=1", "/x"), {"HTTPS://b:1", "/"}}) {
    const Reading reading(get(target));
    ASSERT_TRUE(reading.request) << target;
    EXPECT_EQ(reading.request->path, path);
    EXPECT_EQ(reading.request->header("Host"), "b:1");
  }
  EXPECT_EQ(Reading(get("http://b?y=1")).request->parameter("y"), "1");
  const Reading old("GET http://b/ HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.request->header("Host"), "b");
}

TEST(RequestParser, RefusesHeadersThatTwoProgramsCouldReadInTwoWays) {
  for (const char* const header :
       {"A: b\r\n folded", "A: b\r\n\tfolded", " A: b", "A : b", "A\t: b", ": b", "A", "A(: b",
        "A: b\x01", "A: b\x7f", "A: b\rC: d", "Host: b", "A: b\nC: d", "A: b\n", "A: \r",
        "A\r: b"}) {
    EXPECT_EQ(status_of(get("/", header + std::string("\r\n"))), 400) << header;
  }
  EXPECT_EQ(status_of(get("/", std::string("A: b\0c\r\n", 8))), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\nHost: a\n\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400) << "no Host";
  EXPECT_EQ(status_of(get("/", "A: \xc3\xa9 b\tc\r\n")), 200);
}

TEST(RequestParser, RefusesLongRequests) {
  const std::string line(kHeadMax, 'a');
  EXPECT_EQ(status_of("GET /" + line + " HTTP/1.1\r\n"), 414);
  EXPECT_EQ(status_of(get("/", "A: " + line + "\r\n")), 431);
  std::string many;
  for (std::size_t i = 0; i < RequestParser::kHeadersMax; ++i) many += "A:\r\n";
  EXPECT_EQ(status_of(get("/", many)), 431);
  many.clear();
  for (std::size_t i = 0; i < RequestParser::kHeadersMax - 1; ++i) many += "A:\r\n";
  EXPECT_EQ(status_of(get("/", many)), 200);
  // Exact to the byte.
  const std::string frame = get("/", "A: \r\n");
  EXPECT_EQ(status_of(get("/", "A: " + std::string(kHeadMax - frame.size(), 'a') + "\r\n")), 200);
  EXPECT_EQ(status_of(get("/", "A: " + std::string(kHeadMax - frame.size() + 1, 'a') + "\r\n")),
            431);
  std::string lines;
  for (std::size_t i = 0; i < kHeadMax; ++i) lines += "\r\n";
  EXPECT_EQ(status_of(lines), 414) << "empty lines count";
}

TEST(RequestParser, ReadsABodyOfAKnownLength) {
  const Reading reading(post("Content-Length: 3\r\n", "abcd"), 2);
  ASSERT_TRUE(reading.request);
  EXPECT_EQ(reading.request->body, "abc");
  EXPECT_EQ(status_of(post("Content-Length: 0\r\n", "")), 200);
  EXPECT_EQ(status_of(post("", "")), 200);
  EXPECT_EQ(status_of(post("Content-Length: 1000\r\n", std::string(1000, 'a'))), 200);
  EXPECT_EQ(status_of(post("Content-Length: 1001\r\n", "")), 413);
  EXPECT_EQ(status_of(post("Content-Length: 99999999999999999999999999\r\n", "")), 413);
  for (const char* const value : {"", "-1", "+1", "1,1", "1 1", "0x1", "a", "1.0"}) {
    EXPECT_EQ(status_of(post("Content-Length: " + std::string(value) + "\r\n", "a")), 400) << value;
  }
}

TEST(RequestParser, RefusesABodyWhoseLengthIsNotClear) {
  EXPECT_EQ(status_of(post("Content-Length: 1\r\nContent-Length: 1\r\n", "a")), 400);
  EXPECT_EQ(status_of(post("Content-Length: 1\r\nContent-Length: 2\r\n", "a")), 400);
  EXPECT_EQ(status_of(post("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", "a")), 400);
  EXPECT_EQ(status_of(post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "")),
            400);
  EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  for (const char* const value :
       {"gzip", "gzip, chunked", "chunked, gzip", "identity", "", "xchunked"}) {
    EXPECT_EQ(status_of(post("Transfer-Encoding: " + std::string(value) + "\r\n", "")), 501)
        << value;
  }
}

TEST(RequestParser, ReadsChunks) {
  const std::string bytes =
      chunked("3;x=\"y\"\r\nabc\r\n00A\r\n0123456789\r\n0\r\nX: y\r\n\r\nrest");
  for (std::size_t piece = 1; piece < bytes.size(); ++piece) {
    const Reading reading(bytes, piece);
    ASSERT_TRUE(reading.request) << piece;
    EXPECT_EQ(reading.request->body, "abc0123456789");
    EXPECT_EQ(reading.request->header("X"), "") << "a trailer is no header";
    EXPECT_EQ(reading.left, "rest");
  }
}

TEST(RequestParser, RefusesChunksThatAreNone) {
  for (const char* const body :
       {"\r\n", "x\r\n", "-1\r\n", "+1\r\n", " 1\r\n", "1 \r\n", "1 ;x\r\n", ";x\r\n", "0x1\r\n",
        "1\na", "1\r\nab\r\n", "1\r\na\n", "1\r\na\r0\r\n", "1;\x01\r\n", "11111111111111111\r\n",
        "0\r\nbroken\r\n\r\n", "0\r\nA: \x01\r\n\r\n", "0\n\n"}) {
    EXPECT_EQ(status_of(chunked(body)), 400) << body;
  }
  EXPECT_EQ(status_of(chunked("3e9\r\n")), 413);
  EXPECT_EQ(status_of(chunked("1\r\na\r\n3e8\r\n")), 413);
  EXPECT_EQ(status_of(chunked("ffffffffffffffff\r\n")), 413);
  EXPECT_EQ(status_of(chunked("1;" + std::string(RequestParser::kChunkLineBytesMax, 'x'))), 400);
  EXPECT_EQ(status_of(chunked("0\r\nA: " + std::string(kHeadMax, 'x'))), 431);
  std::string extensions;
  for (int i = 0; i < 100; ++i) extensions += "1;" + std::string(200, 'x') + "\r\na\r\n";
  EXPECT_EQ(status_of(chunked(extensions)), 413);
}

TEST(RequestParser, KnowsIfTheConnectionStaysOpen) {
  const auto keeps = [](const std::string& version, const std::string& headers) {
    return Reading("GET / HTTP/" + version + "\r\nHost: a\r\n" + headers + "\r\n")
        .request->keeps_alive;
  };
  EXPECT_TRUE(keeps("1.1", ""));
  EXPECT_TRUE(keeps("1.7", ""));
  EXPECT_FALSE(keeps("1.1", "Connection: Close\r\n"));
  EXPECT_FALSE(keeps("1.1", "Connection: x, close ,y\r\n"));
  EXPECT_FALSE(keeps("1.1", "Connection: keep-alive, close\r\n"));
  EXPECT_FALSE(keeps("1.0", ""));
  EXPECT_TRUE(keeps("1.0", "Connection: keep-alive\r\n"));
}

TEST(RequestParser, ReportsAnExpectedContinue) {
  RequestParser parser(kHeadMax);
  (void)parser.feed(post("Expect: 100-Continue\r\nContent-Length: 1\r\n", ""));
  ASSERT_TRUE(parser.has_head());
  EXPECT_TRUE(parser.expects_continue());
  parser.begin_body(kBodyMax);
  EXPECT_TRUE(parser.is_in_body());
  (void)parser.feed("a");
  EXPECT_EQ(parser.take().body, "a");
  EXPECT_FALSE(parser.expects_continue());
  EXPECT_EQ(status_of(post("Expect: 200-ok\r\nContent-Length: 1\r\n", "a")), 417);
}

TEST(RequestParser, LetsABodyBeRefusedBeforeItComes) {
  RequestParser parser(kHeadMax);
  const std::string bytes = post("Content-Length: 5\r\n", "hello");
  const std::size_t taken = parser.feed(bytes);
  EXPECT_EQ(bytes.substr(taken), "hello");
  ASSERT_TRUE(parser.has_head());
  EXPECT_EQ(parser.head().method, Method::post);
  parser.begin_body(4);
  ASSERT_TRUE(parser.failure());
  EXPECT_EQ(parser.failure()->status, 413);
}

}  // namespace
}  // namespace haricot::web
