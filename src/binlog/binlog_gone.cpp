// Files that somebody takes away while the server runs: one of them, all, or the folder.
//
// What is written to a file without a name is found by nobody, and no call fails. So the binlog
// looks for its files by their names, once a second while it is in use, and at each new file.
//
//   the newest file or the folder   the binlog has failed, and recovers when the folder is there.
//                                   Then all jobs are written anew, not only those in doubt.
//   an older file                   its jobs, and those of the files before it, which may have been
//                                   deleted in it, are moved by compaction. Nothing is refused.

#include <algorithm>
#include <new>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/binlog/binlog.hpp"
#include "haricot/binlog/keeper.hpp"

namespace haricot::binlog {
namespace {

constexpr Duration kPauseBetweenLooks = Duration::seconds(1);

}  // namespace

void Binlog::look_for_files() {
  if (now_ < look_again_at_files_ || refusing_ || !writer_.is_open() || !can_look_) return;
  look_again_at_files_ = now_ + kPauseBetweenLooks;
  try {
    const Presence found = disk_.look_for(writer_.file(), segment_name(writer_.number()));
    if (found != Presence::there) {
      if (found == Presence::file_gone) lose_newest();
      fail(DiskStatus::failed, "find", {}, Notice::Kind::gone);
    } else {
      looks_for_older_ = !looks_for_older_;  // Every other time: a look costs a system call.
      if (looks_for_older_) look_for_an_older_file();
    }
  } catch (const std::bad_alloc&) {
    // The next look comes in a second.
  }
}

// Another file may have its name now, which is not ours to remove.
void Binlog::lose_newest() {
  Segment& newest = segments_->newest();
  newest.has_to_be_kept = true;
  gone_until_ = std::max(gone_until_, newest.number);
}

// One after the other, in turn.
void Binlog::look_for_an_older_file() {
  std::size_t place = 0;
  while (place + 1 < segments_->size() && segments_->at(place).number <= looked_at_) ++place;
  if (place + 1 >= segments_->size()) place = 0;
  const Segment& older = segments_->at(place);
  looked_at_ = older.number;
  if (place + 1 >= segments_->size() || older.is_gone) return;
  if (disk_.look_for(FileHandle::none, segment_name(older.name_number)) != Presence::file_gone) {
    return;
  }
  std::string why = disk_.last_error();
  std::vector<std::string> names;
  if (!list_sorted(names)) return;
  const std::uint64_t gone_before = gone_until_;
  mark_those_gone(names);
  if (gone_until_ == gone_before) return;  // It is there after all.
  bool is_new = false;
  if (disk_.return_to_folder(is_new) != DiskStatus::ok || is_new) {
    // More than a file has gone: what was begun since then may be in no folder.
    if (is_new) mark_all_gone();
    fail(DiskStatus::failed, "find", why, Notice::Kind::gone);
    return;
  }
  ++errors_;
  notice({.kind = Notice::Kind::gone, .doing = "find", .error = std::move(why)}, gone_notice_at_);
  gone_was_told_ = true;
}

bool Binlog::list_sorted(std::vector<std::string>& names) {
  if (disk_.list(names) != DiskStatus::ok) return false;
  std::sort(names.begin(), names.end());
  return true;
}

// `names` is what the folder has, sorted.
void Binlog::mark_those_gone(const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < segments_->size(); ++i) {
    Segment& segment = segments_->at(i);
    const bool goes_by_us = is_removing_ && i == 0;
    if (segment.is_gone || goes_by_us) continue;
    const std::string name = segment_name(segment.name_number);
    if (std::binary_search(names.begin(), names.end(), name)) continue;
    segment.is_gone = true;
    gone_until_ = std::max(gone_until_, segment.number);
  }
}

void Binlog::mark_all_gone() {
  for (std::size_t i = 0; i < segments_->size(); ++i) {
    segments_->at(i).is_gone = true;
    gone_until_ = segments_->at(i).number;
  }
}

