// A file of the simulated folder: what a reader sees, what would survive a loss of power, and the
// changes between the two.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/random.hpp"

namespace haricot::binlog {

// What a disk writes whole or not at all.
inline constexpr std::uint64_t kSectorBytes = 512;

// The bytes of a file. Zeros at its end need no memory, so that allocated space costs nothing.
struct Image {
  std::string bytes;
  std::uint64_t size = 0;  // Not below that of `bytes`; the rest is zeros.

  // Cuts off, or goes on with zeros.
  void resize(std::uint64_t new_size);
  // Puts bytes somewhere; what of them lies past the end makes the image longer.
  void paste(std::uint64_t offset, std::string_view piece);
  // A part, with zeros for what lies past the end.
  std::string slice(std::uint64_t from, std::uint64_t to) const;
};

// What a crash makes of changes to a file that were not synced.
enum class Unsynced : std::uint8_t {
  lost,       // All of them.
  kept,       // All of them.
  in_order,   // Kept up to one that is torn at a sector, and lost from there on.
  by_write,   // Each is kept or lost as a whole.
  by_sector,  // Each sector for itself is one of those it has been, and so is the size of the file.
  any,        // One of these, chosen anew for each file.
};

class SimFile {
 public:
  SimFile() = default;
  explicit SimFile(Image durable) : seen_(durable), durable_(std::move(durable)) {}

  const Image& seen() const { return seen_; }
  const Image& durable() const { return durable_; }
  // Nothing that a crash could take away, or bring up again.
  bool is_clean() const { return changes_.empty(); }

  void write(std::uint64_t offset, std::string_view bytes);
  void resize(std::uint64_t size);

  // How many changes there were so far: what a sync that begins now covers.
  std::uint64_t changes_made() const { return changes_made_; }
  // Makes the first so many changes durable, but for those in doubt.
  void commit(std::uint64_t changes);
  // What a failed sync does: the kernel takes what it could not write for written. A reader still
  // sees it, no later sync writes it, and what became of it on the disk nobody knows.
  void put_in_doubt(std::uint64_t changes);

  Image after_crash(test::Random& random, Unsynced policy) const;

  // Damages the file as it is on the disk. Requires: is_clean(), and the bytes are in the file.
  void overwrite(std::uint64_t offset, std::string_view bytes);

 private:
  // A write holds whole sectors, as they were seen right after it: like the page cache, the disk
  // gets the last write to a sector never without those in front of it.
  struct Change {
    std::uint64_t number;  // From 1.
    std::uint64_t offset;
    std::string sectors;
    std::uint64_t size_after;
    bool cuts = false;
    bool in_doubt = false;
    bool size_is_durable = false;  // Of a change in doubt that a later sync covered.
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
