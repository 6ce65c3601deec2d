// Rules: parsing, matching, and the tags that puts get from them.

#include "haricot/queue/rules.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "support/allocations.hpp"
#include "support/engine_world.hpp"

namespace haricot {
namespace {

using test::EngineTest;

// Returns the pattern and the tags of a line, or the error.
std::string parsed(std::string_view line) {
  Rule rule;
  std::string error;
  return parse_rule(line, rule, error) ? rule.pattern + " -> " + rule.tags : error;
}

TEST(ParseRule, APatternAndTags) {
  EXPECT_EQ(parsed("mail-* try:5"), "mail-* -> try:5");
  EXPECT_EQ(parsed("  *\ttry:5   con:key:4 "), "* -> try:5 con:key:4");
  EXPECT_EQ(parsed("a?c con:key"), "a?c -> con:key");
  EXPECT_EQ(parsed(std::string(200, '*') + " try:1"), std::string(200, '*') + " -> try:1");
}

TEST(ParseRule, Mistakes) {
  EXPECT_EQ(parsed(""), "invalid pattern of a tube: ");
  EXPECT_EQ(parsed("ma:l try:5"), "invalid pattern of a tube: ma:l");
  EXPECT_EQ(parsed(std::string(201, 'a') + " try:1"),
            "invalid pattern of a tube: " + std::string(201, 'a'));
  EXPECT_EQ(parsed("mail"), "no tags");
  EXPECT_EQ(parsed("mail tries:5"), "unknown tag: tries:5");
  EXPECT_EQ(parsed("mail try"), "invalid value of a tag: try");
  EXPECT_EQ(parsed("mail try:0"), "invalid value of a tag: try:0");
  EXPECT_EQ(parsed("mail idp:key"), "a rule cannot have this tag: idp:key");
  EXPECT_EQ(parsed("mail grp:g"), "a rule cannot have this tag: grp:g");
  EXPECT_EQ(parsed("mail aft:g"), "a rule cannot have this tag: aft:g");
  EXPECT_EQ(parsed("mail try:1 try:2"), "a tag is named twice, or the tags are too long");
}

class EngineRulesTest : public EngineTest {
 protected:
  void set(const std::vector<std::string>& lines) {
    std::vector<Rule> rules;
    for (const std::string& line : lines) {
      std::string error;
      rules.emplace_back();
      ASSERT_TRUE(parse_rule(line, rules.back(), error)) << error;
    }
    engine.set_rules(rules);
  }
  // Returns the tags of a job that is put into the tube.
  std::string put_into(std::string_view tube, std::string_view tags = {}) {
    EXPECT_EQ(engine.use(producer, tube), Outcome::done);
    const JobId id = world.put(producer, {.tags = tags});
    engine.check_invariants();
    return std::string(engine.jobs().tags(engine.peek(id)));
  }
  std::string shown(std::string_view tube) {
    return std::string(engine.queries().detail(*engine.find_tube(tube), world.now).rule);
  }

