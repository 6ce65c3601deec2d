#include "haricot/base/flag_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace haricot {
namespace {

TEST(FlagText, TheLineHasLetterNameValueAndHelp) {
  EXPECT_EQ(to_line({'p', "port", "PORT", "listen on this port"}, " "),
            " -p, --port PORT              listen on this port\n");
  EXPECT_EQ(to_line({'q', "quiet", "", "print nothing"}, "  "),
            "  -q, --quiet                 print nothing\n");
}

TEST(FlagText, ANameWithoutALetterStandsInTheSameColumn) {
  EXPECT_EQ(to_line({0, "strict", "", "start only if"}, " "),
            "     --strict                 start only if\n");
}

TEST(FlagText, OneBlankAtLeastIsInFrontOfTheHelp) {
  const std::string fits(20, 'n');   // Its blank is the last one before the column of the help.
  const std::string moves(40, 'n');  // Longer names move the help.
  EXPECT_EQ(to_line({0, fits, "N", "help"}, " ").find("help"), kHelpColumn);
  EXPECT_EQ(to_line({0, fits + "n", "N", "help"}, " ").find("help"), kHelpColumn + 1);
  EXPECT_EQ(to_line({0, moves, "N", "help"}, " "), "     --" + moves + " N help\n");
}

}  // namespace
}  // namespace haricot
