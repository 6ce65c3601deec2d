#include "tool/top/key_reader.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace haricot::tool {
namespace {

using Keys = std::vector<Key>;

Keys keys_of(const std::vector<Keystroke>& strokes) {
  Keys keys;
  for (const Keystroke& stroke : strokes) keys.push_back(stroke.key);
  return keys;
}

Keys read(std::string_view bytes) {
  return keys_of(KeyReader().read(bytes));
}

TEST(KeyReader, LettersAreKeysAndCharacters) {
  EXPECT_EQ(read("q>r"), (Keys{Key::quit, Key::next_column, Key::reverse}));
  const std::vector<Keystroke> strokes = KeyReader().read("qx\x03");
  EXPECT_EQ(strokes,
            (std::vector<Keystroke>{{Key::quit, 'q'}, {Key::none, 'x'}, {Key::quit, '\0'}}));
}

TEST(KeyReader, ArrowsComeInBothForms) {
  EXPECT_EQ(read("\x1b[A\x1bOB"), (Keys{Key::up, Key::down}));
  EXPECT_EQ(read("\x1b[5~\x1b[6~\x1b[H\x1b[4~"),
            (Keys{Key::page_up, Key::page_down, Key::first, Key::last}));
}

TEST(KeyReader, ASequenceMayComeInPieces) {
  KeyReader reader;
  EXPECT_EQ(keys_of(reader.read("\x1b")), Keys{});
  EXPECT_EQ(keys_of(reader.read("[")), Keys{});
  EXPECT_EQ(keys_of(reader.read("Aq")), (Keys{Key::up, Key::quit}));
}

TEST(KeyReader, TheBytesOfAnUnknownSequenceAreNoKeys) {
  EXPECT_EQ(read("\x1b[1;5q"), Keys{});
  EXPECT_EQ(read("\x1bq"), Keys{});
  EXPECT_EQ(read("\x1b[24~j"), Keys{Key::down});
}

TEST(KeyReader, ASequenceWithoutEndIsGivenUp) {
  EXPECT_EQ(read("\x1b[0000000000000000q"), Keys{Key::quit});
}

TEST(KeyReader, AnEscWithoutMoreIsAKey) {
  KeyReader reader;
  EXPECT_FALSE(reader.may_be_escape());
  EXPECT_EQ(keys_of(reader.read("j\x1b")), Keys{Key::down});
  EXPECT_TRUE(reader.may_be_escape());
  EXPECT_EQ(keys_of(reader.take_escape()), Keys{Key::escape});
  EXPECT_FALSE(reader.may_be_escape());
  EXPECT_EQ(keys_of(reader.take_escape()), Keys{});
  // The key has not begun a sequence.
  EXPECT_EQ(keys_of(reader.read("[q")), (Keys{Key::none, Key::quit}));
}

TEST(KeyReader, AnEscBeforeASequenceIsAKey) {
  EXPECT_EQ(read("\x1b\x1b[A"), (Keys{Key::escape, Key::up}));
}

TEST(KeyReader, KeysThatEditAreNoCharacters) {
  EXPECT_EQ(
      KeyReader().read("\r\x7f\x15"),
      (std::vector<Keystroke>{{Key::enter, '\0'}, {Key::erase, '\0'}, {Key::erase_all, '\0'}}));
  EXPECT_EQ(read("\xc3\xa4"), Keys{});
}

}  // namespace
}  // namespace haricot::tool
