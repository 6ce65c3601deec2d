// The binlog's files: how much room there has to be, where it comes from, and how one file follows
// the other.

#include <algorithm>
#include <new>
#include <string>

#include "haricot/base/check.hpp"
#include "haricot/binlog/binlog.hpp"

namespace haricot::binlog {
namespace {

// A disk that was full is not asked again before this time has gone by: each try costs.
constexpr Duration kSparePause = Duration::milliseconds(500);
// What is kept ahead beyond all that is promised, as a share of a file.
constexpr std::uint64_t kShareInReserve = 8;
// Syncs that rotating a file asks for.
constexpr std::size_t kSyncsOfRotation = 3;
constexpr std::uint64_t kSmallestFileBytes = 4096;

std::uint64_t file_bytes_for(std::uint64_t record_bytes) {
  return kFirstRecordOffset + record_bytes + SegmentWriter::kEndBytes;
}

// A record that does not fit any more leaves the end of a file unused: less than its own size.
std::uint64_t share_of_one(std::uint64_t live_bytes, std::uint64_t live_jobs) {
  return live_jobs == 0 ? 0 : live_bytes / live_jobs;
}

}  // namespace

std::uint64_t Binlog::room_for_deletes() const {
  return segments_->live_jobs() * kShortRecordBytes;
}

// Enough to move all jobs out of the oldest file, which may be a whole file of them; and what is
// lost at the end of the file that is being written, where the next record may not fit.
std::uint64_t Binlog::room_for_compaction() const {
  return std::min(segments_->live_bytes(), options_.file_bytes + options_.file_bytes / 4) +
         share_of_one(segments_->live_bytes(), segments_->live_jobs());
}

// The same while compaction is under way: what has been moved has used its room, and files that
// wait to be removed are about to give theirs back.
std::uint64_t Binlog::room_to_go_on() const {
  const Segment& oldest = segments_->oldest();
  std::uint64_t about_to_go = 0;
  for (std::size_t i = 0; i + 1 < segments_->size() && segments_->at(i).live_jobs == 0; ++i) {
    about_to_go += segments_->at(i).bytes;
  }
  if (about_to_go > 0) return room_for_compaction() - std::min(room_for_compaction(), about_to_go);
  if (segments_->size() < 2 || oldest.moved_until == 0) return room_for_compaction();
  return std::min(
      oldest.live_bytes + oldest.live_bytes / 4 + share_of_one(oldest.live_bytes, oldest.live_jobs),
      room_for_compaction());
}

// What other changes than deletions may take when the disk is full. By the time that it is used up
// they have to have made enough garbage for compaction to find it worth its while, and give it
// back.
std::uint64_t Binlog::room_for_updates() const {
  return garbage_worth_collecting() + options_.file_bytes / 4;
}

std::uint64_t Binlog::room_for_puts() const {
  return room_for_deletes() + room_for_compaction() + room_for_updates();
}

bool Binlog::add_spare(std::uint64_t bytes) {
  if (now_ < spare_again_) return false;
  // Where there is no room for a whole file, a smaller one is better than none.
  std::uint64_t size = std::max(bytes, options_.file_bytes);
  spare_status_ = spares_.add(size);
  while (is_short_of_space() && size / 2 >= std::max(bytes, kSmallestFileBytes)) {
    size /= 2;
    spare_status_ = spares_.add(size);
  }
  if (refusing_) refusing_for_space_ = is_short_of_space();
  if (spare_status_ == DiskStatus::ok) return true;
  spare_again_ = now_ + kSparePause;
  // While syncs are under way it may only want the descriptor of a file that waits for its own: see
  // wait_for_a_file(). If not, the next try tells.
  if (spare_status_ == DiskStatus::failed && syncs_.length() == 0) {
    ++errors_;
    try {
      notice({.kind = Notice::Kind::file_failed, .doing = "make", .error = disk_.last_error()},
             failure_notice_at_);
    } catch (const std::bad_alloc&) {
      // Nobody waits for it: who asked for the file is refused as without it.
    }
  }
  return false;
}

// A file that cannot be made may only want the descriptor of one that is full and not yet synced.
// False: that is not it. Blocks, as short as the disk lets it.
bool Binlog::wait_for_a_file() {
  if (spare_status_ != DiskStatus::failed || syncs_.length() == 0 || refusing_) return false;
  disk_.wait_for_sync();
  take_sync_ends();
  spare_again_ = now_;
  return true;
}

// Sees to it that the file that is being written takes the record, and that behind it there is room
// for so many bytes more. full: there is none to be had.
JournalStatus Binlog::make_room(std::uint64_t record_bytes, std::uint64_t keep) {
  if (writer_.room() >= record_bytes) {
    while (ahead() < record_bytes + keep) {
      if (!add_spare(0) && !wait_for_a_file()) return JournalStatus::full;
    }
    return JournalStatus::ok;
  }
  // What is left in this file is lost.
  while (spares_.empty() && !add_spare(file_bytes_for(record_bytes))) {
    if (!wait_for_a_file()) return JournalStatus::full;
  }
  if (spares_.grow_first(file_bytes_for(record_bytes)) != DiskStatus::ok) {
    return JournalStatus::full;
  }
  while (spares_.room() < record_bytes + keep) {
    if (!add_spare(0) && !wait_for_a_file()) return JournalStatus::full;
  }
  // So many files that nobody has synced yet: the disk cannot follow, and this once it is waited
  // for.
  while (syncs_.length() + kSyncsOfRotation > SyncLine::kLengthMax) {
    disk_.wait_for_sync();
    take_sync_ends();
  }
  if (refusing_ && !writer_.is_open()) return JournalStatus::failed;
  return rotate() ? JournalStatus::ok : JournalStatus::failed;
}

// Begins the next file and seals the one before. In this order: whoever finds a seal that tells of a
// next file can rely on it that there was one. False: the binlog has failed.
bool Binlog::rotate() {
  flush();
  if (!writer_.is_open()) return false;
  const SegmentWriter::Ending ending = writer_.take_ending(false, segments_->oldest().number);
  previous_ = ending.end;
  previous_number_ = segments_->newest().number;
  segments_->newest().bytes = ending.end.bytes;
  const bool by_sync = options_.sync != SyncPolicy::never;
  if (by_sync) {
    // What was in doubt and is written anew is safe only when all of it is.
    syncs_.sync_file(ending.file, refusing_ ? 0 : records_, true);
    if (!refusing_) {
      sync_requested_ = records_;
      unsynced_since_ = Instant::never();
    }
  } else if (!refusing_) {
    hold(records_);
  }
  if (!refusing_) {
    written_records_ = records_;
    if (options_.sync == SyncPolicy::interval) held_records_ = records_;
  }
  const bool is_begun = begin_file();
  const DiskStatus status = is_begun ? SegmentWriter::seal(disk_, ending) : DiskStatus::ok;
  if (status != DiskStatus::ok) fail(status, "write");
  if (!by_sync) disk_.close(ending.file);
  return is_begun && status == DiskStatus::ok;
}

// Begins the first spare. The name is changed after the signature was written, so that no reader
// finds a file that does not say what it is; the folder's sync stands in line in front of that of
// the first records.
bool Binlog::begin_file() {
  CHECK(!writer_.is_open() && !spares_.empty());
  std::string from;
  std::string to;
  try {
    const Spare& first = spares_.first();
    from = spare_name(first.number);
    to = segment_name(first.number);
    segments_->add(first.number).bytes = first.allocated;
  } catch (const std::bad_alloc&) {
    fail(DiskStatus::full, "begin a file", "there is no memory");
    return false;
  }
  const Spare spare = spares_.take_first();
  Signature signature;
  signature.salt = salt_of(store_id_, spare.number);
  signature.next_id = engine_->next_id();
  signature.file_number = spare.number;
  signature.store_id = store_id_;
  signature.records_lost = static_cast<std::uint32_t>(report_.records_lost);
  signature.oldest_needed = static_cast<std::uint32_t>(segments_->oldest().number);
  const std::size_t files = segments_->size();
  if (files > 1) {
    signature.previous_number = static_cast<std::uint32_t>(segments_->at(files - 2).number);
  }
  if (previous_ && previous_number_ == signature.previous_number) {
    signature.previous_bytes = previous_->bytes;
    signature.previous_records = previous_->records;
    signature.previous_digest = previous_->digest;
  }
  DiskStatus status = writer_.begin(disk_, spare.file, signature, spare.allocated);
  bool is_renamed = false;
  if (status == DiskStatus::ok) {
    status = disk_.rename(from, to);
    // One that failed may have taken effect all the same. Nothing else has ever had that name.
    if (status != DiskStatus::ok) is_renamed = disk_.remove(to) == DiskStatus::ok;
  }
  if (status != DiskStatus::ok) {
    if (writer_.is_open()) writer_.abandon();
    segments_->remove_newest();
    fail(status, "begin a file");
    if (is_renamed) {
      disk_.close(spare.file);
    } else {
      spares_.discard(spare);
    }
    return false;
  }
  ++files_begun_this_turn_;
  if (options_.sync != SyncPolicy::never) syncs_.sync_folder();
  return true;
}

// Keeps the room ahead that puts ask for, made in time rather than when one needs it, and gives
// back what is much more than that.
void Binlog::tend_spares() {
  const std::uint64_t wanted = room_for_puts() + options_.file_bytes / kShareInReserve;
  while (ahead() < wanted && add_spare(0)) {
  }
  while (!spares_.empty() &&
         ahead() > wanted + Spares::room_of(spares_.last()) + options_.file_bytes / 2) {
    spares_.remove_last();
  }
}

}  // namespace haricot::binlog
