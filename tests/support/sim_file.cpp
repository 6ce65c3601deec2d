#include "support/sim_file.hpp"

#include <algorithm>
#include <utility>

#include "haricot/base/check.hpp"

namespace haricot::binlog {
namespace {}  // namespace

void Image::resize(std::uint64_t new_size) {
  size = new_size;
  if (bytes.size() > size) bytes.resize(size);
}

void Image::paste(std::uint64_t offset, std::string_view piece) {
  if (piece.empty()) return;
  const std::uint64_t end = offset + piece.size();
  if (bytes.size() < end) bytes.resize(end);
  piece.copy(bytes.data() + offset, piece.size());
  size = std::max(size, end);
}

std::string Image::slice(std::uint64_t from, std::uint64_t to) const {
  std::string part;
  if (from < bytes.size()) part = bytes.substr(from, to - from);
  part.resize(to - from);
  return part;
}

void SimFile::write(std::uint64_t offset, std::string_view bytes) {
  if (bytes.empty()) return;
  const std::uint64_t from = offset / kSectorBytes * kSectorBytes;
  const std::uint64_t to = (offset + bytes.size() + kSectorBytes - 1) / kSectorBytes * kSectorBytes;
  seen_.paste(offset, bytes);
  changes_.push_back(Change{++changes_made_, from, seen_.slice(from, to), seen_.size});
}

void SimFile::resize(std::uint64_t size) {
  if (size == seen_.size) return;
  const bool cuts = size < seen_.size;
  seen_.resize(size);
  changes_.push_back(Change{++changes_made_, size, {}, size, cuts});
}

void SimFile::commit(std::uint64_t changes) {
  for (std::size_t i = 0; i < changes_.size() && changes_[i].number <= changes; ++i) {
    Change& change = changes_[i];
    if (!change.size_is_durable) {
      durable_.resize(change.size_after);
      change.size_is_durable = true;
    }
    settle_doubts(i);
    if (change.in_doubt) continue;
    // The last sector may extend beyond the end of the file.
    durable_.paste(change.offset, change.sectors);
    durable_.resize(change.size_after);
  }
  std::erase_if(changes_, [changes](const Change& change) {
    return change.number <= changes && !change.in_doubt;
  });
}

// A doubtful change before a durable one no longer counts where they overlap.
void SimFile::settle_doubts(std::size_t index) {
  const Change& last = changes_[index];
  if (last.in_doubt) return;
  for (std::size_t i = 0; i < index; ++i) {
    Change& doubt = changes_[i];
    if (!doubt.in_doubt) continue;
    const std::uint64_t end = doubt.offset + doubt.sectors.size();
    if (last.cuts) {
      const std::uint64_t cut = std::max(last.size_after, doubt.offset);
      if (cut < end) doubt.sectors.resize(cut - doubt.offset);
      continue;
    }
    const std::uint64_t from = std::max(doubt.offset, last.offset);
    const std::uint64_t to = std::min(end, last.offset + last.sectors.size());
    if (from >= to) continue;
    doubt.sectors.replace(from - doubt.offset, to - from, last.sectors, from - last.offset,
                          to - from);
  }
}

void SimFile::put_in_doubt(std::uint64_t changes) {
  for (Change& change : changes_) {
    if (change.number <= changes && !change.sectors.empty()) change.in_doubt = true;
  }
}

Image SimFile::after_crash(test::Random& random, Unsynced policy) const {
  if (policy == Unsynced::any) {
    policy = static_cast<Unsynced>(random.below(static_cast<std::uint64_t>(Unsynced::any)));
  }
  if (changes_.empty()) return durable_;
  switch (policy) {
    case Unsynced::lost:
      return durable_;
    case Unsynced::kept:
      return seen_;
    case Unsynced::in_order:
      return crash_in_order(random);
    case Unsynced::by_write:
      return crash_in_parts(random, false);
    case Unsynced::by_sector:
    case Unsynced::any:
      break;
  }
  return crash_in_parts(random, true);
}

Image SimFile::crash_in_order(test::Random& random) const {
  const std::uint64_t kept = random.below(changes_.size() + 1);
  Image image = durable_;
  std::uint64_t size = durable_.size;
  for (std::size_t i = 0; i < kept; ++i) {
    const Change& change = changes_[i];
    if (!change.size_is_durable) size = change.size_after;
    if (change.cuts) image.resize(size);
    image.paste(change.offset, change.sectors);
  }
  if (kept < changes_.size()) {
    const Change& torn = changes_[kept];
    const std::uint64_t sectors = random.below(torn.sectors.size() / kSectorBytes + 1);
    image.paste(torn.offset, std::string_view(torn.sectors).substr(0, sectors * kSectorBytes));
    if (sectors > 0 && !torn.size_is_durable) {
      size = std::max(size, std::min(torn.size_after, torn.offset + sectors * kSectorBytes));
    }
  }
  image.resize(size);
  return image;
}

// The size, including truncation, is that after the first so many changes: file systems keep these
// in order. Sectors are kept independently of each other.
Image SimFile::crash_in_parts(test::Random& random, bool tear) const {
  const std::uint64_t sizes_kept = random.below(changes_.size() + 1);
  Image image = durable_;
  std::uint64_t size = durable_.size;
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    const Change& change = changes_[i];
    if (i < sizes_kept && !change.size_is_durable) {
      size = change.size_after;
      if (change.cuts) image.resize(size);
    }
    if (tear) {
      paste_torn(image, change, random);
    } else if (random.coin()) {
      image.paste(change.offset, change.sectors);
    }
  }
  image.resize(size);
  return image;
}

// Changes have whole sectors, so keeping the last write to a sector includes the earlier ones.
void SimFile::paste_torn(Image& image, const Change& change, test::Random& random) const {
  const std::string_view sectors = change.sectors;
  for (std::uint64_t at = 0; at < sectors.size(); at += kSectorBytes) {
    if (random.coin()) image.paste(change.offset + at, sectors.substr(at, kSectorBytes));
  }
}

void SimFile::overwrite(std::uint64_t offset, std::string_view bytes) {
  CHECK(is_clean() && offset + bytes.size() <= durable_.size);
  durable_.paste(offset, bytes);
  seen_.paste(offset, bytes);
}

}  // namespace haricot::binlog