  Client& producer = world.connect();
  Client& worker = world.connect();
};

TEST_F(EngineRulesTest, PatternsMatchWholeNames) {
  const std::vector<std::pair<std::string, std::string>> kMatches = {{"mail", "mail"},
                                                                     {"mail-*", "mail-"},
                                                                     {"mail-*", "mail-a-b"},
                                                                     {"*", "a"},
                                                                     {"?", "a"},
                                                                     {"*-mail", "a-mail"},
                                                                     {"*a*b*", "xaxbx"},
                                                                     {"a*a", "aa"},
                                                                     {"*aab", "aaaaab"},
                                                                     {"a*b*c", "abbcbc"},
                                                                     {"**", "a"},
                                                                     {"a**", "a"},
                                                                     {"?*?", "ab"},
                                                                     {"m*l-?", "mail-mail-1"}};
  const std::vector<std::pair<std::string, std::string>> kOthers = {
      {"mail", "mail-"}, {"mail", "mai"}, {"mail-*", "mail"}, {"?", "ab"},     {"a*a", "a"},
      {"*b", "abc"},     {"a?c", "ac"},   {"*-mail", "mail"}, {"a*b*c", "acb"}};
  for (const auto& [pattern, name] : kMatches) {
    set({pattern + " try:7"});
    EXPECT_EQ(put_into(name), "try:7:quiet") << pattern << " " << name;
  }
  for (const auto& [pattern, name] : kOthers) {
    set({pattern + " try:7"});
    EXPECT_EQ(put_into(name), "") << pattern << " " << name;
  }
}

TEST_F(EngineRulesTest, TheFirstRuleThatHasATagCounts) {
  set({"mail-* try:5", "mail-eu* try:9 con:eu:2", "* con:all"});
  EXPECT_EQ(put_into("mail-eu"), "try:5:quiet con:eu:2");
  EXPECT_EQ(put_into("mail-us"), "try:5:quiet con:all");
  EXPECT_EQ(put_into("other"), "con:all");
  EXPECT_EQ(shown("mail-eu"), "try:5 con:eu:2");
  EXPECT_EQ(shown("other"), "con:all");
}

TEST_F(EngineRulesTest, APutKeepsItsOwnTags) {
  set({"* try:5 con:of-the-rule:3"});
  EXPECT_EQ(put_into("a", "con:own"), "try:5:quiet con:own");
  EXPECT_EQ(put_into("a", "try:2"), "try:2 con:of-the-rule:3");
  EXPECT_EQ(put_into("a", "try:2 con:own idp:key:60"), "try:2 con:own idp:key:60");
  EXPECT_EQ(put_into("a", "idp:other grp:g aft:h"),
            "try:5:quiet con:of-the-rule:3 idp:other grp:g aft:h");
}

TEST_F(EngineRulesTest, TagsThatHaveNoRoomTogetherAreRefused) {
  set({"* try:5"});
  const std::string key(100, 'k');
  const std::string fits = "idp:" + key + " grp:" + std::string(89, 'g');
  EXPECT_EQ(put_into("a", fits), "try:5:quiet " + fits);
  EXPECT_EQ(engine.put(producer, {.id = engine.take_id(), .tags = fits + "g"}, {}, world.now),
            Outcome::too_big);
  engine.check_invariants();
}

TEST_F(EngineRulesTest, LivingTubesFollowNewRules) {
  set({"a* try:1"});
  EXPECT_EQ(put_into("a"), "try:1:quiet");
  EXPECT_EQ(put_into("b"), "");
  set({"b* try:2", "* con:key"});
  EXPECT_EQ(shown("a"), "con:key");
  EXPECT_EQ(put_into("a"), "con:key");
  EXPECT_EQ(put_into("b"), "try:2:quiet con:key");
  set({});
  EXPECT_EQ(shown("b"), "");
  EXPECT_EQ(put_into("a"), "");
  EXPECT_EQ(put_into("b"), "");
}

TEST_F(EngineRulesTest, TheReleaseThatEndsTheLastTryIsAnsweredAsAlways) {
  set({"* try:1"});
  const JobId id = world.put(producer);
  EXPECT_EQ(world.reserve(worker), id);
  EXPECT_EQ(engine.release(worker, id, 1, 0, world.now), Outcome::done);
  EXPECT_EQ(world.state(id), JobState::buried);
  const JobId loud = world.put(producer, {.tags = "try:1"});
  EXPECT_EQ(world.reserve(worker), loud);
  EXPECT_EQ(engine.release(worker, loud, 1, 0, world.now), Outcome::buried);
}

TEST_F(EngineRulesTest, ADecisionIsMadeOnceForATube) {
  std::vector<std::string> lines(kRulesMax, "nothing-* try:5");
  set(lines);
  const auto steps_of_put = [&] {
    const std::uint64_t before = engine.steps();
    put_into("a");
    return engine.steps() - before;
  };
  EXPECT_GE(steps_of_put(), kRulesMax);
  EXPECT_LT(steps_of_put(), kRulesMax);
}

TEST_F(EngineRulesTest, WithoutMemoryTheOldRulesStay) {
  set({"* try:1", "a con:key"});
  EXPECT_EQ(put_into("a"), "try:1:quiet con:key");
  std::vector<Rule> next(3, Rule{"*", "try:2"});
  bool is_set = false;
  for (std::int64_t allowed = 0; !is_set; ++allowed) {
    {
      const test::AllocationFailure failure(allowed);
      try {
        engine.set_rules(next);
        is_set = true;
      } catch (const std::bad_alloc&) {
      }
    }
    EXPECT_EQ(put_into("a"), is_set ? "try:2:quiet" : "try:1:quiet con:key");
  }
}

TEST_F(EngineRulesTest, WithoutMemoryToDecideAPutIsRefused) {
  set({"* try:1", "a con:key"});
  ASSERT_EQ(engine.use(producer, "a"), Outcome::done);
  Outcome outcome = Outcome::out_of_memory;
  for (std::int64_t allowed = 0; outcome != Outcome::done; ++allowed) {
    {
      const test::AllocationFailure failure(allowed);
      try {
        outcome = engine.put(producer, {.id = engine.take_id()}, {}, world.now);
      } catch (const std::bad_alloc&) {
      }
    }
    engine.check_invariants();
    EXPECT_EQ(engine.jobs().size(), outcome == Outcome::done ? 1U : 0U);
  }
  EXPECT_EQ(shown("a"), "try:1 con:key");
}

TEST_F(EngineRulesTest, TheLimitOfMemoryCountsTheTagsOfRules) {
  set({"* con:key"});
  engine.memory().limit(engine.memory().used_bytes() + engine.jobs().memory_bytes_for(0));
  EXPECT_EQ(engine.put(producer, {.id = engine.take_id()}, {}, world.now), Outcome::out_of_memory);
  EXPECT_EQ(engine.counts().refused_puts, 1U);
  set({});
  EXPECT_EQ(engine.put(producer, {.id = engine.take_id()}, {}, world.now), Outcome::done);
}

}  // namespace
}  // namespace haricot
