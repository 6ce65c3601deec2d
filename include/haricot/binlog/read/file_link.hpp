// What the signature of a file says of the file before it: how long that was, and which one.

#pragma once

#include <cstdint>
#include <string_view>

#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/read/file_scan.hpp"

namespace haricot::binlog {

// How the end of a file fits what the next one says of it.
enum class Link : std::uint8_t {
  good,
  damaged,  // It does not, but the file is damaged or cut off, which explains it.
  broken,   // It does not, and nothing explains it: the next one was begun after another file.
};

// Whether that signature tells how the file of that number ended.
bool knows_end_of(const Signature& next, std::uint64_t number);
// Requires: the scan is at its end; it was of as many bytes of the file as `next` says. `all` is
// the whole file. `next` knows the file's end.
Link link_between(const FileScan& scan, const Signature& next, std::string_view all,
                  const FileIdentity& identity);
// Whether the sums of the records are those that `next` knows, before any of them is checked: then
// the link is not broken. It costs a look at the head of each record.
bool has_sums_of(std::string_view all, const Signature& next);

}  // namespace haricot::binlog
