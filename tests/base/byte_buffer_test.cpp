#include "haricot/base/byte_buffer.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>

#include "support/allocations.hpp"
#include "support/random.hpp"

namespace haricot {
namespace {

TEST(ByteBuffer, ANewOneIsEmpty) {
  const ByteBuffer buffer;
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.size(), 0u);
  EXPECT_EQ(buffer.view(), "");
}

TEST(ByteBuffer, BytesLeaveInTheOrderInWhichTheyCame) {
  ByteBuffer buffer;
  ASSERT_TRUE(buffer.append("abc"));
  ASSERT_TRUE(buffer.append("def"));
  EXPECT_EQ(buffer.view(), "abcdef");
  buffer.consume(2);
  EXPECT_EQ(buffer.view(), "cdef");
  ASSERT_TRUE(buffer.append("g"));
  EXPECT_EQ(buffer.view(), "cdefg");
  buffer.consume(5);
  EXPECT_TRUE(buffer.empty());
}

TEST(ByteBuffer, PreparedBytesCountOnlyOnceCommitted) {
  ByteBuffer buffer;
  ASSERT_TRUE(buffer.append("a"));
  char* room = buffer.prepare(1000);
  ASSERT_NE(room, nullptr);
  std::memset(room, 'x', 1000);
  EXPECT_EQ(buffer.view(), "a");
  buffer.commit(2);
  EXPECT_EQ(buffer.view(), "axx");
}

TEST(ByteBuffer, AppendingNothingToOneThatHoldsSomethingSucceeds) {
  ByteBuffer buffer;
  ASSERT_TRUE(buffer.append("a"));
  EXPECT_TRUE(buffer.append(""));
  EXPECT_EQ(buffer.view(), "a");
}

TEST(ByteBuffer, CanBeUsedAgainAfterItsMemoryWasGivenBack) {
  ByteBuffer buffer;
  buffer.release_if_empty();
  ASSERT_TRUE(buffer.append("abc"));
  buffer.release_if_empty();
  EXPECT_EQ(buffer.view(), "abc");
  buffer.consume(3);
  buffer.release_if_empty();
  EXPECT_EQ(buffer.view(), "");
  ASSERT_TRUE(buffer.append("def"));
  EXPECT_EQ(buffer.view(), "def");
}

TEST(ByteBuffer, ASpareOneKeepsTheMemoryOfOneThatIsEmpty) {
  ByteBuffer spare;
  ByteBuffer first;
  ByteBuffer second;
  ASSERT_TRUE(first.append("abc"));
  ASSERT_TRUE(second.append("def"));
  const char* const memory = first.view().data();
  first.release_if_empty(spare);
  EXPECT_EQ(first.view(), "abc");  // It is not empty.
  first.consume(3);
  second.consume(3);
  first.release_if_empty(spare);
  second.release_if_empty(spare);  // It has memory already.
  EXPECT_EQ(spare.size(), 0u);
  second.take_memory(spare);
  first.take_memory(spare);  // It has no memory any more.
  ASSERT_TRUE(second.append("ghi"));
  ASSERT_TRUE(first.append("jkl"));
  EXPECT_EQ(second.view().data(), memory);
  EXPECT_EQ(second.view(), "ghi");
  EXPECT_EQ(first.view(), "jkl");
}

TEST(ByteBuffer, ASpareOneDoesNotKeepMuchMemory) {
  ByteBuffer spare;
  ByteBuffer buffer;
  ASSERT_TRUE(buffer.append(std::string(5000, 'x')));
  EXPECT_GE(buffer.memory_bytes(), 5000u);
  buffer.consume(5000);
  buffer.release_if_empty(spare);
  EXPECT_EQ(buffer.memory_bytes(), 0u);
  EXPECT_EQ(spare.memory_bytes(), 0u);
  ASSERT_TRUE(buffer.append("a"));
  buffer.consume(1);
  buffer.release_if_empty(spare);
  EXPECT_GT(spare.memory_bytes(), 0u);
}

TEST(ByteBuffer, AFailedCallChangesNothing) {
  ByteBuffer buffer;
  ASSERT_TRUE(buffer.append("abc"));
  buffer.consume(1);
  const volatile std::size_t absurd = std::numeric_limits<std::size_t>::max() / 4;
  EXPECT_EQ(buffer.prepare(absurd), nullptr);
  EXPECT_EQ(buffer.view(), "bc");
  ASSERT_TRUE(buffer.append("d"));
  EXPECT_EQ(buffer.view(), "bcd");
}

TEST(ByteBuffer, HoldsLessThanFourGibibytes) {
  ByteBuffer buffer;
  EXPECT_EQ(buffer.prepare(std::size_t{1} << 32), nullptr);
  ASSERT_TRUE(buffer.append("kept"));
  EXPECT_EQ(buffer.prepare((std::size_t{1} << 32) - 4), nullptr);
  EXPECT_EQ(buffer.prepare(std::numeric_limits<std::size_t>::max()), nullptr);
  EXPECT_EQ(buffer.view(), "kept");
}

TEST(ByteBufferDeathTest, CommittingMoreThanWasPreparedEndsTheProgram) {
  ByteBuffer buffer;
  ASSERT_NE(buffer.prepare(10), nullptr);
  EXPECT_DEATH(buffer.commit(1'000'000), "capacity");
}

TEST(ByteBufferDeathTest, ConsumingMoreThanThereIsEndsTheProgram) {
  ByteBuffer buffer;
  ASSERT_TRUE(buffer.append("abc"));
  EXPECT_DEATH(buffer.consume(4), "size");
}

TEST(ByteBuffer, ASteadyStreamThroughItDoesNotMakeItGrow) {
  ByteBuffer buffer;
  const std::string piece(100, 'x');
  ASSERT_TRUE(buffer.append(piece));
  ASSERT_TRUE(buffer.append(piece));
  const char* lowest = buffer.view().data();
  const char* highest = lowest;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(buffer.append(piece));
    buffer.consume(100);
    if (i < 100) {  // It may first grow to its size.
      lowest = highest = buffer.view().data();
      continue;
    }
    if (buffer.view().data() < lowest) lowest = buffer.view().data();
    if (buffer.view().data() > highest) highest = buffer.view().data();
  }
  EXPECT_LE(highest - lowest, 4096);
}

TEST(ByteBuffer, BehavesLikeAString) {
  test::Random random;
  ByteBuffer buffer;
  std::string model;
  for (int step = 0; step < 20'000; ++step) {
    if (random.one_in(2) && model.size() < 5000) {
      const std::string piece(1 + random.below(700), static_cast<char>('a' + step % 26));
      if (random.one_in(2)) {
        ASSERT_TRUE(buffer.append(piece));
      } else {
        char* room = buffer.prepare(piece.size() + random.below(300));
        ASSERT_NE(room, nullptr);
        std::memcpy(room, piece.data(), piece.size());
        buffer.commit(piece.size());
      }
      model += piece;
    } else {
      const std::size_t bytes = random.below(model.size() + 1);
      buffer.consume(bytes);
      model.erase(0, bytes);
    }
    if (random.one_in(10)) buffer.release_if_empty();
    ASSERT_EQ(buffer.view(), model);
    ASSERT_EQ(buffer.size(), model.size());
    ASSERT_EQ(buffer.empty(), model.empty());
  }
}

}  // namespace
}  // namespace haricot
