#include "haricot/binlog/write/folder_watch.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "haricot/binlog/format/file_identity.hpp"

namespace haricot::binlog {
namespace {

constexpr Duration kPauseBetweenChecks = Duration::seconds(1);

}  // namespace

void FolderWatch::begin() {
  const SegmentWriter& writer = stream_.writer();
  is_on_ =
      state_.disk.look_for(writer.file(), binlog_file_name(writer.number())) == Presence::there;
}

void FolderWatch::check() {
  if (stream_.is_refusing() || !stream_.is_open() || !is_on_) return;
  const bool has_records = stream_.progress().safe() < stream_.progress().records();
  const bool is_first = has_records && !had_waiting_records_;
  if (state_.now < state_.check_files_at && !is_first) return;
  had_waiting_records_ = has_records;
  state_.check_files_at = state_.now + kPauseBetweenChecks;
  try {
    const Presence found =
        state_.disk.look_for(stream_.writer().file(), binlog_file_name(stream_.writer().number()));
    if (found != Presence::there) {
      if (found == Presence::file_gone) lose_newest();
      stream_.refusal().begin(DiskStatus::failed, "find", {}, Notice::Kind::gone);
    } else {
      checks_older_ = !checks_older_;  // Only every other check: it takes a system call.
      if (checks_older_) check_an_older_file();
    }
  } catch (const std::bad_alloc&) {
    // The next check comes in a second.
  }
}

// The file's name may belong to another file now, which must not be removed.
void FolderWatch::lose_newest() {
  Segment& newest = segments().newest();
  newest.has_to_be_kept = true;
  segments().set_gone_until(std::max(segments().gone_until(), newest.number));
}

// Checks one older file, a different one each time.
void FolderWatch::check_an_older_file() {
  std::size_t index = 0;
  while (index + 1 < segments().size() && segments().at(index).number <= last_checked_) ++index;
  if (index + 1 >= segments().size()) index = 0;
  const Segment& older = segments().at(index);
  last_checked_ = older.number;
  if (index + 1 >= segments().size() || older.is_gone) return;
  if (state_.disk.look_for(FileHandle::none, binlog_file_name(older.number)) !=
      Presence::file_gone) {
    return;
  }
  std::string why = state_.disk.last_error();
  std::vector<std::string> names;
  if (!list_sorted(names)) return;
  const std::uint64_t gone_before = segments().gone_until();
  mark_missing_files(names);
  if (segments().gone_until() == gone_before) return;  // The file exists after all.
  bool is_new = false;
  if (state_.disk.return_to_folder(is_new) != DiskStatus::ok || is_new) {
    // More than a file is gone: files begun since then may be in no folder.
    if (is_new) mark_all_missing();
    stream_.refusal().begin(DiskStatus::failed, "find", why, Notice::Kind::gone);
    return;
  }
  state_.notices.count_error();
  state_.notices.report_at_times(
      Notices::Subject::older_gone,
      {.kind = Notice::Kind::gone, .doing = "find", .error = std::move(why)}, state_.now);
  state_.notices.begin(Notices::Subject::older_gone);
}

bool FolderWatch::list_sorted(std::vector<std::string>& names) {
  if (state_.disk.list(names) != DiskStatus::ok) return false;
  std::sort(names.begin(), names.end());
  return true;
}

// `names`: names in the folder, sorted.
void FolderWatch::mark_missing_files(const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < segments().size(); ++i) {
    Segment& segment = segments().at(i);
    const bool goes_by_us = stream_.sync_line().has_removal() && i == 0;
    if (segment.is_gone || goes_by_us) continue;
    const std::string name = binlog_file_name(segment.number);
    if (std::binary_search(names.begin(), names.end(), name)) continue;
    segment.is_gone = true;
    segments().set_gone_until(std::max(segments().gone_until(), segment.number));
  }
}

void FolderWatch::mark_all_missing() {
  for (std::size_t i = 0; i < segments().size(); ++i) {
    segments().at(i).is_gone = true;
    segments().set_gone_until(segments().at(i).number);
  }
}

void FolderWatch::end_moving() {
  if (stream_.is_refusing() || segments().gone_until() == 0 ||
      segments().oldest().number <= segments().gone_until())
    return;
  segments().set_gone_until(0);
  state_.notices.report_next(Notices::Subject::older_gone, state_.now);
  if (!state_.notices.take_begin(Notices::Subject::older_gone)) return;
  try {
    state_.notices.add(
        {.kind = Notice::Kind::recovered, .file = binlog_file_name(stream_.writer().number())});
  } catch (const std::bad_alloc&) {
    // The file counts as gone even if the log has no line.
  }
}

// Returns true if another server has worked in the folder: its files have numbers that ours would
// get, so this server must not use the folder.
bool FolderWatch::has_file_of_another_server(const std::vector<std::string>& names,
                                             std::string& why) const {
  for (const std::string& name : names) {
    const auto number = binlog_file_number(name);
    if (!number || *number < stream_.files().next_number() ||
        *number == stream_.files().unsure_number())
      continue;
    why = name + " is there, which this server has not written";
    return true;
  }
  return false;
}

bool FolderWatch::return_to_folder(std::vector<std::string>& names) {
  std::string why;
  try {
    bool is_new = false;
    if (state_.disk.return_to_folder(is_new) != DiskStatus::ok) why = state_.disk.last_error();
    if (is_new) mark_all_missing();
    if (why.empty() && !list_sorted(names)) why = state_.disk.last_error();
    if (why.empty() && !has_file_of_another_server(names, why)) {
      mark_missing_files(names);
      not_back_.clear();
      return true;
    }
    if (why == std::exchange(not_back_, why) || why == stream_.refusal().why()) return false;
    state_.notices.add({.kind = Notice::Kind::not_back, .error = why});
    state_.notices.begin(Notices::Subject::failure);
  } catch (const std::bad_alloc&) {
    // The next attempt comes after a pause.
  }
  return false;
}

void FolderWatch::forget_missing_files() {
  for (std::size_t i = 0; i < segments().size(); ++i) {
    if (segments().at(i).number <= segments().gone_until())
      segments().at(i).unneeded_from = stream_.progress().records();
  }
  segments().set_gone_until(0);
  state_.notices.report_next(Notices::Subject::gone, state_.now);
  state_.notices.report_next(Notices::Subject::older_gone, state_.now);
}

}  // namespace haricot::binlog
