#include "tool/client/address.hpp"

#include <gtest/gtest.h>

#include <string>

namespace haricot::tool {
namespace {

std::string found(const std::string& text) {
  std::string error;
  const std::optional<Address> address = Address::find(text, error);
  return address ? address->name() : "failed: " + error;
}

TEST(Address, MissingPartsGetDefaults) {
  EXPECT_EQ(found("127.0.0.1:1234"), "127.0.0.1:1234");
  EXPECT_EQ(found("127.0.0.1"), "127.0.0.1:11300");
  EXPECT_EQ(found(":1234"), "127.0.0.1:1234");
  EXPECT_EQ(found("[::1]:1234"), "[::1]:1234");
  EXPECT_EQ(found("[::1]"), "[::1]:11300");
  EXPECT_EQ(found("::1"), "[::1]:11300");
  EXPECT_EQ(found("unix:/run/haricot"), "unix:/run/haricot");
}

TEST(Address, BadOnesAreRefusedWithAReason) {
  for (const char* text : {"127.0.0.1:", "127.0.0.1:no-such-port", "unix:", "[::1]:"}) {
    const std::string outcome = found(text);
    EXPECT_TRUE(outcome.starts_with("failed: ")) << outcome;
    EXPECT_GT(outcome.size(), std::string("failed: ").size());
  }
  EXPECT_TRUE(found("unix:/" + std::string(107, 'x')).starts_with("failed: "));
  EXPECT_EQ(found("unix:/" + std::string(106, 'x')), "unix:/" + std::string(106, 'x'));
}

// getaddrinfo() takes 86446 for 20910.
TEST(Address, APortIsANumberUpTo65535OrAName) {
  for (const char* port : {"86446", "65536", "4294978596", "99999999999999999999", "-1", "+1", " 1",
                           "1 ", "0x10", "80x", "."}) {
    for (const char* host : {"127.0.0.1:", ":", "[::1]:", "localhost:"}) {
      const std::string text = std::string(host) + port;
      std::string error;
      EXPECT_FALSE(Address::check(text, error)) << text;
      EXPECT_NE(error.find(text), std::string::npos) << error;
      EXPECT_EQ(found(text), "failed: " + error);
    }
  }
  for (const char* text : {"127.0.0.1:65535", "[::1]:00080", "127.0.0.1:http", "localhost"}) {
    std::string error;
    EXPECT_TRUE(Address::check(text, error)) << error;
  }
  std::string error;
  EXPECT_TRUE(Address::check("127.0.0.1:no-such-port", error)) << "that is for the system to say";
  for (const char* text : {"127.0.0.1:", "unix:"})
    EXPECT_FALSE(Address::check(text, error)) << text;
}

}  // namespace
}  // namespace haricot::tool
