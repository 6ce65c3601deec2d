#include "web/api/jobs.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "haricot/base/job_tags.hpp"

namespace haricot::web {
namespace {

std::string job(const std::string& lines) {
  JsonWriter json;
  add_job(json, *tool::StatsText::parse("---\nid: 1\n" + lines), std::nullopt);
  const std::string text = json.take();
  return text.substr(text.find("\"tags\""));
}

constexpr const char* kNoNote = R"("reserved_for":null,"note":null})";

// Returns the end of the JSON of a job without a known burial, a holder or a note.
std::string unburied(const std::string& members) {
  return members + R"(,"buried_by":null,"buried_ago":null,"last_try":null,)" + kNoNote;
}

TEST(JobJson, ListedJobsSayWhetherTheyAreHeldAndWhoHoldsThem) {
  EXPECT_EQ(job("bytes: 1\n"), unburied(R"("tags":null,"is_held":false,"holder":null)"));
  EXPECT_EQ(job("bytes: 1\ngrp: \"a\"\naft: \"7\"\nheld: true\n"),
            unburied(R"("tags":{"grp":"a","aft":"7"},"is_held":true,"holder":null)"));
  EXPECT_EQ(job("bytes: 1\nholder: 12\n"), unburied(R"("tags":null,"is_held":false,"holder":12)"));
}

TEST(JobJson, HasEachTagOfTheTable) {
  std::string lines = "bytes: 1\n";
  std::string tags;
  for (const TagRow& row : kTagTable) {
    lines.append(row.word).append(": 7\n");
    tags.append(tags.empty() ? "\"" : ",\"").append(row.word);
    tags.append(row.value.is_plain_number() ? "\":7" : "\":\"7\"");
  }
  EXPECT_EQ(job(lines), unburied("\"tags\":{" + tags + R"(},"is_held":false,"holder":null)"));
}

TEST(JobJson, StatsJobDoesNotTellWhetherAJobIsHeld) {
  EXPECT_EQ(job("file: 0\n"), unburied(R"("tags":null,"is_held":null,"holder":null)"));
}

TEST(JobJson, ABuriedJobHasTheCauseAndTheTimeOfItsBurial) {
  const std::string head = R"("tags":null,"is_held":false,"holder":null,)";
  EXPECT_EQ(job("bytes: 1\nburied-by: client\nburied-ago: 40\n"),
            head + R"("buried_by":"client","buried_ago":40,"last_try":null,)" + kNoNote);
  EXPECT_EQ(job("bytes: 1\nburied-by: tries\nburied-ago: 0\nlast-try: timeout\n"),
            head + R"("buried_by":"tries","buried_ago":0,"last_try":"timeout",)" + kNoNote);
}

TEST(JobJson, HasTheNoteAndTheTimeSinceTheReserve) {
  const std::string text = job("bytes: 1\nholder: 3\nreserved-for: 17\nnote: \"a \\\"b\\\"\"\n");
  EXPECT_TRUE(text.ends_with(R"("reserved_for":17,"note":"a \"b\""})")) << text;
}

TEST(ClientJson, HasNumbersAndTexts) {
  const auto stats = tool::StatsText::parse(
      "---\nid: 12\naddress: \"10.0.0.7:4000\"\nage: 9\nused: \"12\"\nwatching: 2\nstate: waiting\n"
      "jobs: 1\ncommands: 18446744073709551615\nidle: 3\nnew: 1\n");
  EXPECT_EQ(client_json(*stats),
            R"({"id":12,"address":"10.0.0.7:4000","used":"12","state":"waiting","age":9,"idle":3,)"
            R"("watching":2,"jobs":1,"commands":18446744073709551615})");
}

TEST(ClientJson, TextsAreEscapedAndMissingOrInvalidNumbersAreNull) {
  const auto stats = tool::StatsText::parse(
      "---\nid: 1\naddress: </script>\"\\\x01\x7f\nused: \xff\nage: -1\njobs: 1e9\n");
  EXPECT_EQ(client_json(*stats),
            "{\"id\":1,\"address\":\"</script>\\\"\\\\\\u0001\\u007f\",\"used\":\"\\ufffd\","
            "\"state\":null,\"age\":null,\"idle\":null,\"watching\":null,\"jobs\":null,"
            "\"commands\":null}");
}

}  // namespace
}  // namespace haricot::web
