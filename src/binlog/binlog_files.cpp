// The binlog's files: how much room there has to be, where it comes from, and how one file follows
// the other.

#include <algorithm>
#include <limits>
#include <new>
#include <string>

#include "haricot/base/check.hpp"
#include "haricot/binlog/binlog.hpp"

namespace haricot::binlog {
namespace {

// A disk that was full is not asked again before this time has gone by.
constexpr Duration kSparePause = Duration::milliseconds(50);
// What is kept ahead beyond all that is promised, as a share of a file.
constexpr std::uint64_t kShareInReserve = 8;
// Syncs that rotating a file asks for.
constexpr std::size_t kSyncsOfRotation = 3;
// Files that are open besides those that wait for their last sync: the one that is written, the one
// that is begun, a spare that grows, and one that is read or listed.
constexpr std::size_t kFilesOpenOtherwise = 4;
constexpr std::uint64_t kSmallestFileBytes = 4096;
// What is kept ahead is in proportion to a file. So where the folder cannot have this many files of
// the size that was asked for, files are smaller: down to a size that takes every job that is
// allowed where nobody has asked for larger ones.
constexpr std::uint64_t kFilesInSpace = 32;
constexpr std::uint64_t kSmallestShareBytes = 128 * 1024;
constexpr std::uint64_t kFilesAtLeast = 8;  // On a disk that is smaller still.
// What a turn does at most to have room ahead: somebody waits meanwhile.
constexpr std::uint64_t kSpaceTakenPerTurnBytes = 2 * 1024 * 1024;
constexpr int kSparesPerTurn = 4;
// From about this many on, spares are larger rather than more.
constexpr std::uint64_t kSparesMany = 32;
// Of the disk, what is left alone as long as nobody needs it: a twentieth.
constexpr std::uint64_t kShareLeftAlone = 20;
constexpr std::uint64_t kAllAtOnce = std::numeric_limits<std::uint64_t>::max();

std::uint64_t file_bytes_for(std::uint64_t record_bytes) {
  return kFirstRecordOffset + record_bytes + SegmentWriter::kEndBytes;
}

std::uint64_t share_of_one(std::uint64_t live_bytes, std::uint64_t live_jobs) {
  return live_jobs == 0 ? 0 : live_bytes / live_jobs;
}

}  // namespace

// Learns how large files may be where there is that much free space besides the folder's own.
void Binlog::set_size_of_files(std::uint64_t free_bytes) {
  const std::uint64_t ours = folder_bytes() + large_.allocated();
  const std::uint64_t all = free_bytes + std::min(ours, kAllAtOnce - free_bytes);
  const std::uint64_t share = all / kFilesInSpace / kSmallestFileBytes * kSmallestFileBytes;
  const std::uint64_t least =
      std::max(std::min(all / kFilesAtLeast, kSmallestShareBytes), kSmallestFileBytes);
  file_bytes_ = std::min(std::max(share, least), options_.file_bytes);
  static_assert(kSmallestFileBytes > kFirstRecordOffset + SegmentWriter::kEndBytes);
}

std::uint64_t Binlog::room_for_deletes() const {
  return segments_->live_jobs() * kShortRecordBytes;
}

// The living jobs of a file, at most. A job that has a file of its own is not counted: on a full
// disk it stays where it is.
std::uint64_t Binlog::most_to_move() const {
  if (file_bytes_ == options_.file_bytes) return file_bytes_;
  // Files that were begun when there was more space are larger than those that are begun now. They
  // are few: else there would not be too little space for a whole one.
  std::uint64_t most = file_bytes_;
  for (std::size_t i = 0; i < segments_->size(); ++i) {
    most = std::max(most, segments_->at(i).live_bytes);
  }
  return std::min(most, options_.file_bytes);
}

// A record that does not fit any more leaves the end of a file unused: less than its own size.
std::uint64_t Binlog::room_for_ends(std::uint64_t live_bytes, std::uint64_t live_jobs) const {
  return std::min(share_of_one(live_bytes, live_jobs), file_bytes_);
}

// Enough to move all jobs out of the oldest file, which may be a whole file of them; and what is
// lost at the end of the file that is being written, where the next record may not fit.
std::uint64_t Binlog::room_for_compaction() const {
  const std::uint64_t most = most_to_move();
  return std::min(segments_->live_bytes(), most + most / 4) +
         room_for_ends(segments_->live_bytes(), segments_->live_jobs());
}

// The same while compaction is under way: what has been moved has used its room, and files that
// wait to be removed are about to give theirs back.
std::uint64_t Binlog::room_to_go_on() const {
  CHECK(!segments_->empty());
  const Segment& oldest = segments_->oldest();
  std::uint64_t about_to_go = 0;
  for (std::size_t i = 0; i + 1 < segments_->size() && segments_->at(i).live_jobs == 0; ++i) {
    about_to_go += segments_->at(i).bytes;
  }
  if (about_to_go > 0) return room_for_compaction() - std::min(room_for_compaction(), about_to_go);
  if (segments_->size() < 2 || oldest.moved_until == 0) return room_for_compaction();
  return std::min(oldest.live_bytes + oldest.live_bytes / 4 +
                      room_for_ends(oldest.live_bytes, oldest.live_jobs),
                  room_for_compaction());
}

// What other changes than deletions may take when the disk is full. By the time that it is used up
// they have to have made enough garbage for compaction to find it worth its while, and give it
// back.
std::uint64_t Binlog::room_for_updates() const {
  return garbage_worth_collecting() + file_bytes_ / 4;
}

std::uint64_t Binlog::room_for_puts() const {
  return room_for_deletes() + room_for_compaction() + room_for_updates();
}

// Makes a spare that takes a record of so many bytes as its first, and takes at least `at_once`
// bytes of its space now. Where there is no room for a whole file, a smaller one is better than
// none.
bool Binlog::add_spare(std::uint64_t bytes, std::uint64_t at_once) {
  if (now_ < spare_again_) return false;
  at_once = std::max({at_once, bytes, kSpaceTakenPerTurnBytes});
  if (spares_.is_growing()) {
    spare_status_ = spares_.grow_last(at_once);
    if (spare_status_ == DiskStatus::ok) return true;
  }
  DiskSpace space{.free_bytes = kAllAtOnce, .total_bytes = 0};
  (void)disk_.space(space);
  set_size_of_files(space.free_bytes);
  const std::uint64_t least = std::max(bytes, kSmallestFileBytes);
  // What says nothing about the space that is left, a quota for instance, is asked for little
  // first: each try makes a file.
  std::uint64_t size = is_short_for_no_reason_ ? least : std::max(bytes, file_bytes_);
  // Room for very many deletions is in a few large spares. They are begun only on a full disk.
  const std::uint64_t share =
      room_for_puts() / kSparesMany / kSmallestFileBytes * kSmallestFileBytes;
  const bool is_easy = !is_short_for_no_reason_ && space.free_bytes / kSparesMany > share;
  if (bytes == 0 && is_easy) size = std::max(size, share);
  spare_status_ = DiskStatus::full;
  while (true) {
    is_short_for_no_reason_ = false;
    if (size <= space.free_bytes) {
      spare_status_ = spares_.add(size, at_once);
      if (!is_short_of_space()) break;
      is_short_for_no_reason_ = true;
      space.free_bytes = size - 1;
      set_size_of_files(space.free_bytes);
    }
    if (size / 2 < least) break;
    size /= 2;
  }
  if (refusing_) refusing_for_space_ = is_short_of_space();
  if (spare_status_ == DiskStatus::ok) return true;
  // One record that is too large is no reason to make the others wait.
  if (!is_short_of_space() || bytes <= file_bytes_) spare_again_ = now_ + kSparePause;
  if (spare_status_ == DiskStatus::failed) note_failed_file();
  return false;
}

// While files wait for their sync a file may only want the descriptor of one of them: see
// why_no_spare(). If not, the next try tells.
void Binlog::note_failed_file() {
  look_again_at_files_ = now_;
  if (syncs_.files_to_close() > 0) return;
  ++errors_;
  try {
    notice({.kind = Notice::Kind::file_failed, .doing = "make", .error = spares_.why()},
           failure_notice_at_);
  } catch (const std::bad_alloc&) {
    // Nobody waits for it: who asked for the file is refused as without it.
  }
}

// Begins a spare ahead of the need for it. As long as no job lives here nothing has to be kept room
// for, and the last part of the disk is left to those who need it.
bool Binlog::begin_spare() {
  if (now_ < std::max(spare_again_, spare_ahead_again_)) return false;
  DiskSpace space;
  if (segments_->live_jobs() == 0 && disk_.space(space) &&
      space.free_bytes < file_bytes_ + space.total_bytes / kShareLeftAlone) {
    spare_ahead_again_ = now_ + kSparePause;
    return false;
  }
  return add_spare(0, 0);
}

// Why there is no room where a spare could not be had. A file that cannot be made or opened may
// only want the descriptor of one that is full and waits for its sync: that is worth waiting for,
// once for each such file.
JournalStatus Binlog::why_no_spare() {
  if (spare_status_ != DiskStatus::failed) return JournalStatus::full;
  if (syncs_.files_to_close() == 0 || refusing_) return JournalStatus::failed;
  spare_again_ = now_;
  return JournalStatus::later;
}

// Opens the first spare, which then takes a record of that size.
bool Binlog::prepare_spare(std::uint64_t record_bytes) {
  const DiskStatus status = spares_.prepare_first(file_bytes_for(record_bytes));
  if (status == DiskStatus::ok) return true;
  spare_status_ = status;
  if (status == DiskStatus::failed) note_failed_file();
  return false;
}

// As make_room(), for a command. What compaction needs is not kept waiting by the size of the
// folder, which it is to reduce.
JournalStatus Binlog::make_room_for_command(std::uint64_t record_bytes, std::uint64_t keep) {
  if (writer_.room() < record_bytes) {
    take_sync_ends();
    if (refusing_) return refusal();
    if (is_too_far_ahead()) return tell_later();
  }
  const JournalStatus status = make_room(record_bytes, keep);
  return status == JournalStatus::later ? tell_later() : status;
}

// Whether so many files wait for their syncs that there must be no more of them now.
bool Binlog::disk_has_to_catch_up() {
  const bool has_large = large_.state() != LargeBody::State::none;
  const auto are_too_many = [this, has_large] {
    return syncs_.length() + kSyncsOfRotation > SyncLine::kLengthMax ||
           syncs_.files_to_close() + kFilesOpenOtherwise + (has_large ? 1 : 0) >
               options_.open_files_max;
  };
  if (!are_too_many()) return false;
  take_sync_ends();
  return are_too_many();
}

// Sees to it that the file that is being written takes the record, and that behind it there is room
// for so many bytes more. full: there is none to be had. failed: no file can be made, or, where
// none is open any more, the binlog has failed. later: a sync that is under way has to end first.
JournalStatus Binlog::make_room(std::uint64_t record_bytes, std::uint64_t keep) {
  if (writer_.room() >= record_bytes) {
    while (ahead() < record_bytes + keep) {
      if (!add_spare(0, record_bytes + keep - ahead())) return why_no_spare();
    }
    return JournalStatus::ok;
  }
  if (disk_has_to_catch_up()) return JournalStatus::later;
  if (refusing_ && !writer_.is_open()) return JournalStatus::failed;
  // What is left in this file is lost.
  const std::uint64_t bytes = file_bytes_for(record_bytes);
  if (spares_.empty() && !add_spare(bytes, bytes + keep)) return why_no_spare();
  if (spares_.least_that_holds(bytes) > std::max(bytes, options_.file_bytes)) {
    (void)add_spare(bytes, bytes);  // As large as a file should be, if that can be had.
  }
  if (!prepare_spare(record_bytes)) return why_no_spare();
  while (spares_.room() < record_bytes + keep) {
    if (!add_spare(0, record_bytes + keep - spares_.room())) return why_no_spare();
  }
  return rotate() ? JournalStatus::ok : JournalStatus::failed;
}

// Begins the next file and seals the one before. In this order: whoever finds a seal that tells of
// a next file can rely on it that there was one. `around_large`: with that record, whose body is
// whole. False: the binlog has failed.
bool Binlog::rotate(const Record* around_large) {
  flush();
  if (!writer_.is_open()) return false;
  const SegmentWriter::Ending ending = writer_.take_ending(false, oldest_needed());
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
  const bool is_begun = begin_file(around_large);
  const DiskStatus status = is_begun ? SegmentWriter::seal(disk_, ending) : DiskStatus::ok;
  if (status != DiskStatus::ok) fail(status, "write");
  if (!by_sync) disk_.close(ending.file);
  return is_begun && status == DiskStatus::ok;
}

// Begins the first spare, which was prepared, or the file of the large body. The name is changed
// after the signature was written, so that no reader finds a file that does not say what it is; the
// folder's sync stands in line in front of that of the first records.
bool Binlog::begin_file(const Record* around_large) {
  const bool is_large = around_large != nullptr;
  CHECK(!writer_.is_open() && (is_large || !spares_.empty()));
  std::string from;
  std::string to;
  const std::uint64_t number = next_file_number_;
  try {
    from = spare_name(is_large ? LargeBody::kNumber : spares_.first().number);
    to = segment_name(number);
    segments_->add(number).bytes = is_large ? large_.allocated() : spares_.first().allocated;
  } catch (const std::bad_alloc&) {
    fail(DiskStatus::full, "begin a file", "there is no memory");
    return false;
  }
  const Spare spare = is_large ? Spare{.file = large_.file(), .allocated = large_.allocated()}
                               : spares_.take_first();
  Signature signature;
  signature.salt = salt_of(note_.store_id, number);
  signature.next_id = engine_->next_id();
  signature.file_number = number;
  signature.store_id = note_.store_id;
  signature.run = note_.run;
  signature.records_lost = static_cast<std::uint32_t>(report_.records_lost);
  signature.oldest_needed = static_cast<std::uint32_t>(oldest_needed());
  const std::size_t files = segments_->size();
  if (files > 1) {
    signature.previous_number = static_cast<std::uint32_t>(segments_->at(files - 2).number);
  }
  if (previous_ && previous_number_ == signature.previous_number) {
    signature.previous_bytes = previous_->bytes;
    signature.previous_records = previous_->records;
    signature.previous_digest = previous_->digest;
  }
  DiskStatus status = DiskStatus::ok;
  if (is_large) {
    const RecordAroundBody first{*around_large, large_.sum()};
    status = writer_.begin(disk_, spare.file, signature, spare.allocated, &first);
  } else {
    status = writer_.begin(disk_, spare.file, signature, spare.allocated);
  }
  if (status == DiskStatus::ok) {
    status = disk_.rename(from, to);
  }
  if (status != DiskStatus::ok) {
    unsure_number_ = number;
    const bool was_written = writer_.is_open();
    if (was_written) writer_.abandon();
    segments_->remove_newest();
    fail(status, "begin a file");
    // A renaming that failed may have taken effect all the same. No file that was begun has ever
    // had that name.
    const bool is_renamed = was_written && disk_.remove(to) == DiskStatus::ok;
    if (is_large) return false;  // fail() has dropped it.
    if (is_renamed) {
      disk_.close(spare.file);
    } else {
      spares_.discard(spare);
    }
    return false;
  }
  if (is_large) large_.let_go();
  records_before_newest_ = records_;
  look_again_at_files_ = now_;
  spares_.set_next_number(++next_file_number_);
  if (options_.sync != SyncPolicy::never) syncs_.sync_folder();
  return true;
}

// Less by a half of a file is not worth it. A spare that was made for large jobs, or for very many,
// goes with the last job: one of the usual size takes its place.
bool Binlog::has_spare_to_give_back(std::uint64_t wanted) const {
  if (spares_.empty()) return false;
  const Spare& last = spares_.last();
  if (last.allocated > options_.file_bytes && segments_->live_jobs() == 0) return true;
  return ahead() > wanted + Spares::room_of(last) + options_.file_bytes / 2;
}

// Keeps the room ahead that puts ask for, made in time rather than when one needs it, and gives
// back what is much more than that. A turn does a bit of it.
void Binlog::tend_spares() {
  const std::uint64_t wanted = room_for_puts() + file_bytes_ / kShareInReserve;
  spares_left_to_tend_ = true;
  if (spares_.is_growing()) {
    spare_status_ = spares_.grow_last(kSpaceTakenPerTurnBytes);
    if (spare_status_ != DiskStatus::ok) spare_again_ = now_ + kSparePause;
    return;
  }
  for (int i = 0; i < kSparesPerTurn && !spares_.is_growing(); ++i) {
    if (ahead() < wanted) {
      spares_left_to_tend_ = begin_spare();
    } else {
      spares_left_to_tend_ = has_spare_to_give_back(wanted);
      if (spares_left_to_tend_) spares_.remove_last();
    }
    if (!spares_left_to_tend_) return;
  }
}

// At a start ------------------------------------------------------------------------------------

// The spare that the first file of this server is made from. On a full disk it may be that the
// space is in the file before: a server that was killed leaves what it had taken ahead.
bool Binlog::make_first_spare() {
  const bool good = add_spare(0, kAllAtOnce);
  const bool is_enough = good && spares_.room() >= std::min(room_for_puts(), file_bytes_ / 2);
  if (is_enough || !cut_off_zeros()) return good;
  spare_again_ = now_;
  return add_spare(0, kAllAtOnce) || good;
}

// Gives back what the newest file that was read has behind its last record. False: nothing.
bool Binlog::cut_off_zeros() {
  if (report_.files.empty()) return false;
  const FileReport& last = report_.files.back();
  const bool has_zeros = last.damages.empty() && last.torn.bytes == 0 && last.accepted_bytes > 0 &&
                         last.bytes > last.accepted_bytes;
  if (!has_zeros) return false;
  FileHandle file = FileHandle::none;
  if (disk_.open_existing(segment_name(last.number), file) != DiskStatus::ok) return false;
  DiskStatus status = disk_.truncate(file, last.accepted_bytes);
  if (status == DiskStatus::ok && options_.sync != SyncPolicy::never) status = disk_.sync(file);
  disk_.close(file);
  if (status != DiskStatus::ok) return false;
  if (!segments_->empty() && segments_->newest().number == last.number) {
    segments_->newest().bytes = last.accepted_bytes;
  }
  return true;
}

// At the end of a server on a full disk: what it has taken for deletions must not go to somebody
// else before the next start, which then can record none.
void Binlog::leave_room() {
  spare_again_ = now_;
  while (spares_.room() < room_for_puts() && add_spare(0, kAllAtOnce)) {
  }
  spares_.leave_all();
}

}  // namespace haricot::binlog