// At the end of moving the jobs of older files.
void Binlog::end_moving_those_gone() {
  if (refusing_ || gone_until_ == 0 || segments_->oldest().number <= gone_until_) return;
  gone_until_ = 0;
  gone_notice_at_ = now_;
  if (!std::exchange(gone_was_told_, false)) return;
  try {
    notices_.push_back({.kind = Notice::Kind::recovered, .file = segment_name(writer_.number())});
  } catch (const std::bad_alloc&) {
    // It is, whether the log is told or not.
  }
}

// Recovering --------------------------------------------------------------------------------------

// A folder in which another server has worked meanwhile must not be worked in: its files have
// numbers that ours would get.
bool Binlog::has_file_of_another_server(const std::vector<std::string>& names, std::string& why) {
  for (const std::string& name : names) {
    const auto number = segment_number(name);
    if (!number || *number < next_file_number_ || *number == unsure_number_) continue;
    why = name + " is there, which this server has not written";
    return true;
  }
  return false;
}

// False: not now, and the log is told why, once for each reason.
bool Binlog::return_to_folder() {
  std::string why;
  try {
    bool is_new = false;
    std::vector<std::string> names;
    if (disk_.return_to_folder(is_new) != DiskStatus::ok) why = disk_.last_error();
    if (is_new) mark_all_gone();
    if (why.empty() && !list_sorted(names)) why = disk_.last_error();
    if (why.empty() && !has_file_of_another_server(names, why)) {
      mark_those_gone(names);
      spares_.forget_those_gone(names);
      has_to_return_ = false;
      not_back_.clear();
      return true;
    }
    if (why == std::exchange(not_back_, why) || why == last_failure_) return false;
    notices_.push_back({.kind = Notice::Kind::not_back, .error = why});
    failure_was_told_ = true;
  } catch (const std::bad_alloc&) {
    // The next try comes after a pause.
  }
  return false;
}

// The first file from `place` on with jobs that are to be written anew; nothing if there is none.
std::optional<std::size_t> Binlog::with_jobs_to_rewrite(std::size_t place) const {
  for (; place < segments_->size() && segments_->at(place).number <= gone_until_; ++place) {
    if (segments_->at(place).live_jobs > 0) return place;
  }
  return std::nullopt;
}

// Requires: there is something.
JobId Binlog::next_to_rewrite() {
  if (!rewrite_.empty()) return rewrite_.back();
  const auto place = with_jobs_to_rewrite(rewritten_until_);
  if (!place) return kPseudoId;
  rewritten_until_ = *place;
  return engine_->jobs()[segments_->at(*place).first].id;
}

// All jobs live in newer files, durably. What is still there of the old ones might bring back what
// was deleted in those that are gone, so it goes before anything else happens: the oldest first,
// and one at a time, as remove_oldest() has it. True: one went, and its name has to go from the
// disk. What cannot be removed is left to compaction.
bool Binlog::remove_one_left_behind() {
  for (std::size_t i = 0; i < segments_->size(); ++i) {
    Segment& segment = segments_->at(i);
    if (segment.number > gone_until_) break;
    if (segment.is_gone) continue;
    try {
      segment.is_gone = remove_or_keep(segment) == DiskStatus::ok;
    } catch (const std::bad_alloc&) {
      // As one that cannot be removed.
    }
    if (segment.is_gone) return true;
  }
  return false;
}

// A file of which not all could be read and no copy be made is only given another name.
DiskStatus Binlog::remove_or_keep(const Segment& segment) {
  if (segment.is_gone) return DiskStatus::ok;
  const std::string name = segment_name(segment.name_number);
  if (!segment.has_to_be_kept) return disk_.remove(name);
  Keeper keeper(disk_);
  std::string to;
  return keeper.move(name, segment.name_number, damaged_name, to);
}

void Binlog::forget_those_gone() {
  for (std::size_t i = 0; i < segments_->size(); ++i) {
    if (segments_->at(i).number <= gone_until_) segments_->at(i).unneeded_from = records_;
  }
  gone_until_ = 0;
  gone_notice_at_ = now_;
}

}  // namespace haricot::binlog
