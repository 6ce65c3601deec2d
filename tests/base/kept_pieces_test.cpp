#include "haricot/base/kept_pieces.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

namespace haricot {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

class KeptPiecesTest : public testing::Test {
 protected:
  ~KeptPiecesTest() override {
    kept_.age();
    kept_.age();
    kept_.give_back(kept_.bytes());
    EXPECT_EQ(kept_.bytes(), 0U);
  }
  void* keep(std::size_t bytes) {
    void* const memory = std::malloc(bytes);
    kept_.keep(memory, bytes);
    return memory;
  }
  // Returns the size of the piece that was taken; 0: none.
  std::size_t take_and_free(std::size_t bytes) {
    const KeptPieces::Piece piece = kept_.take(bytes);
    std::free(piece.memory);
    return piece.bytes;
  }

  KeptPieces kept_;
};

TEST_F(KeptPiecesTest, GivesThePieceThatWasKeptLastAndFits) {
  keep(kMebibyte);
  void* const last = keep(kMebibyte);
  keep(3 * kMebibyte);
  const KeptPieces::Piece piece = kept_.take(kMebibyte - 100);
  EXPECT_EQ(piece.memory, last);
  EXPECT_EQ(piece.bytes, kMebibyte);
  EXPECT_EQ(kept_.bytes(), 4 * kMebibyte);
  std::free(piece.memory);
}

TEST_F(KeptPiecesTest, GivesNoneThatIsTooSmallOrMuchTooLarge) {
  keep(kMebibyte);
  EXPECT_EQ(take_and_free(kMebibyte + 1), 0U);
  EXPECT_EQ(take_and_free(kMebibyte * 8 / 9 - 1), 0U);
  EXPECT_EQ(take_and_free(kMebibyte * 8 / 9 + 1), kMebibyte);
  EXPECT_EQ(kept_.bytes(), 0U);
}

TEST_F(KeptPiecesTest, APieceInRegularUseIsKept) {
  KeptPieces::Piece piece{std::malloc(kMebibyte), kMebibyte};
  for (int i = 0; i < 5; ++i) {
    kept_.keep(piece.memory, piece.bytes);
    kept_.age();
    EXPECT_EQ(kept_.bytes_to_go(), 0U);
    piece = kept_.take(kMebibyte);
    ASSERT_NE(piece.memory, nullptr);
  }
  std::free(piece.memory);
}

TEST_F(KeptPiecesTest, AnUnusedPieceIsFreedAfterTwoPeriods) {
  keep(kMebibyte);
  kept_.age();
  keep(2 * kMebibyte);
  EXPECT_EQ(kept_.bytes_to_go(), 0U);
  EXPECT_EQ(kept_.give_back(kMebibyte), 0U);
  kept_.age();
  EXPECT_EQ(kept_.bytes_to_go(), kMebibyte);
  EXPECT_EQ(kept_.give_back(5 * kMebibyte), kMebibyte);
  EXPECT_EQ(kept_.bytes(), 2 * kMebibyte);
  kept_.age();
  EXPECT_EQ(kept_.bytes_to_go(), 2 * kMebibyte);
  EXPECT_EQ(take_and_free(2 * kMebibyte), 2 * kMebibyte)
      << "it is there as long as it has not gone";
  EXPECT_EQ(kept_.bytes_to_go(), 0U);
}

TEST_F(KeptPiecesTest, ALargeOneGoesPartByPart) {
  for (std::size_t megabytes = 1; megabytes <= 64; megabytes *= 2) keep(megabytes * kMebibyte);
  kept_.age();
  kept_.age();
  int calls = 0;
  for (std::size_t left = kept_.bytes(); left > 0; ++calls) {
    const std::size_t gone = kept_.give_back(2 * kMebibyte);
    EXPECT_GE(gone, std::min(left, 2 * kMebibyte));
    // A small remainder is freed with the rest.
    EXPECT_LT(gone, 2 * kMebibyte + 192 * 1024);
    left -= gone;
    EXPECT_EQ(kept_.bytes(), left);
    EXPECT_EQ(kept_.bytes_to_go(), left);
  }
  EXPECT_GE(calls, 60);
}

}  // namespace
}  // namespace haricot
