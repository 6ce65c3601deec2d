#include "haricot/binlog/read/torn.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "haricot/base/little_endian.hpp"
#include "haricot/base/name_bytes.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/protocol/limits.hpp"

namespace haricot::binlog {
namespace {

// Zeros, as far as they are there.
bool is_zero(std::string_view file, std::uint64_t begin, std::uint64_t end) {
  if (begin >= file.size()) return true;
  const std::string_view part =
      file.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  return find_nonzero(part, 0) == part.size();
}

// Whether a record would stand there if its name had a length.
bool has_lost_its_length(std::string_view file, std::uint64_t begin, std::uint32_t seed) {
  if (begin >= file.size()) return false;
  std::array<char, header_bytes(kTubeNameBytesMax)> header{};
  const std::string_view rest = file.substr(static_cast<std::size_t>(begin), header.size());
  std::memcpy(header.data(), rest.data(), rest.size());
  const std::string_view bytes(header.data(), header.size());
  for (std::uint32_t length = 1; length <= kTubeNameBytesMax; ++length) {
    store_little_endian(header.data(), length);
    const std::optional<Parsed> parsed = parse_record(bytes);
    if (parsed && header_fits(bytes, *parsed, Position{seed, begin, 0})) return true;
  }
  return false;
}

}  // namespace

bool has_lost_its_head(std::string_view file) {
  return is_zero(file, 0, kFirstRecordOffset + kShortRecordBytes + 1);
}

bool looks_torn(std::string_view file, std::uint64_t begin, std::uint64_t end, std::uint32_t seed) {
  if (begin <= kFirstRecordOffset && has_lost_its_head(file)) return true;
  std::uint64_t sector = begin / kDiskSectorBytes * kDiskSectorBytes;
  for (; sector < end; sector += kDiskSectorBytes) {
    const std::uint64_t from = std::max(begin, sector);
    std::uint64_t to = sector + kDiskSectorBytes;
    // The header of a large body in front may reach into a sector in which the body begins.
    if (begin < kDiskSectorBytes && from > begin) to = std::min(to, from + kNameLengthBytes);
    if (!is_zero(file, from, to)) continue;
    // The zeros at the begin of a change are there in any case.
    if (from > begin || to - from > kNameLengthBytes || has_lost_its_length(file, begin, seed))
      return true;
  }
  return false;
}

void MarksRead::add(const std::optional<Mark>& mark) {
  (mark ? has_some : lacks_some) = true;
  if (!mark) return;
  has_durable_past |= mark->has_durable_past;
  durable_bytes = std::max(durable_bytes, mark->durable_bytes);
}

}  // namespace haricot::binlog
