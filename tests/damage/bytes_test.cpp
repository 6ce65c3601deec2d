// Folders of haricotd with damaged bits, bytes and sectors.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "folders.hpp"
#include "support/random.hpp"
#include "sweep.hpp"

namespace haricot::damage {
namespace {

using binlog::kSectorBytes;

constexpr std::size_t kFolders = 10;

class HurtBytes : public ::testing::TestWithParam<std::size_t> {
 protected:
  const KnownFolder& folder() const { return *folders_of_haricotd()[GetParam()]; }
  // Returns the files to damage. In a folder of many files these are the first, the last, and two
  // others.
  std::vector<const KnownFile*> files() const {
    std::vector<const KnownFile*> files;
    const std::size_t count = folder().files.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (count <= 3 || i < 2 || i == count / 2 || i + 1 == count) {
        files.push_back(&folder().files[i]);
      }
    }
    return files;
  }
  // Returns 1 for folders of few files, and more for others, which take longer. The number is odd,
  // so that every bit is damaged in some byte.
  std::uint64_t stride() const {
    const std::size_t files = folder().files.size();
    if (kStride == 1) return files < 10 ? 1 : 11;
    return kStride * (files <= 3 ? 1 : files < 10 ? 3 : 31);
  }

  test::Random random_{GetParam() + 1 + test::given_seed().value_or(0)};
};

// Returns the offsets of the first bytes, and of the heads of all records.
std::vector<std::size_t> offsets_of_interest(const KnownFile& file) {
  std::vector<std::size_t> offsets;
  const std::size_t first = std::min<std::size_t>(file.bytes.size(), 4096);
  for (std::size_t at = 0; at < first; ++at) offsets.push_back(at);
  for (const Piece& piece : file.pieces) {
    for (std::size_t at = piece.offset; at < piece.offset + piece.head_bytes; ++at) {
      if (at >= first) offsets.push_back(at);
    }
  }
  return offsets;
}

TEST_P(HurtBytes, OneBit) {
  Sweep sweep(29, stride());
  for (const KnownFile* file : files()) {
    for (const std::size_t offset : offsets_of_interest(*file)) {
      for (const unsigned bit : file->bits_of_interest(offset)) {
        if (!sweep.is_next()) continue;
        sweep.judge(HurtFolder(folder()).flip(file->number, offset, bit));
      }
    }
  }
}

TEST_P(HurtBytes, TwoOfTheFirstBytes) {
  constexpr std::size_t kBytes = 128;
  Sweep sweep(29, stride());
  for (const KnownFile* file : files()) {
    for (std::size_t one = 0; one < kBytes; ++one) {
      for (std::size_t other = one + 1; other < kBytes; ++other) {
        for (const bool zeros : {true, false}) {
          if (!sweep.is_next()) continue;
          HurtFolder hurt(folder());
          hurt.overwrite(file->number, one, zeros ? std::string(1, '\0') : random_.bytes(1));
          hurt.overwrite(file->number, other, zeros ? std::string(1, '\0') : random_.bytes(1));
          sweep.judge(hurt);
        }
      }
    }
  }
}

TEST_P(HurtBytes, ASector) {
  Sweep sweep(1, kStride > 1 ? 3 : 1);
  for (const KnownFile& file : folder().files) {
    for (std::size_t at = 0; at < file.bytes.size(); at += kSectorBytes) {
      for (int kind = 0; kind < 3; ++kind) {
        if (!sweep.is_next()) continue;
        HurtFolder hurt(folder());
        if (kind == 0) hurt.zero(file.number, at, kSectorBytes);
        if (kind == 1) hurt.overwrite(file.number, at, random_.bytes(kSectorBytes));
        // A part of a sector, as after a torn write.
        if (kind == 2) hurt.overwrite(file.number, at + random_.below(400), random_.bytes(30));
        sweep.judge(hurt);
      }
    }
  }
}

// Removes parts of the first sector.
TEST_P(HurtBytes, TheBeginOfAFile) {
  Sweep sweep(5, stride());
  for (const KnownFile* file : files()) {
    for (std::size_t bytes = 1; bytes <= kSectorBytes; ++bytes) {
      for (int kind = 0; kind < 3; ++kind) {
        if (!sweep.is_next()) continue;
        HurtFolder hurt(folder());
        if (kind == 0) hurt.zero(file->number, 0, bytes);
        if (kind == 1) hurt.overwrite(file->number, 0, random_.bytes(bytes));
        if (kind == 2) hurt.zero(file->number, kSectorBytes - bytes, bytes);
        sweep.judge(hurt);
      }
    }
  }
}

TEST_P(HurtBytes, ACut) {
  Sweep sweep(7, stride());
  for (const KnownFile* file : files()) {
    for (std::size_t length = 0; length < file->bytes.size(); ++length) {
      if (!sweep.is_next()) continue;
      sweep.judge(HurtFolder(folder()).cut(file->number, length));
    }
  }
}

// Writes sectors to another place, and appends bytes.
TEST_P(HurtBytes, StaleOnesAndOnesBehindTheEnd) {
  Sweep sweep(1, kStride > 1 ? 3 : 1);
  const std::vector<KnownFile>& all = folder().files;
  for (const KnownFile& file : all) {
    for (const KnownFile& other : {all.front(), all.back()}) {
      for (std::size_t at = 0; at + kSectorBytes <= file.bytes.size(); at += kSectorBytes) {
        const std::size_t from =
            random_.below(other.bytes.size() / kSectorBytes + 1) * kSectorBytes;
        if (!sweep.is_next()) continue;
        HurtFolder hurt(folder());
        hurt.overwrite(file.number, at, std::string_view(other.bytes).substr(from, kSectorBytes));
        sweep.judge(hurt);
      }
    }
    for (const std::size_t bytes : {1U, 7U, 84U, 300U, 5000U}) {
      if (!sweep.is_next()) continue;
      sweep.judge(HurtFolder(folder()).append(file.number, random_.bytes(bytes)));
    }
    // A second copy of a record.
    const Piece& piece = file.pieces.size() > 2 ? file.pieces[2] : file.pieces[1];
    sweep.judge(HurtFolder(folder()).append(
        file.number, std::string_view(file.bytes).substr(piece.offset, piece.bytes)));
  }
}

INSTANTIATE_TEST_SUITE_P(Of, HurtBytes, ::testing::Range(std::size_t{0}, kFolders),
                         [](const ::testing::TestParamInfo<std::size_t>& place) {
                           return test_name(folders_of_haricotd()[place.param]->name);
                         });

TEST(HurtBytesFolders, AreAll) {
  EXPECT_EQ(folders_of_haricotd().size(), kFolders);
}

}  // namespace
}  // namespace haricot::damage
