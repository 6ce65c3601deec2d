#include "haricot/base/little_endian.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace haricot {
namespace {

using namespace std::string_view_literals;

template <typename Integer>
std::string stored(Integer value) {
  std::string bytes(sizeof value, '?');
  store_little_endian(bytes.data(), value);
  return bytes;
}

TEST(LittleEndian, TheLowestByteComesFirst) {
  EXPECT_EQ(stored(std::uint32_t{0x04030201}), "\x01\x02\x03\x04"sv);
  EXPECT_EQ(stored(std::uint64_t{0x0807060504030201}), "\x01\x02\x03\x04\x05\x06\x07\x08"sv);
  EXPECT_EQ(stored(std::uint16_t{0x0201}), "\x01\x02"sv);
  EXPECT_EQ(load_little_endian<std::uint32_t>("\x01\x02\x03\x04"), 0x04030201u);
  EXPECT_EQ(load_little_endian<std::uint64_t>("\x01\x02\x03\x04\x05\x06\x07\x08"),
            0x0807060504030201u);
}

TEST(LittleEndian, AStoredNumberIsLoaded) {
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{255},
                                    std::uint64_t{0x8000000000000000}, ~std::uint64_t{0}}) {
    EXPECT_EQ(load_little_endian<std::uint64_t>(stored(value).data()), value);
  }
  for (const std::int64_t value : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1},
                                   std::int64_t{0}, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(load_little_endian<std::int64_t>(stored(value).data()), value);
  }
  for (const std::int32_t value : {std::numeric_limits<std::int32_t>::min(), std::int32_t{-1},
                                   std::int32_t{0}, std::numeric_limits<std::int32_t>::max()}) {
    EXPECT_EQ(load_little_endian<std::int32_t>(stored(value).data()), value);
  }
}

TEST(LittleEndian, AnyAddressWillDo) {
  for (std::size_t offset = 0; offset < 8; ++offset) {
    std::string bytes(20, '\xee');
    store_little_endian(bytes.data() + offset, std::uint64_t{0x1122334455667788});
    EXPECT_EQ(load_little_endian<std::uint64_t>(bytes.data() + offset), 0x1122334455667788u);
    if (offset > 0) {
      EXPECT_EQ(bytes[offset - 1], '\xee');
    }
    EXPECT_EQ(bytes[offset + 8], '\xee');
  }
}

}  // namespace
}  // namespace haricot
