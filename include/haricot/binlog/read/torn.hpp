// Whether what is lost of a file is what a loss of power took away, or damage.
//
// A disk keeps any of the sectors that were not synced. Files begin as zeros, and each write goes
// on where the one before it ended. So a sector that is lost has zeros from there on up to its end.
// Damage may look the same, but not often. And what was durable is damaged if it is lost, however
// it looks: the marks of later records tell how far the file was durable (folder_judgement.hpp).

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "haricot/binlog/format/record.hpp"

namespace haricot::binlog {

// Whether a loss of power may have left these bytes of the file: a sector that has them ends in
// zeros, from the begin of the hole on if it is in that sector. What is not there counts as zeros.
// Names have lengths, whose first byte is the only one that is lost of a record that begins at the
// end of a sector: the seed of the file tells of these.
bool looks_torn(std::string_view file, std::uint64_t begin, std::uint64_t end, std::uint32_t seed);

// Whether the signature and the header of a full record after it are zeros. They are written last
// where a large body comes first.
bool has_lost_its_head(std::string_view file);

// What the marks tell that were read of a file.
struct MarksRead {
  bool has_durable_past = false;    // By any.
  std::uint64_t durable_bytes = 0;  // The highest.
  bool has_some = false;
  bool lacks_some = false;  // Some records have a place for a mark, and none.

  void add(const std::optional<Mark>& mark);
  // Requires: it may have one. What has a deadline of its own there tells nothing.
  void add(const Record& record) {
    if (const auto mark = mark_of(record); mark || record.deadline_at == 0) add(mark);
  }
  // Earlier versions write none.
  bool are_of_earlier_version() const { return lacks_some && !has_some; }
};

}  // namespace haricot::binlog
