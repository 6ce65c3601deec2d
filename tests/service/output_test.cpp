#include "haricot/service/output.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "haricot/base/byte_buffer.hpp"
#include "support/allocations.hpp"
#include "support/blob_of.hpp"
#include "support/random.hpp"

namespace haricot {
namespace {

using test::blob_of;

Reply word(ReplyCode code = ReplyCode::released) {
  return {.code = code};
}

// Returns all remaining output, gathered in groups of `pieces_max` pieces.
std::string drain(Output& output, std::size_t pieces_max = 64) {
  std::string all;
  while (!output.empty()) {
    std::vector<std::string_view> pieces(pieces_max);
    const std::size_t count = output.gather(pieces);
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_FALSE(pieces[i].empty());
      all += pieces[i];
      bytes += pieces[i].size();
    }
    if (bytes == 0) break;
    output.consume(bytes);
  }
  EXPECT_EQ(output.owned_bytes(), 0u);
  EXPECT_EQ(output.pending_bytes(), 0u);
  return all;
}

TEST(Output, IsEmptyAtFirst) {
  const Output output;
  std::array<std::string_view, 4> pieces;
  EXPECT_TRUE(output.empty());
  EXPECT_EQ(output.gather(pieces), 0u);
  EXPECT_EQ(output.owned_bytes(), 0u);
  EXPECT_EQ(output.pending_bytes(), 0u);
}

TEST(Output, AReplyOfCodeNoneAddsNothing) {
  Output output;
  EXPECT_TRUE(output.add({ReplyCode::none}));
  EXPECT_TRUE(output.empty());
}

TEST(Output, ManyBlobsAreSentInOrder) {
  test::Random random;
  Output output;
  std::string expected;
  for (int i = 0; i < 300; ++i) {
    const std::string blob(4'096 + random.below(100), static_cast<char>('a' + i % 26));
    ASSERT_TRUE(output.add_text("<") && output.add_blob(blob_of(blob)));
    expected += "<" + blob;
  }
  std::string all;
  while (!output.empty()) {
    const Output::Mark mark = output.mark();
    ASSERT_TRUE(output.add_blob(blob_of("taken back")));
    output.cut_back(mark);
    std::array<std::string_view, 8> pieces;
    const std::size_t count = output.gather(pieces);
    std::string round;
    for (std::size_t i = 0; i < count; ++i) round += pieces[i];
    round.resize(1 + random.below(round.size()));
    output.consume(round.size());
    all += round;
    ASSERT_EQ(output.pending_bytes(), expected.size() - all.size());
  }
  EXPECT_EQ(all, expected) << "HARICOT_SEED=" << random.seed();
}

TEST(Output, SmallAnswersFormOnePiece) {
  Output output;
  ASSERT_TRUE(output.add(word()));
  ASSERT_TRUE(output.add({.code = ReplyCode::inserted, .number = 5}));
  ASSERT_TRUE(output.add({.code = ReplyCode::reserved, .number = 7, .text = "body"}));
  ASSERT_TRUE(output.add({.code = ReplyCode::found, .number = 8, .text = ""}));
  std::array<std::string_view, 4> pieces;
  ASSERT_EQ(output.gather(pieces), 1u);
  EXPECT_EQ(pieces[0], "RELEASED\r\nINSERTED 5\r\nRESERVED 7 4\r\nbody\r\nFOUND 8 0\r\n\r\n");
  EXPECT_EQ(output.owned_bytes(), pieces[0].size());
}

TEST(Output, ABodyOfFourKibibytesIsSentByReference) {
  const BlobRef below = blob_of(Output::kBlobBytesMin - 1, 'b');
  const BlobRef above = blob_of(Output::kBlobBytesMin, 'a');
  Output output;
  ASSERT_TRUE(output.add({.code = ReplyCode::found, .number = 1, .blob = below}));
  EXPECT_EQ(below.owners(), 1u);
  EXPECT_EQ(output.owned_bytes(), output.pending_bytes());
  ASSERT_TRUE(output.add({.code = ReplyCode::found, .number = 2, .blob = above}));
  EXPECT_EQ(above.owners(), 2u);
  EXPECT_EQ(output.pending_bytes() - output.owned_bytes(), Output::kBlobBytesMin);
  EXPECT_EQ(drain(output), "FOUND 1 4095\r\n" + std::string(4095, 'b') + "\r\nFOUND 2 4096\r\n" +
                               std::string(4096, 'a') + "\r\n");
  EXPECT_EQ(above.owners(), 1u);
}

TEST(Output, ALargeBodyIsNotCopied) {
  const BlobRef blob = blob_of(100'000, 'x');
  Output output;
  ASSERT_TRUE(output.add({.code = ReplyCode::reserved, .number = 1, .blob = blob}));
  std::array<std::string_view, 4> pieces;
  ASSERT_EQ(output.gather(pieces), 3u);
  EXPECT_EQ(pieces[0], "RESERVED 1 100000\r\n");
  EXPECT_EQ(pieces[1].data(), blob.view().data());
  EXPECT_EQ(pieces[2], "\r\n");
}

TEST(Output, ALargeReportIsCopied) {
  const std::string report(10'000, 'r');
  Output output;
  ASSERT_TRUE(output.add({.code = ReplyCode::ok, .text = report}));
  EXPECT_EQ(output.owned_bytes(), output.pending_bytes());
  EXPECT_EQ(drain(output), "OK 10000\r\n" + report + "\r\n");
}

TEST(Output, GathersAtMostTheRequestedPieces) {
  std::string expected;
  const auto fill = [&expected](Output& output) {
    expected.clear();
    for (std::uint64_t i = 0; i < 10; ++i) {
      ASSERT_TRUE(output.add({.code = ReplyCode::found,
                              .number = i,
                              .blob = blob_of(4096, static_cast<char>('a' + i))}));
      expected += "FOUND " + std::to_string(i) + " 4096\r\n" +
                  std::string(4096, static_cast<char>('a' + i)) + "\r\n";
    }
  };
  for (std::size_t pieces_max = 2; pieces_max < 25; ++pieces_max) {
    Output output;
    fill(output);
    std::vector<std::string_view> pieces(pieces_max);
    EXPECT_LE(output.gather(pieces), pieces_max);
    EXPECT_EQ(drain(output, pieces_max), expected);
  }
}

// Sends answers of all kinds in two parts, divided at each byte.
TEST(Output, ContinuesAfterAPartialSend) {
  const auto fill = [](Output& output) {
    ASSERT_TRUE(output.add(word()));
    ASSERT_TRUE(output.add({.code = ReplyCode::found, .number = 1, .blob = blob_of(4096, 'a')}));
    ASSERT_TRUE(output.add({.code = ReplyCode::found, .number = 2, .blob = blob_of(4097, 'b')}));
    ASSERT_TRUE(output.add(word(ReplyCode::deleted)));
    ASSERT_TRUE(output.add({.code = ReplyCode::found, .number = 3, .blob = blob_of(5000, 'c')}));
  };
  Output whole;
  fill(whole);
  const std::string expected = drain(whole);
  for (std::size_t split = 0; split <= expected.size(); ++split) {
    Output output;
    fill(output);
    output.consume(split);
    ASSERT_EQ(output.pending_bytes(), expected.size() - split);
    ASSERT_EQ(drain(output), expected.substr(split)) << split;
  }
}

TEST(Output, AnswersCanBeAddedDuringASend) {
  for (std::size_t split = 0; split < 4096 + 20; split += 7) {
    Output output;
    ASSERT_TRUE(output.add({.code = ReplyCode::found, .number = 1, .blob = blob_of(4096, 'a')}));
    output.consume(split);
    ASSERT_TRUE(output.add(word()));
    ASSERT_TRUE(output.add({.code = ReplyCode::found, .number = 2, .blob = blob_of(4096, 'b')}));
    const std::string expected = "FOUND 1 4096\r\n" + std::string(4096, 'a') +
                                 "\r\nRELEASED\r\nFOUND 2 4096\r\n" + std::string(4096, 'b') +
                                 "\r\n";
    ASSERT_EQ(drain(output), expected.substr(split)) << split;
  }
}

TEST(Output, ReleasesABodyWhenItIsSent) {
  const BlobRef blob = blob_of(4096, 'x');
  Output output;
  ASSERT_TRUE(output.add({.code = ReplyCode::found, .number = 1, .blob = blob}));
  const std::size_t line = std::strlen("FOUND 1 4096\r\n");
  output.consume(line + 4095);
  EXPECT_EQ(blob.owners(), 2u);
  output.consume(1);
  EXPECT_EQ(blob.owners(), 1u);
  EXPECT_FALSE(output.empty());  // The CR LF is left.
  output.consume(2);
  EXPECT_TRUE(output.empty());
}

TEST(Output, ReleasesItsBodiesWhenDestroyed) {
  const BlobRef blob = blob_of(4096, 'x');
  {
    Output output;
    ASSERT_TRUE(output.add({.code = ReplyCode::found, .number = 1, .blob = blob}));
  }
  EXPECT_EQ(blob.owners(), 1u);
}

TEST(Output, FreesItsMemoryOnlyWhenEmpty) {
  ByteBuffer spare;
  Output output;
  ASSERT_TRUE(output.add(word()));
  output.release_if_empty(spare);
  EXPECT_EQ(drain(output), "RELEASED\r\n");
  output.release_if_empty(spare);
  ASSERT_TRUE(output.add(word()));
  EXPECT_EQ(drain(output), "RELEASED\r\n");
}

TEST(Output, ReusesTheMemoryOfAnotherOutput) {
  ByteBuffer spare;
  Output first;
  ASSERT_TRUE(first.add(word()));
  const char* const memory = first.single_piece().data();
  EXPECT_EQ(drain(first), "RELEASED\r\n");
  first.release_if_empty(spare);
  Output second;
  second.take_memory(spare);
  ASSERT_TRUE(second.add(word()));
  EXPECT_EQ(second.single_piece().data(), memory);
  // An output that has memory does not take more.
  Output third;
  ASSERT_TRUE(third.add(word()));
  third.take_memory(spare);
  EXPECT_EQ(drain(third), "RELEASED\r\n");
  EXPECT_EQ(drain(second), "RELEASED\r\n");
}

TEST(Output, AnAnswerIsAddedCompletelyOrNotAtAll) {
  const BlobRef blob = blob_of(4096, 'x');
  Output output;
  ASSERT_TRUE(output.add(word()));
  const Reply reply{.code = ReplyCode::found, .number = 1, .blob = blob};
  bool added = true;
  {
    const test::AllocationFailure failure;
    added = output.add(reply);
  }
  EXPECT_FALSE(added);
  EXPECT_EQ(blob.owners(), 2u);  // This test and the reply.
  ASSERT_TRUE(output.add(word(ReplyCode::deleted)));
  EXPECT_EQ(drain(output), "RELEASED\r\nDELETED\r\n");
}

TEST(OutputDeathTest, ConsumingTooManyBytesAborts) {
  Output output;
  ASSERT_TRUE(output.add(word()));
  EXPECT_DEATH(output.consume(11), "bytes_after_blobs_");
}

TEST(Output, BehavesLikeAString) {
  test::Random random;
  ByteBuffer spare;
  Output output;
  std::string model;
  for (int step = 0; step < 5000; ++step) {
    if (random.one_in(2) && model.size() < 60'000) {
      const std::size_t bytes = random.one_in(2) ? random.below(50) : 4000 + random.below(2000);
      const char letter = static_cast<char>('a' + step % 26);
      const Reply reply{.code = ReplyCode::found,
                        .number = static_cast<std::uint64_t>(step),
                        .blob = blob_of(bytes, letter)};
      ASSERT_TRUE(output.add(reply));
      model += "FOUND " + std::to_string(step) + " " + std::to_string(bytes) + "\r\n" +
               std::string(bytes, letter) + "\r\n";
    } else {
      std::vector<std::string_view> pieces(2 + random.below(6));
      const std::size_t count = output.gather(pieces);
      std::string gathered;
      for (std::size_t i = 0; i < count; ++i) gathered += pieces[i];
      ASSERT_EQ(gathered, model.substr(0, gathered.size()));
      ASSERT_EQ(gathered.empty(), model.empty());
      const std::string_view single = output.single_piece();
      ASSERT_TRUE(single.empty() || single == model);
      const std::size_t sent = random.below(gathered.size() + 1);
      output.consume(sent);
      output.release_if_empty(spare);
      if (random.one_in(2)) output.take_memory(spare);
      model.erase(0, sent);
    }
    ASSERT_EQ(output.pending_bytes(), model.size());
    ASSERT_EQ(output.empty(), model.empty());
  }
}

TEST(Output, SmallAnswersAreASinglePiece) {
  Output output;
  EXPECT_TRUE(output.single_piece().empty());
  ASSERT_TRUE(output.add(word()));
  ASSERT_TRUE(output.add(word(ReplyCode::deleted)));
  EXPECT_EQ(output.single_piece(), "RELEASED\r\nDELETED\r\n");
}

TEST(Output, ABodyByReferenceNeedsSeveralPieces) {
  Output output;
  const BlobRef blob = blob_of(std::string(Output::kBlobBytesMin, 'x'));
  ASSERT_TRUE(output.add({.code = ReplyCode::found, .blob = blob}));
  EXPECT_TRUE(output.single_piece().empty());
}

TEST(OutputDeathTest, AnEmptyBlobAborts) {
  Output output;
  EXPECT_DEATH((void)output.add_blob(BlobRef{}), "blob.size");
}

}  // namespace
}  // namespace haricot
