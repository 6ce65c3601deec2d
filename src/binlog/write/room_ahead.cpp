#include "haricot/binlog/write/room_ahead.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <new>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/write/segment_writer.hpp"
#include "haricot/binlog/write/spares.hpp"

namespace haricot::binlog {
namespace {

// Bounds of the folder: bytes of this many files, or this many times the bytes of the living jobs.
constexpr std::uint64_t kFilesMax = 3;
constexpr std::uint64_t kTimesLiveBytesMax = 3;
// The room ahead is in proportion to a file. So if the folder has no space for this many files of
// the configured size, files are smaller: down to kSmallestShareBytes, which takes any job of the
// default maximum size.
constexpr std::uint64_t kFilesInSpace = 32;
constexpr std::uint64_t kSmallestShareBytes = 128 * 1024;
constexpr std::uint64_t kFilesAtLeast = 8;  // On a disk that is smaller still.

std::uint64_t share_of_one(std::uint64_t live_bytes, std::uint64_t live_jobs) {
  return live_jobs == 0 ? 0 : live_bytes / live_jobs;
}

// Returns the room of spares made of a file's space, at least: one for each whole block.
std::uint64_t room_given_back_by(const Segment& file) {
  return file.bytes / RoomNeeds::kBlockBytes * Spares::room_of(RoomNeeds::kBlockBytes);
}

// Pause after the disk was full.
constexpr Duration kSparePause = Duration::milliseconds(50);
// Pause between searches for the room of a refused put that is larger than a file.
constexpr Duration kPauseBetweenSearches = Duration::milliseconds(50);
// Divisor of a file's size: the room that is kept beyond the required one.
constexpr std::uint64_t kShareAhead = 8;
// Number of syncs that the rotation to a new file requests.
constexpr std::size_t kSyncsOfRotation = 3;
// Number of open files besides those that wait for their last sync: the one that is written, the
// one that is begun, a spare that grows, and one that is read or listed.
constexpr std::size_t kFilesOpenOtherwise = 4;
// Least space that a new spare allocates when it is created.
constexpr std::uint64_t kTakenAtOnceBytes =
    std::uint64_t{turn_limits::kStepsOfSpares} * turn_limits::kTakenBytesPerStep;
// With about this many spares, their sizes grow instead of their number.
constexpr std::uint64_t kSparesMany = 32;
// Divisor of the disk's size: the free space that is left to others while no job lives in the
// folder.
constexpr std::uint64_t kShareLeftAlone = 20;
constexpr std::uint64_t kAllAtOnce = std::numeric_limits<std::uint64_t>::max();

// Returns the number in the name of a spare. It differs between any 2000 consecutive epochs, so
// that no server uses a spare of another one that still runs.
std::uint64_t spare_number_of(std::uint32_t epoch, std::uint64_t file_number) {
  constexpr std::uint64_t kEpochs = 2000;
  constexpr std::uint64_t kNumbers = 1 << 20;
  static_assert(kEpochs * kNumbers < kFileNumberLast);
  return epoch % kEpochs * kNumbers + 1 + file_number % (kNumbers / 2);
}

std::uint64_t file_bytes_for(std::uint64_t record_bytes) {
  return kFirstRecordOffset + record_bytes + SegmentWriter::kEndBytes;
}

}  // namespace

// Needs -------------------------------------------------------------------------------------------

void RoomNeeds::set_space(std::uint64_t bytes) {
  const std::uint64_t share = bytes / kFilesInSpace / kBlockBytes * kBlockBytes;
  const std::uint64_t least =
      std::max(std::min(bytes / kFilesAtLeast, kSmallestShareBytes), kBlockBytes);
  // In whole blocks: a part of one would be taken from the disk and give no room.
  const std::uint64_t blocks = (std::max(share, least) + kBlockBytes - 1) / kBlockBytes;
  file_bytes_ = std::min(blocks * kBlockBytes, state_.options.file_bytes);
  static_assert(kBlockBytes > kFirstRecordOffset + SegmentWriter::kEndBytes);
}

std::uint64_t RoomNeeds::folder_bytes_allowed() const {
  return std::max(kFilesMax * state_.options.file_bytes,
                  kTimesLiveBytesMax * segments().live_bytes());
}

// Returns an upper bound of the bytes of a file's living jobs. A job with a file of its own is not
// counted: on a full disk it is not moved.
std::uint64_t RoomNeeds::most_to_move() const {
  if (file_bytes_ == state_.options.file_bytes) return file_bytes_;
  // Files that were begun when there was more space are larger than those that are begun now. There
  // are few of them: otherwise there would be space for a whole file.
  std::uint64_t most = file_bytes_;
  for (std::size_t i = 0; i < segments().size(); ++i) {
    most = std::max(most, segments().at(i).live_bytes);
  }
  return std::min(most, state_.options.file_bytes);
}

// Returns the bytes lost at the end of a file, where a record does not fit: less than its size.
std::uint64_t RoomNeeds::for_ends_of_files(std::uint64_t live_bytes,
                                           std::uint64_t live_jobs) const {
  return std::min(share_of_one(live_bytes, live_jobs), file_bytes_);
}

// Returns the room to move all jobs out of the oldest file, which may be full of them, and the loss
// at the end of the file that is being written, where the next record may not fit.
std::uint64_t RoomNeeds::for_compaction() const {
  const std::uint64_t most = most_to_move();
  return std::min(segments().live_bytes(), most + most / 4) +
         for_ends_of_files(segments().live_bytes(), segments().live_jobs());
}

// Moved jobs have used their room, and files that wait for their removal will return theirs.
std::uint64_t RoomNeeds::to_continue_compaction() const {
  CHECK(!segments().empty());
  const Segment& oldest = segments().oldest();
  const std::uint64_t for_next = for_compaction();
  std::uint64_t given_back = 0;
  std::uint64_t to_move = 0;
  const bool has_begun = segments().size() > 1 && oldest.moved_until != 0;
  if (has_begun && oldest.live_jobs > 0) {
    given_back = room_given_back_by(oldest);
    to_move = oldest.live_bytes + oldest.live_bytes / 4 +
              for_ends_of_files(oldest.live_bytes, oldest.live_jobs);
  }
  for (std::size_t i = 0; i + 1 < segments().size() && segments().at(i).live_jobs == 0; ++i) {
    given_back += room_given_back_by(segments().at(i));
  }
  return std::min(to_move + for_next - std::min(for_next, given_back), for_next);
}

// When this room is used up, changes must have made enough garbage for compaction to collect it and
// return its room.
std::uint64_t RoomNeeds::for_updates() const {
  return garbage_worth_collecting() + file_bytes_ / 4;
}

// Room --------------------------------------------------------------------------------------------

RoomAhead::RoomAhead(BinlogState& state, RecordStream& stream, const LargeBody& body)
    : state_(state), stream_(stream), body_(body), needs_(state), spares_(state.disk) {}

void RoomAhead::learn_space(std::uint64_t free_bytes) {
  const std::uint64_t ours = folder_bytes() + body_.allocated();
  needs_.set_space(free_bytes + std::min(ours, kAllAtOnce - free_bytes));
}

std::uint64_t RoomAhead::folder_bytes() const {
  return segments().older_bytes() + stream_.writer().allocated() + spares_.allocated();
}

// Spares ------------------------------------------------------------------------------------------

// Makes a spare whose first record may have that many bytes, and allocates at least `at_once` bytes
// of its space now. If there is no space for a whole file, makes a smaller one.
bool RoomAhead::add_spare(std::uint64_t bytes, std::uint64_t at_once) {
  if (state_.now < spare_again_) return false;
  at_once = std::max({at_once, bytes, kTakenAtOnceBytes});
  if (spares_.is_growing()) {
    spare_status_ = grow_spare(at_once);
    if (spare_status_ == DiskStatus::ok) return true;
  }
  DiskSpace space{.free_bytes = kAllAtOnce, .total_bytes = 0};
  (void)state_.disk.space(space);
  learn_space(space.free_bytes);
  const std::uint64_t least = std::max(bytes, RoomNeeds::kBlockBytes);
  // A limit that free space does not show, such as a quota, is tried with a small spare first,
  // because each attempt creates a file.
  std::uint64_t size = is_short_for_no_reason_ ? least : std::max(bytes, needs_.file_bytes());
  // Room for very many deletions is in a few large spares, which are begun only on a full disk.
  const std::uint64_t share =
      needs_.for_puts() / kSparesMany / RoomNeeds::kBlockBytes * RoomNeeds::kBlockBytes;
  const bool is_easy = !is_short_for_no_reason_ && space.free_bytes / kSparesMany > share;
  if (bytes == 0 && is_easy) size = std::max(size, share);
  const bool good = try_sizes(size, least, at_once, space.free_bytes);
  if (stream_.is_refusing()) stream_.refusal().set_for_space(is_short());
  if (good) return true;
  // One record that is too large must not delay the others.
  if (!is_short() || bytes <= needs_.file_bytes()) spare_again_ = state_.now + kSparePause;
  if (spare_status_ == DiskStatus::failed) count_failed_file();
  return false;
}

// Makes a spare of that size, or of half of it, and so on.
bool RoomAhead::try_sizes(std::uint64_t size, std::uint64_t least, std::uint64_t at_once,
                          std::uint64_t free_bytes) {
  if (state_.is_fenced()) {
    spares_.leave_names_out();
    spares_.set_next_number(spare_number_of(state_.epoch, stream_.files().next_number()));
  } else {
    spares_.set_next_number(stream_.files().next_number());
  }
  spare_status_ = DiskStatus::full;
  while (true) {
    is_short_for_no_reason_ = false;
    if (size <= free_bytes) {
      const std::uint64_t before = spares_.allocated();
      spare_status_ = spares_.add(size, at_once);
      state_.steps += turn_limits::kStepsPerFile +
                      (spares_.allocated() - before) / turn_limits::kTakenBytesPerStep;
      if (!is_short()) break;
      is_short_for_no_reason_ = true;
      free_bytes = size - 1;
      learn_space(free_bytes);
    }
    if (size / 2 < least) break;
    size = std::max(least, size / 2 / RoomNeeds::kBlockBytes * RoomNeeds::kBlockBytes);
  }
  return spare_status_ == DiskStatus::ok;
}

// While files wait for their sync, a file may have failed only for lack of a descriptor (see
// why_no_spare()). Otherwise the next attempt reports the failure.
void RoomAhead::count_failed_file() {
  state_.check_files_at = state_.now;
  if (stream_.sync_line().files_to_close() > 0) return;
  state_.notices.count_error();
  try {
    state_.notices.report_at_times(
        Notices::Subject::file,
        {.kind = Notice::Kind::file_failed, .doing = "make", .error = spares_.why()}, state_.now);
  } catch (const std::bad_alloc&) {
    // Only the log misses it: the request for the file is refused as well.
  }
}

// Begins a spare before it is needed. While no job lives in the folder, no room is required, and
// the last part of the disk is left to other programs.
bool RoomAhead::begin_spare() {
  if (state_.now < std::max(spare_again_, spare_ahead_again_)) return false;
  DiskSpace space;
  if (segments().live_jobs() == 0 && state_.disk.space(space) &&
      space.free_bytes < needs_.file_bytes() + space.total_bytes / kShareLeftAlone) {
    spare_ahead_again_ = state_.now + kSparePause;
    return false;
  }
  return add_spare(0, 0);
}

DiskStatus RoomAhead::grow_spare(std::uint64_t bytes_max) {
  const std::uint64_t before = spares_.allocated();
  const DiskStatus status = spares_.grow_last(bytes_max);
  state_.steps += (spares_.allocated() - before) / turn_limits::kTakenBytesPerStep;
  return status;
}

bool RoomAhead::has_spare_or_makes_one() {
  if (!spares_.empty()) return true;
  ask_again();
  return add_spare(0, needs_.file_bytes());
}

// Returns the reason why there is no spare. A file may have failed only for lack of a descriptor,
// while a full file waits for its sync and is then closed: that is worth waiting for, once for each
// such file.
JournalStatus RoomAhead::why_no_spare() {
  if (spare_status_ != DiskStatus::failed) return JournalStatus::full;
  if (stream_.sync_line().files_to_close() == 0 || stream_.is_refusing())
    return JournalStatus::failed;
  ask_again();
  return JournalStatus::later;
}

bool RoomAhead::prepare_spare(std::uint64_t record_bytes) {
  const DiskStatus status = spares_.prepare_first(file_bytes_for(record_bytes));
  if (status == DiskStatus::ok) return true;
  spare_status_ = status;
  if (status == DiskStatus::failed) count_failed_file();
  return false;
}

// Files -------------------------------------------------------------------------------------------

bool RoomAhead::has_to_wait_for_syncs() {
  const bool has_large = body_.state() != LargeBody::State::none;
  const SyncLine& syncs = stream_.sync_line();
  const auto are_too_many = [this, &syncs, has_large] {
    return syncs.length() + kSyncsOfRotation > SyncLine::kLengthMax ||
           syncs.files_to_close() + kFilesOpenOtherwise + (has_large ? 1 : 0) >
               state_.options.open_files_max;
  };
  if (!are_too_many()) return false;
  stream_.syncs().take_ends();
  return are_too_many();
}

JournalStatus RoomAhead::make_room(std::uint64_t record_bytes, std::uint64_t keep) {
  if (stream_.writer().room() >= record_bytes) {
    while (ahead() < record_bytes + keep) {
      if (!add_spare(0, record_bytes + keep - ahead())) return why_no_spare();
    }
    return JournalStatus::ok;
  }
  if (has_to_wait_for_syncs()) return JournalStatus::later;
  if (stream_.is_refusing() && !stream_.is_open()) return JournalStatus::failed;
  // The rest of this file is lost.
  const std::uint64_t bytes = file_bytes_for(record_bytes);
  if (spares_.empty() && !add_spare(bytes, bytes + keep)) return why_no_spare();
  if (spares_.least_with_room(bytes) > std::max(bytes, state_.options.file_bytes)) {
    (void)add_spare(bytes, bytes);  // As large as a file should be, if possible.
  }
  if (!prepare_spare(record_bytes)) return why_no_spare();
  const JournalStatus status = make_room_in_spares(record_bytes + keep);
  if (status != JournalStatus::ok) return status;
  return rotate() ? JournalStatus::ok : JournalStatus::failed;
}

JournalStatus RoomAhead::make_room_in_spares(std::uint64_t keep) {
  while (spares_.room() < keep) {
    if (!add_spare(0, keep - spares_.room())) return why_no_spare();
  }
  return JournalStatus::ok;
}

bool RoomAhead::rotate() {
  const auto ending = stream_.files().end();
  if (!ending || !stream_.files().seal(*ending, begin_file_after(&*ending))) return false;
  ask_again();  // The space after the file's end is free again.
  return true;
}

bool RoomAhead::begin_file_after(const SegmentWriter::Ending* ending) {
  CHECK(!spares_.empty());
  const Spare& first = spares_.first();
  const FileSequence::Begun begun = stream_.files().begin(
      {.file = first.file, .number = first.number, .allocated = first.allocated, .after = ending});
  if (begun == FileSequence::Begun::not_tried) return false;
  const Spare spare = spares_.take_first();
  if (begun == FileSequence::Begun::gone) state_.disk.close(spare.file);
  if (begun == FileSequence::Begun::failed) spares_.discard(spare);
  return begun == FileSequence::Begun::yes;
}

// Tending -----------------------------------------------------------------------------------------

// Keeps an excess of less than half a file. A spare that was made for large jobs, or for very many
// jobs, goes with the last job; one of the usual size takes its place.
bool RoomAhead::has_spare_to_give_back(std::uint64_t wanted) const {
  if (spares_.empty()) return false;
  const Spare& last = spares_.last();
  if (last.allocated > state_.options.file_bytes && segments().live_jobs() == 0) return true;
  return ahead() > wanted + Spares::room_of(last) + state_.options.file_bytes / 2;
}

void RoomAhead::tend(const Budget& budget) {
  const std::uint64_t wanted = needs_.for_puts() + needs_.file_bytes() / kShareAhead;
  is_left_to_tend_ = true;
  while (is_left_to_tend_ && !budget.is_used_up()) {
    if (spares_.is_growing()) {
      spare_status_ = grow_spare(budget.left() * turn_limits::kTakenBytesPerStep);
      if (spare_status_ != DiskStatus::ok) spare_again_ = state_.now + kSparePause;
    } else if (ahead() < wanted) {
      is_left_to_tend_ = begin_spare();
    } else if (has_spare_to_give_back(wanted)) {
      spares_.remove_last();
      state_.steps += turn_limits::kStepsPerFile;
    } else {
      is_left_to_tend_ = false;
    }
  }
}

void RoomAhead::count_refused_put(std::uint64_t missing, std::uint64_t record_bytes) {
  missing_room_ = missing;
  missing_record_ = record_bytes;
  if (state_.notices.report_at_times(Notices::Subject::space, {.kind = Notice::Kind::no_space},
                                     state_.now)) {
    state_.notices.begin(Notices::Subject::space);
  }
}

void RoomAhead::find_missing_room() {
  if (missing_room_ == 0 || state_.now < search_again_) return;
  while (ahead() < needs_.for_puts() + missing_room_) {
    if (!add_spare(0, needs_.for_puts() + missing_room_ - ahead())) return;
  }
  // A job larger than a file gets a file of its own, made when the job comes.
  DiskSpace space;
  const bool wants_own_file = missing_record_ > needs_.file_bytes();
  if (wants_own_file && state_.disk.space(space) && space.free_bytes < missing_record_) {
    search_again_ = state_.now + kPauseBetweenSearches;
    return;
  }
  missing_room_ = 0;
  if (!state_.notices.take_begin(Notices::Subject::space)) return;
  try {
    state_.notices.add({.kind = Notice::Kind::space_again});
  } catch (const std::bad_alloc&) {
    // The space is there even if the log has no line, and `stats` shows it.
  }
}

// Requests a turn after each pause, because only a turn advances state_.now. Then the next put can
// ask the disk for space, which may have returned for any reason.
Instant RoomAhead::next_event() const {
  Instant next = Instant::never();
  if (spare_status_ != DiskStatus::ok && state_.now < spare_again_) {
    next = std::min(next, spare_again_);
  }
  if (missing_room_ > 0 && state_.now < search_again_) next = std::min(next, search_again_);
  return next;
}

// Start and end -----------------------------------------------------------------------------------

bool RoomAhead::make_first_spare(bool& is_enough) {
  const bool good = add_spare(0, kAllAtOnce);
  is_enough = good && spares_.room() >= std::min(needs_.for_puts(), needs_.file_bytes() / 2);
  return good;
}

void RoomAhead::end() {
  if (!is_short()) {
    spares_.remove_all();
    return;
  }
  ask_again();
  while (spares_.room() < needs_.for_puts() && add_spare(0, kAllAtOnce)) {
  }
  spares_.leave_all();
}

}  // namespace haricot::binlog
