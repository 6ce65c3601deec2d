#include "web/serve/token.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>

namespace haricot::web {
namespace {

// Hashes of texts of the letter a, by sha256sum, with lengths around the ends of a block.
TEST(Sha256, IsThatOfOthers) {
  const std::pair<std::size_t, std::string> known[] = {
      {0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {1, "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"},
      {3, "9834876dcfb05cb167a5c24953eba58c4ac89b1adf57f28f2f9d09af107ee8f0"},
      {55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
      {56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
      {57, "f13b2d724659eb3bf47f2dd6af1accc87b81f09f59f2b75e5c0bed6589dfe8c6"},
      {63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
      {64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
      {65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"},
      {119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"},
      {120, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c"},
      {128, "6836cf13bac400e9105071cd6af47084dfacad4e5e302c94bfed24e013afb73e"},
      {1000, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"},
  };
  for (const auto& [bytes, digest] : known) {
    EXPECT_EQ(hex(sha256(std::string(bytes, 'a'))), digest) << bytes;
  }
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, ComparesEachByte) {
  const Digest digest = sha256("abc");
  EXPECT_TRUE(is_same_digest(digest, sha256("abc")));
  for (std::size_t i = 0; i < digest.size(); ++i) {
    Digest other = digest;
    other[i] ^= 1;
    EXPECT_FALSE(is_same_digest(digest, other)) << i;
  }
}

TEST(Token, CookiesOfTokensDiffer) {
  const Token one("the-first-token-here");
  const Token two("the-second-token-here");
  EXPECT_TRUE(one.is_cookie(one.cookie_value()));
  EXPECT_FALSE(two.is_cookie(one.cookie_value()));
  EXPECT_FALSE(one.is_token(one.cookie_value())) << "a stolen cookie is no token";
  EXPECT_FALSE(one.is_cookie("the-first-token-here"));
  EXPECT_NE(one.cookie_name(), two.cookie_name());
  EXPECT_EQ(one.cookie_value().size(), 64U);
}

}  // namespace
}  // namespace haricot::web
