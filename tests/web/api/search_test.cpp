#include "web/api/search.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace haricot::web {
namespace {

// Returns the part of the body that the text matches, or "no match".
std::string found(std::string_view text, std::string_view body) {
  const auto match = TextPattern::of_text(text).find(body);
  return match ? std::string(body.substr(match->offset, match->bytes)) : "no match";
}

TEST(TextPattern, FindsATextWhereJsonEscapesIt) {
  EXPECT_EQ(found(R"(App\Jobs\ChargeCard)", R"({"displayName":"App\\Jobs\\ChargeCard"})"),
            R"(App\\Jobs\\ChargeCard)");
  EXPECT_EQ(found("Müller", R"({"name":"M\u00fcller"})"), R"(M\u00fcller)");
  EXPECT_EQ(found("https://shop", R"({"url":"https:\/\/shop.example"})"), R"(https:\/\/shop)");
  EXPECT_EQ(found("a\"b", R"("a\"b")"), R"(a\"b)");
  EXPECT_EQ(found("two\nlines", R"("two\nlines")"), R"(two\nlines)");
  EXPECT_EQ(found("😀!", R"("\ud83d\uDE00!")"), R"(\ud83d\uDE00!)");
  EXPECT_EQ(found("<b>", R"("\u003cb\u003e")"), R"(\u003cb\u003e)");
}

TEST(TextPattern, FindsATextInJsonWithinAString) {
  EXPECT_EQ(found(R"(App\Jobs)", R"({"payload":"{\"class\":\"App\\\\Jobs\"}"})"), R"(App\\\\Jobs)");
  EXPECT_EQ(found("Müller", R"("{\"name\":\"M\\u00fcller\"}")"), R"(M\\u00fcller)");
  EXPECT_EQ(found("{\"class\"", R"("{\"class\":1}")"), R"({\"class\")");
}

TEST(TextPattern, FindsATextAsItStands) {
  EXPECT_EQ(found(R"(App\\Jobs)", R"("App\\Jobs")"), R"(App\\Jobs)");
  EXPECT_EQ(found(R"(M\u00fcller)", R"("M\u00fcller")"), R"(M\u00fcller)");
  EXPECT_EQ(found(R"(C:\new)", R"(C:\new\table)"), R"(C:\new)");
  EXPECT_EQ(found("Müller", "Herr Müller"), "Müller");
}

TEST(TextPattern, IgnoresCase) {
  EXPECT_EQ(found("chargecard", R"(App\\Jobs\\ChargeCard)"), "ChargeCard");
  EXPECT_EQ(found("MÜLLER", R"(M\u00fcller)"), R"(M\u00fcller)");
  EXPECT_EQ(found("ЗАКАЗ", "Новый заказ"), "заказ");
  EXPECT_EQ(found("σοφος", "ΣΟΦΟΣ σοφός"), "ΣΟΦΟΣ");
  EXPECT_EQ(found("łódź", "ŁÓDŹ"), "ŁÓDŹ");
  EXPECT_EQ(found("straße", "STRAẞE"), "STRAẞE");
  EXPECT_EQ(found("kelvin", "\u212aelvin"), "\u212aelvin");
}

TEST(TextPattern, ReturnsTheFirstMatchAndItsBytes) {
  const auto match = TextPattern::of_text("aab").find("aaab aab");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->offset, 1U);
  EXPECT_EQ(match->bytes, 3U);
  EXPECT_EQ(found("abab", "xabacababab"), "abab");
  EXPECT_EQ(found(R"(\x)", R"(\\\x)"), R"(\x)");
}

TEST(TextPattern, ResolvesOnlyWholeEscapes) {
  EXPECT_EQ(found("ü", R"(\u00f)"), "no match");
  EXPECT_EQ(found("ü", R"(\u00gc)"), "no match");
  EXPECT_EQ(found(R"(\u00)", R"(\u00gc)"), R"(\u00)");
  EXPECT_EQ(found("x", R"(\ud83d\u0041 \ud83d)"), "no match");
  EXPECT_EQ(found("A", R"(\ud83d\u0041)"), R"(\u0041)");
  EXPECT_EQ(found("q", R"(abc\)"), "no match");
}

TEST(TextPattern, BytesThatAreNoUtf8MatchThemselves) {
  EXPECT_EQ(found("\xff\xfe", std::string_view("a\xff\xfe\x00z", 5)), "\xff\xfe");
  EXPECT_EQ(found("\xc3", "ü"), "no match");
}

TEST(TextPattern, OfBytesMatchesExactly) {
  const TextPattern pattern = TextPattern::of_bytes("\xc3");
  ASSERT_TRUE(pattern.find("ü"));
  EXPECT_EQ(pattern.find("ü")->bytes, 1U);
  EXPECT_FALSE(TextPattern::of_bytes("a").find("A"));
  EXPECT_FALSE(TextPattern::of_bytes("/").find(R"(\u002f)"));
  EXPECT_FALSE(TextPattern::of_bytes("a/b").find(R"(a\/b)"));
}

TEST(TextPattern, AnEmptyPatternMatchesAtTheBeginning) {
  ASSERT_TRUE(TextPattern::of_text("").find("abc"));
  EXPECT_EQ(TextPattern::of_text("").find("abc")->bytes, 0U);
  EXPECT_TRUE(TextPattern::of_text("").find(""));
  EXPECT_FALSE(TextPattern::of_text("a").find(""));
}

TEST(FoldCase, IsTheSameForBothCasesAndForTheResult) {
  for (std::uint32_t code = 0; code < 0x11000; ++code) {
    EXPECT_EQ(fold_case(fold_case(code)), fold_case(code)) << code;
  }
  EXPECT_EQ(fold_case('['), std::uint32_t{'['});
  EXPECT_EQ(fold_case(0xd7), 0xd7U);  // The sign of multiplication.
}

TEST(SearchCursor, IsReadAsItWasWritten) {
  const SearchCursor cursor{.is_up = true, .id = 18446744073709551615U, .found = 3};
  const auto back = SearchCursor::read(cursor.text());
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->is_up);
  EXPECT_EQ(back->id, cursor.id);
  EXPECT_EQ(back->found, 3U);
  EXPECT_FALSE(SearchCursor::read("down 5 3")->is_up);
  for (const char* text : {"", "5", "up", "up 5", "up 5 ", "up  5 3", "left 5 3", "down 5 3 "}) {
    EXPECT_FALSE(SearchCursor::read(text)) << text;
  }
}

}  // namespace
}  // namespace haricot::web
