#include "haricot/binlog/read/file_link.hpp"

namespace haricot::binlog {

bool knows_end_of(const Signature& next, std::uint64_t number) {
  if (next.previous_bytes == 0) return false;
  if (next.tells_of_its_neighbours()) return next.previous_number == number;
  return next.file_number == number + 1;
}

Link link_between(const FileScan& scan, const Signature& next, std::string_view all,
                  const FileIdentity& identity) {
  // Earlier versions told no digest of a file of beanstalkd, and counted records that were lost.
  const bool is_checked = scan.kind() == FileKind::checked;
  const bool has_digest = is_checked || next.previous_digest != 0;
  const bool is_same = scan.accepted_bytes() == next.previous_bytes &&
                       (!has_digest || scan.digest() == next.previous_digest) &&
                       (is_checked || scan.records() == next.previous_records);
  if (is_same) return Link::good;
  // A file that is whole and goes on is another one, though that end cuts through a record of it.
  const bool is_cut_by_us = scan.kind() == FileKind::checked && all.size() > next.previous_bytes;
  if (is_cut_by_us) {
    FileScan whole(all, identity);
    whole.run_to_end();
    const bool goes_on = whole.accepted_bytes() > next.previous_bytes;
    if (goes_on && whole.damages().empty()) return Link::broken;
  }
  if (!scan.damages().empty() || scan.tail().bytes > 0) return Link::damaged;
  const bool is_cut = !scan.seal() && scan.accepted_bytes() < next.previous_bytes;
  return is_cut ? Link::damaged : Link::broken;
}

bool has_sums_of(std::string_view all, const Signature& next) {
  if (all.size() < next.previous_bytes) return false;
  const std::string_view bytes = all.substr(0, static_cast<std::size_t>(next.previous_bytes));
  std::uint32_t digest = 0;
  std::size_t at = kFirstRecordOffset;
  Parsed parsed;
  while (at < bytes.size()) {
    if (!parse_record(bytes.substr(at), parsed)) return false;
    digest = digest_with(digest, parsed);
    at += parsed.record.bytes();
  }
  return at == bytes.size() && digest == next.previous_digest;
}

}  // namespace haricot::binlog
