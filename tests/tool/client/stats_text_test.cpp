#include "tool/client/stats_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace haricot::tool {
namespace {

TEST(StatsText, KeysStayInTheirOrderAndQuotesGo) {
  const auto stats = StatsText::parse("---\nname: \"mail\"\npause: 5\nos: #1 SMP: x\nhostname: \n");
  ASSERT_TRUE(stats);
  ASSERT_EQ(stats->lines().size(), 4U);
  EXPECT_EQ(stats->lines()[0].key, "name");
  EXPECT_EQ(stats->lines()[0].value, "mail");
  EXPECT_EQ(*stats->find("os"), "#1 SMP: x");
  EXPECT_EQ(*stats->find("hostname"), "");
  EXPECT_EQ(stats->find("tube"), nullptr);
}

TEST(StatsText, NumbersAreReadWhole) {
  const auto stats = StatsText::parse("---\na: 18446744073709551615\nb: 12x\nc: 1.500000\n");
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->number("a"), 18446744073709551615U);
  EXPECT_EQ(stats->number("b"), std::nullopt);
  EXPECT_EQ(stats->number("c"), std::nullopt);
  EXPECT_EQ(stats->number("d"), std::nullopt);
  EXPECT_EQ(stats->decimal("c"), 1.5);
  EXPECT_EQ(stats->decimal("b"), std::nullopt);
}

TEST(StatsText, InvalidReportsAreRefused) {
  for (const char* text : {"", "---\n", "a: 1\n", "---\na\n", "---\n: 1\n", "---\na: 1\n\n"}) {
    EXPECT_FALSE(StatsText::parse(text)) << text;
  }
}

TEST(StatsText, JsonTypesFollowTheMeaningOfTheKey) {
  const auto job = StatsText::parse("---\nid: 12\ntube: 34\npri: 5\n");
  EXPECT_EQ(job->json_members(), R"("id":12,"tube":"34","pri":5)");
  const auto client = StatsText::parse("---\nid: 12\naddress: \"7\"\nused: \"34\"\n");
  EXPECT_EQ(client->json_members(), R"("id":12,"address":"7","used":"34")");
  const auto server = StatsText::parse(
      "---\nuptime: 7\nversion: 1.12\nrusage-utime: 0.001000\ndraining: false\n"
      "id: 1234567890123456\nodd: 007\n");
  EXPECT_EQ(server->json_members(),
            R"("uptime":7,"version":"1.12","rusage-utime":0.001000,"draining":false,)"
            R"("id":"1234567890123456","odd":"007")");
}

TEST(StatsText, AListHasItsNames) {
  EXPECT_EQ(parse_list("---\n- default\n- \"12\"\n"), (std::vector<std::string>{"default", "12"}));
  EXPECT_EQ(parse_list("---\n"), std::vector<std::string>{});
}

TEST(StatsText, NamesThatWouldBreakACommandAreRefused) {
  EXPECT_FALSE(parse_list("---\n- a\r\n"));
  EXPECT_FALSE(parse_list("---\n- a b\n"));
  EXPECT_FALSE(parse_list("---\n- \x1b[2J\n"));
  EXPECT_FALSE(parse_list("---\n- \n"));
  EXPECT_FALSE(parse_list("---\ndefault\n"));
  EXPECT_FALSE(parse_list("---\n- " + std::string(201, 'x') + "\n"));
  EXPECT_TRUE(parse_list("---\n- " + std::string(200, 'x') + "\n"));
}

TEST(ServerWords, NameHaricotdIfItReportsItsVersion) {
  const StatsText theirs = *StatsText::parse("---\nversion: 1.12\n");
  EXPECT_EQ(server_kind(theirs), "beanstalkd");
  EXPECT_EQ(server_words(theirs), "beanstalkd 1.12");
  EXPECT_EQ(short_server_words(theirs), "version 1.12");

  const StatsText ours = *StatsText::parse("---\nversion: \"1.13\"\nharicot-version: \"2.3.4\"\n");
  EXPECT_EQ(server_kind(ours), "haricotd");
  EXPECT_EQ(server_words(ours), "haricotd 2.3.4, as beanstalkd 1.13");
  EXPECT_EQ(short_server_words(ours), "haricotd 2.3.4");
}

TEST(ServerWords, AreSafeToPrintForAnyAnswer) {
  const StatsText odd = *StatsText::parse("---\nversion: \x1b[2J\nharicot-version: \x1b]0;x\x07\n");
  for (const std::string& words : {server_words(odd), short_server_words(odd)}) {
    EXPECT_EQ(words.find('\x1b'), std::string::npos) << words;
  }
  const StatsText silent = *StatsText::parse("---\nuptime: 7\n");
  EXPECT_EQ(server_words(silent), "beanstalkd of an unknown version");
  EXPECT_EQ(short_server_words(silent), "version -");
}

TEST(StatsText, ANoteHasTheEscapesOfJson) {
  const auto job = StatsText::parse("---\nid: 1\nnote: \"say \\\"no\\\" \\u00fc\"\n");
  ASSERT_TRUE(job);
  EXPECT_EQ(*job->find("note"), "say \"no\" \xc3\xbc");
  EXPECT_EQ(StatsText::parse("---\nid: 1\nnote: \"17\"\n")->json_members(),
            "\"id\":1,\"note\":\"17\"");
}

}  // namespace
}  // namespace haricot::tool
