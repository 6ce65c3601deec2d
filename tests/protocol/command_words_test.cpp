#include "haricot/protocol/command_words.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "haricot/protocol/command.hpp"

namespace haricot::command_words {
namespace {

std::string_view found(std::string_view line, const Rows& rows) {
  const Row* row = find_row(line, rows);
  return row == nullptr ? std::string_view("none") : row->word;
}

TEST(CommandWords, EachIsFoundAtTheFrontOfALineAndAlone) {
  for (const CommandRow& command : kCommandTable) {
    const Rows& rows = command.set == CommandSet::standard ? kStandardRows : kOperatorRows;
    const std::string word(command.word);
    EXPECT_EQ(found(word, rows), word);
    EXPECT_EQ(found(word + "12345678 9", rows), word);
  }
}

TEST(CommandWords, NoneIsFoundInALineThatEndsTooSoonOrHasAnotherLastByte) {
  for (const CommandRow& command : kCommandTable) {
    const Rows& rows = command.set == CommandSet::standard ? kStandardRows : kOperatorRows;
    const std::string word(command.word);
    for (std::size_t bytes = 0; bytes < word.size(); ++bytes) {
      EXPECT_NE(found(word.substr(0, bytes), rows), word);
    }
    std::string other = word;
    other.back() = static_cast<char>(other.back() ^ 1);
    EXPECT_NE(found(other + " 1", rows), word);
    other = word;
    other.back() = '\0';
    EXPECT_NE(found(other + " 1", rows), word);
  }
}

TEST(CommandWords, AWordIsNotHiddenByAShorterOneThatItBeginsWith) {
  EXPECT_EQ(found("reserve-with-timeout 1", kStandardRows), "reserve-with-timeout ");
  EXPECT_EQ(found("reserve-job 1", kStandardRows), "reserve-job ");
  EXPECT_EQ(found("reserve", kStandardRows), "reserve");
  EXPECT_EQ(found("stats-tubes * 5", kOperatorRows), "stats-tubes ");
}

TEST(CommandWords, CommandsOfOperatorsAreInTheirOwnRowsOnly) {
  EXPECT_EQ(found("drain", kOperatorRows), "drain");
  EXPECT_EQ(found("drain", kExtendedRows), "none");
  EXPECT_EQ(found("drain", kStandardRows), "none");
}

TEST(CommandWords, BytesThatBeginNoWordFindNothing) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string line(8, static_cast<char>(byte));
    EXPECT_EQ(found(line, kStandardRows), "none");
    EXPECT_EQ(found(line, kOperatorRows), "none");
  }
}

}  // namespace
}  // namespace haricot::command_words
