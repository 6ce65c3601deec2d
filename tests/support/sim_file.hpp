// A file of the simulated folder: the visible content, the content that would survive a loss of
// power, and the changes between the two.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/random.hpp"

namespace haricot::binlog {

// A disk writes a sector completely or not at all.
inline constexpr std::uint64_t kSectorBytes = 512;

// The bytes of a file. Zeros at its end take no memory, so allocated space costs nothing.
struct Image {
  std::string bytes;
  std::uint64_t size = 0;  // At least that of `bytes`; the rest is zeros.

  // Truncates, or extends with zeros.
  void resize(std::uint64_t new_size);
  // Writes bytes at an offset; extends the image if necessary.
  void paste(std::uint64_t offset, std::string_view piece);
  // Returns a part, with zeros beyond the end.
  std::string slice(std::uint64_t from, std::uint64_t to) const;
};

// Effect of a crash on unsynced changes of a file.
enum class Unsynced : std::uint8_t {
  lost,       // All changes.
  kept,       // All changes.
  in_order,   // Kept up to one that is torn at a sector; the rest is lost.
  by_write,   // Each change is kept or lost as a whole.
  by_sector,  // Each sector, and the size, is one of its versions, independently.
  any,        // One of these, chosen for each file.
};

class SimFile {
 public:
  SimFile() = default;
  explicit SimFile(Image durable) : seen_(durable), durable_(std::move(durable)) {}

  const Image& seen() const { return seen_; }
  const Image& durable() const { return durable_; }
  // Returns true if a crash would change nothing.
  bool is_clean() const { return changes_.empty(); }

  void write(std::uint64_t offset, std::string_view bytes);
  void resize(std::uint64_t size);

  // Number of changes so far, which a sync that starts now covers.
  std::uint64_t changes_made() const { return changes_made_; }
  // Makes the first `changes` durable, except those in doubt.
  void commit(std::uint64_t changes);
  // Has the effect of a failed sync: the kernel treats data that it could not write as written. A
  // reader still sees it, no later sync writes it, and its state on the disk is unknown.
  void put_in_doubt(std::uint64_t changes);

  Image after_crash(test::Random& random, Unsynced policy) const;

  // Damages the file on the disk. Requires: is_clean(), and the bytes are in the file.
  void overwrite(std::uint64_t offset, std::string_view bytes);

 private:
  // A write has whole sectors, as they were visible after it: like the page cache, the disk never
  // gets the last write to a sector without the earlier ones.
  struct Change {
    std::uint64_t number;  // Starts at 1.
    std::uint64_t offset;
    std::string sectors;
    std::uint64_t size_after;
    bool cuts = false;
    bool in_doubt = false;
    bool size_is_durable = false;  // A doubtful change that a later sync has covered.
  };

  void settle_doubts(std::size_t index);
  void paste_torn(Image& image, const Change& change, test::Random& random) const;
  Image crash_in_order(test::Random& random) const;
  Image crash_in_parts(test::Random& random, bool tear) const;

  Image seen_;
  Image durable_;
  std::vector<Change> changes_;
  std::uint64_t changes_made_ = 0;
};

}  // namespace haricot::binlog
