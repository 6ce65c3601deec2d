#include "haricot/base/crc32c.hpp"

#include <array>
#include <cstddef>
#include <cstring>

#include "haricot/base/little_endian.hpp"

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace haricot {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // 0x1edc6f41 with its bits reversed.

// Eight bytes per step: table k has the effect of a byte that is followed by k more.
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t crc = tables[k - 1][byte];
      tables[k][byte] = (crc >> 8) ^ tables[0][crc & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

// Maps the highest byte of an entry of table 0, which no other entry has, to the index of the
// entry.
constexpr std::array<std::uint8_t, 256> make_entries_by_first_byte() {
  std::array<std::uint8_t, 256> entries{};
  for (std::size_t i = 0; i < 256; ++i) {
    entries[kTables[0][i] >> 24] = static_cast<std::uint8_t>(i);
  }
  return entries;
}

constexpr std::array<std::uint8_t, 256> kEntriesByFirstByte = make_entries_by_first_byte();

template <typename Integer>
Integer load(const char* from) {
  Integer value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}

#if defined(__x86_64__)

// Each instruction waits for the one before, and most records are short. So there are few other
// instructions, and no loop for the last bytes. Joining several parallel streams would take longer
// than the CRC of a record.
__attribute__((target("sse4.2"))) inline std::uint32_t extend_by_cpu(std::uint64_t crc,
                                                                     std::string_view bytes) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  for (; end - at >= 32; at += 32) {
    crc = _mm_crc32_u64(crc, load<std::uint64_t>(at));
    crc = _mm_crc32_u64(crc, load<std::uint64_t>(at + 8));
    crc = _mm_crc32_u64(crc, load<std::uint64_t>(at + 16));
    crc = _mm_crc32_u64(crc, load<std::uint64_t>(at + 24));
  }
  for (; end - at >= 8; at += 8) crc = _mm_crc32_u64(crc, load<std::uint64_t>(at));
  const std::size_t left = bytes.size() % 8;
  auto rest = static_cast<std::uint32_t>(crc);
  if ((left & 4) != 0) rest = _mm_crc32_u32(rest, load<std::uint32_t>(at)), at += 4;
  if ((left & 2) != 0) rest = _mm_crc32_u16(rest, load<std::uint16_t>(at)), at += 2;
  if ((left & 1) != 0) rest = _mm_crc32_u8(rest, load<std::uint8_t>(at));
  return ~rest;
}

__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_cpu(std::uint32_t before,
                                                              std::string_view bytes) {
  return extend_by_cpu(~before, bytes);
}

__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_cpu(std::uint32_t before,
                                                              std::uint64_t number,
                                                              std::string_view bytes) {
  return extend_by_cpu(_mm_crc32_u64(~before, number), bytes);
}

bool has_cpu_crc() {
  return __builtin_cpu_supports("sse4.2") != 0;
}

#elif defined(__ARM_FEATURE_CRC32)

std::uint32_t extend_by_cpu(std::uint32_t crc, std::string_view bytes) {
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) crc = __crc32cd(crc, load<std::uint64_t>(at));
  if ((left & 4) != 0) crc = __crc32cw(crc, load<std::uint32_t>(at)), at += 4;
  if ((left & 2) != 0) crc = __crc32ch(crc, load<std::uint16_t>(at)), at += 2;
  if ((left & 1) != 0) crc = __crc32cb(crc, load<std::uint8_t>(at));
  return ~crc;
}

std::uint32_t crc32c_by_cpu(std::uint32_t before, std::string_view bytes) {
  return extend_by_cpu(~before, bytes);
}

std::uint32_t crc32c_by_cpu(std::uint32_t before, std::uint64_t number, std::string_view bytes) {
  return extend_by_cpu(__crc32cd(~before, number), bytes);
}

bool has_cpu_crc() {
  return true;
}  // The compiler targets a CPU with the instruction.

#else

std::uint32_t crc32c_by_cpu(std::uint32_t before, std::string_view bytes) {
  return crc32c_portable(before, bytes);
}

std::uint32_t crc32c_by_cpu(std::uint32_t before, std::uint64_t number, std::string_view bytes) {
  return crc32c_portable(before, number, bytes);
}

bool has_cpu_crc() {
  return false;
}

#endif

const bool kHasCpuCrc = has_cpu_crc();

// A CRC is the remainder of a polynomial. Its highest bit is the coefficient of x^0, so a shift to
// the right multiplies it by x.
constexpr std::uint32_t kOne = 0x80000000;

constexpr std::uint32_t times_x(std::uint32_t a) {
  return (a >> 1) ^ ((a & 1) != 0 ? kPolynomial : 0);
}

constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b) {
  std::uint32_t sum = 0;
  for (; a != 0; a <<= 1) {
    if ((a & kOne) != 0) sum ^= b;
    b = times_x(b);
  }
  return sum;
}

constexpr std::uint32_t kX8 = kOne >> 8;  // One more byte multiplies a CRC by this.

}  // namespace

std::uint32_t crc32c_joined(std::uint32_t before, std::uint32_t after, std::uint64_t bytes_after) {
  std::uint32_t factor = kX8;
  for (; bytes_after != 0; bytes_after >>= 1) {
    if ((bytes_after & 1) != 0) before = product(before, factor);
    factor = product(factor, factor);
  }
  return before ^ after;
}

// Not inlined, because crc32c() would save registers for it in vain.
[[gnu::noinline]] std::uint32_t crc32c_portable(std::uint32_t before, std::string_view bytes) {
  std::uint32_t crc = ~before;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      std::uint32_t byte = static_cast<unsigned char>(at[i]);
      if (i < 4) byte ^= (crc >> (8 * i)) & 0xff;
      next ^= kTables[7 - i][byte];
    }
    crc = next;
  }
  for (; left > 0; ++at, --left) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<unsigned char>(*at)) & 0xff];
  }
  return ~crc;
}

std::uint32_t crc32c_before(std::uint32_t after, std::string_view bytes) {
  std::uint32_t crc = ~after;
  for (std::size_t i = bytes.size(); i > 0; --i) {
    const std::uint8_t entry = kEntriesByFirstByte[crc >> 24];
    const auto byte = static_cast<unsigned char>(bytes[i - 1]);
    crc = ((crc ^ kTables[0][entry]) << 8) | static_cast<std::uint8_t>(entry ^ byte);
  }
  return ~crc;
}

[[gnu::noinline]] std::uint32_t crc32c_portable(std::uint32_t before, std::uint64_t number,
                                                std::string_view bytes) {
  char first[8];
  store_little_endian(first, number);
  return crc32c_portable(crc32c_portable(before, std::string_view(first, sizeof first)), bytes);
}

std::uint32_t crc32c(std::uint32_t before, std::string_view bytes) {
  return kHasCpuCrc ? crc32c_by_cpu(before, bytes) : crc32c_portable(before, bytes);
}

std::uint32_t crc32c(std::uint32_t before, std::uint64_t number, std::string_view bytes) {
  return kHasCpuCrc ? crc32c_by_cpu(before, number, bytes) : crc32c_portable(before, number, bytes);
}

}  // namespace haricot
