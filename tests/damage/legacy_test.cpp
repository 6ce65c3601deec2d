// Folders with files of beanstalkd. Its records have no checksum, so a damaged record may be read
// wrongly. All other records have to be read, and unreadable bytes have to be reported.

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

constexpr std::size_t kLegacyFolders = 5;

class HurtLegacy : public ::testing::TestWithParam<std::size_t> {
 protected:
  const KnownFolder& folder() const { return *folders_with_beanstalkd()[GetParam()]; }

  test::Random random_{GetParam() + 1};
};

TEST_P(HurtLegacy, OneBit) {
  Sweep sweep(29, kStride);
  for (const KnownFile& file : folder().files) {
    const std::size_t end = std::min<std::size_t>(file.bytes.size(), 4096);
    for (std::size_t offset = 0; offset < end; ++offset) {
      for (const unsigned bit : file.bits_of_interest(offset)) {
        if (!sweep.is_next()) continue;
        sweep.judge(HurtFolder(folder()).flip(file.number, offset, bit));
      }
    }
  }
}

TEST_P(HurtLegacy, TwoOfTheFirstBytes) {
  constexpr std::size_t kBytes = 128;
  Sweep sweep(29, kStride > 1 ? 5 * kStride : 3);
  for (const KnownFile& file : folder().files) {
    for (std::size_t one = 0; one < kBytes; ++one) {
      for (std::size_t other = one + 1; other < kBytes; ++other) {
        for (const bool zeros : {true, false}) {
          if (!sweep.is_next()) continue;
          HurtFolder hurt(folder());
          hurt.overwrite(file.number, one, zeros ? std::string(1, '\0') : random_.bytes(1));
          hurt.overwrite(file.number, other, zeros ? std::string(1, '\0') : random_.bytes(1));
          sweep.judge(hurt);
        }
      }
    }
  }
}

TEST_P(HurtLegacy, ASector) {
  Sweep sweep(1, kStride > 1 ? 3 : 1);
  for (const KnownFile& file : folder().files) {
    for (std::size_t at = 0; at < file.bytes.size(); at += kSectorBytes / 8) {
      for (int kind = 0; kind < 3; ++kind) {
        if (!sweep.is_next()) continue;
        HurtFolder hurt(folder());
        if (kind == 0) hurt.zero(file.number, at, kSectorBytes);
        if (kind == 1) hurt.overwrite(file.number, at, random_.bytes(kSectorBytes));
        if (kind == 2) hurt.overwrite(file.number, at, random_.bytes(30));
        sweep.judge(hurt);
      }
    }
  }
}

TEST_P(HurtLegacy, ACut) {
  Sweep sweep(7, kStride);
  for (const KnownFile& file : folder().files) {
    for (std::size_t length = 0; length < file.bytes.size(); ++length) {
      if (!sweep.is_next()) continue;
      sweep.judge(HurtFolder(folder()).cut(file.number, length));
    }
  }
}

TEST_P(HurtLegacy, BytesBehindTheEnd) {
  Sweep sweep(1);
  for (const KnownFile& file : folder().files) {
    for (const std::size_t bytes : {1U, 7U, 84U, 300U, 5000U}) {
      if (!sweep.is_next()) continue;
      sweep.judge(HurtFolder(folder()).append(file.number, random_.bytes(bytes)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, HurtLegacy, ::testing::Range(std::size_t{0}, kLegacyFolders),
                         [](const ::testing::TestParamInfo<std::size_t>& place) {
                           return test_name(folders_with_beanstalkd()[place.param]->name);
                         });

TEST(HurtLegacyFolders, AreAll) {
  EXPECT_EQ(folders_with_beanstalkd().size(), kLegacyFolders);
}

}  // namespace
}  // namespace haricot::damage
