#include "tails.hpp"

#include <gtest/gtest.h>

#include <set>

#include "escaped_text.hpp"
#include "haricot/protocol/command.hpp"

namespace haricot::conformance {
namespace {

TEST(Tails, EveryCommandHasAScript) {
  std::set<haricot::Verb> verbs;
  for (const std::string& line : lines_with_tails()) {
    Command command;
    if (parse_command(unescape(line).bytes, command) == ParseResult::ok) verbs.insert(command.verb);
  }
  EXPECT_EQ(verbs.size(), kVerbs);
}

}  // namespace
}  // namespace haricot::conformance
