#include "haricot/binlog/folder_survey.hpp"

#include "haricot/binlog/torn.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "haricot/binlog/segment_writer.hpp"

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

bool FolderSurvey::run(std::string& error) {
  if (!identify_all(error) || !leave_strangers_aside(error)) return false;
  if (!leave_duplicates_aside(error)) return false;
  std::stable_sort(files_.begin(), files_.end(),
                   [](const PlannedFile& a, const PlannedFile& b) { return a.number < b.number; });
  if (!leave_contradicted_aside(error)) return false;
  for (const PlannedFile& file : files_) {
    if (file.number == file.name_number) continue;
    problems_.push_back({.kind = Problem::Kind::displaced,
                         .file = binlog_file_name(file.name_number),
                         .other = binlog_file_name(file.number)});
  }
  return true;
}

bool FolderSurvey::load(std::uint64_t name_number, std::string& error) {
  if (disk_.read(binlog_file_name(name_number), bytes_) == DiskStatus::ok) return true;
  error = disk_.last_error();
  return false;
}

// By their signatures first, which also tell whose folder it is; then the others, by their records.
bool FolderSurvey::identify_all(std::string& error) {
  std::vector<std::uint64_t> store_ids;
  std::vector<bool> is_known;
  for (const std::uint64_t name : names_) {
    if (!load(name, error)) return false;
    PlannedFile file{.name_number = name, .number = name, .identity = {}};
    const auto identity = identify_by_head(bytes_.view());
    is_known.push_back(identity.has_value());
    if (identity) file.identity = *identity;
    if (file.identity.signature) store_ids.push_back(file.identity.store_id);
    files_.push_back(file);
  }
  if (!choose_store(store_ids, error)) return false;
  for (std::size_t i = files_.size(); i > 0; --i) {
    if (is_of(i - 1, folder_.store_id)) folder_.known_from = names_[i - 1];
  }
  folder_.lowest_number = names_.front();
  folder_.highest_number = names_.back();
  for (std::size_t i = 0; i < files_.size(); ++i) {
    FileIdentity& identity = files_[i].identity;
    const bool is_in_place = identity.number == names_[i] && identity.store_id == folder_.store_id;
    if (is_known[i] && (!identity.signature || is_in_place)) continue;
    if (!load(names_[i], error)) return false;
    if (is_known[i]) {
      const auto other = identify_against_signature(bytes_.view(), names_[i], identity, folder_);
      if (other && is_likelier(i, *other, identity)) identity = other->by_records;
      continue;
    }
    identity = identify(bytes_.view(), names_[i], folder_);
    const bool may_be_ours =
        identity.kind == FileKind::beanstalkd_v7 || identity.kind == FileKind::beanstalkd_v5;
    bool is_ours = false;
    if (may_be_ours && !was_begun_by_us(i, is_ours, error)) return false;
    if (is_ours) identity = identity_by_name(names_[i], folder_);
    if (identity.kind == FileKind::unknown_version) {
      error = binlog_file_name(names_[i]) + " is of a version that is not known here";
      return false;
    }
  }
  return true;
}

// Whether the bytes at hand are those of a file that a server of ours had begun when the power was
// lost, and of which no record is left: it is newer than the note; or the next start, which read
// it, says so.
bool FolderSurvey::was_never_safe(std::size_t index) const {
  if (!has_lost_its_head(bytes_.view()) || folder_.store_id != remembered_store_id_) return false;
  if (remembered_newest_ && names_[index] > *remembered_newest_) return true;
  if (index + 1 == files_.size()) return false;
  const auto& next = files_[index + 1].identity.signature;
  if (!next || !knows_end_of(*next, names_[index])) return false;
  // Nothing in it is of beanstalkd. Whether it was durable is told by the marks of the next one.
  FileScan scan(bytes_.view(), files_[index].identity);
  scan.run_to_end();
  return scan.records() == 0;
}

// Whether the file in front of that one, which is ours, ended because this one was begun, or the
// note knows it. Then this one is ours, too, though nothing in it says so any more.
bool FolderSurvey::was_begun_by_us(std::size_t index, bool& is_ours, std::string& error) {
  if (folder_.store_id == 0) return true;
  is_ours = (names_[index] == remembered_file_ && folder_.store_id == remembered_store_id_) ||
            was_never_safe(index);
  if (is_ours || index == 0) return true;
  const FileIdentity& before = files_[index - 1].identity;
  const bool is_in_place = before.kind == FileKind::checked && before.number + 1 == names_[index] &&
                           names_[index - 1] == before.number &&
                           before.store_id == folder_.store_id;
  if (!is_in_place) return true;
  if (!load(names_[index - 1], error)) return false;
  FileScan scan(bytes_.view(), before);
  scan.run_to_end();
  is_ours = scan.seal() && !scan.seal()->clean_exit;
  return true;
}

// Whether a file is what its records say rather than what its signature says, where they differ.
bool FolderSurvey::is_likelier(std::size_t index, const Contradiction& contradiction,
                               const FileIdentity& by_signature) const {
  const FileIdentity& by_records = contradiction.by_records;
  // A stray sector or two agree on a place where nothing of this folder can be.
  const bool is_of_folder = by_signature.store_id == folder_.store_id;
  if (by_records.number == 0 && is_of_folder) return false;
  // One sector may be a stray one.
  if (contradiction.sectors > contradiction.sectors_against + 1) return true;
  // The one that no other file says it is.
  const bool is_taken = says_another(index, by_records);
  if (is_taken != says_another(index, by_signature)) return !is_taken;
  return contradiction.sectors > contradiction.sectors_against;
}

// Whether the signature of another file says that it is that one.
bool FolderSurvey::says_another(std::size_t index, const FileIdentity& identity) const {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const auto& signature = files_[i].identity.signature;
    const bool is_same = signature && signature->store_id == identity.store_id &&
                         signature->file_number == identity.number;
    if (is_same && i != index) return true;
  }
  return false;
}

bool FolderSurvey::is_of(std::size_t index, std::uint64_t store_id) const {
  return files_[index].identity.signature && files_[index].identity.store_id == store_id;
}

// How much is odd if the folder is that one: its files that are missing, or stand under other
// names.
bool FolderSurvey::count_oddities(std::uint64_t store_id, std::size_t& oddities,
                                  std::string& error) {
  std::set<std::uint64_t> there;
  std::set<std::uint64_t> needed;
  std::size_t newest = 0;
  oddities = 0;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (!is_of(i, store_id)) continue;
    const Signature& signature = *files_[i].identity.signature;
    newest = i;
    there.insert(signature.file_number);
    oddities += signature.file_number != files_[i].name_number;
    if (signature.previous_number != 0) needed.insert(signature.previous_number);
    if (signature.oldest_needed != 0) needed.insert(signature.oldest_needed);
  }
  if (!load(files_[newest].name_number, error)) return false;
  FileScan scan(bytes_.view(), files_[newest].identity);
  scan.run_to_end();
  if (scan.seal() && !scan.seal()->clean_exit) {
    needed.insert(files_[newest].identity.signature->file_number + 1);
  }
  for (const std::uint64_t number : needed) oddities += !there.contains(number);
  return true;
}

// The folder is the one that most of its files are of; where that does not decide, the one that is
// remembered, or of which least is odd, or that of the newest file.
bool FolderSurvey::choose_store(const std::vector<std::uint64_t>& store_ids, std::string& error) {
  std::map<std::uint64_t, std::size_t> files_of;
  for (const std::uint64_t id : store_ids) ++files_of[id];
  folder_.store_id = remembered_store_id_;
  if (files_of.empty()) return true;
  std::size_t most = 0;
  for (const auto& [id, files] : files_of) most = std::max(most, files);
  const auto remembered = files_of.find(remembered_store_id_);
  if (remembered != files_of.end() && remembered->second == most) return true;
  std::vector<std::uint64_t> tied;  // That of the newest file last.
  for (const std::uint64_t id : store_ids) {
    if (files_of[id] != most) continue;
    std::erase(tied, id);
    tied.push_back(id);
    folder_.store_id = id;
  }
  if (tied.size() == 1) return true;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const std::uint64_t id : tied) {
    std::size_t oddities = 0;
    if (!count_oddities(id, oddities, error)) return false;
    if (oddities < least) may_be_.clear();
    if (oddities <= least) may_be_.push_back(id);
    least = std::min(least, oddities);
  }
  folder_.store_id = may_be_.back();
  return true;
}

// How a file of another folder is told.
bool FolderSurvey::leave_stranger_aside(const PlannedFile& file, std::string& error) {
  const auto found = std::find(may_be_.begin(), may_be_.end(), file.identity.store_id);
  if (found == may_be_.end()) return leave_aside(file, Problem::Kind::foreign, 0, error);
  std::uint64_t newest = 0;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (is_of(i, folder_.store_id)) newest = files_[i].name_number;
  }
  return leave_aside(file, Problem::Kind::undecided, newest, error);
}

// What a file left aside tells of ids still counts, unless they are those of another folder.
bool FolderSurvey::leave_aside(const PlannedFile& file, Problem::Kind kind, std::uint64_t other,
                               std::string& error) {
  problems_.push_back({.kind = kind,
                       .file = binlog_file_name(file.name_number),
                       .other = other == 0 ? std::string() : binlog_file_name(other)});
  if (kind == Problem::Kind::foreign) return true;
  if (!load(file.name_number, error)) return false;
  FileScan scan(bytes_.view(), file.identity);
  while (const auto found = scan.next()) {
    const std::uint64_t id = found->record.id;
    if (id <= kIdLast) highest_id_aside_ = std::max(highest_id_aside_, id);
  }
  return true;
}

bool FolderSurvey::leave_strangers_aside(std::string& error) {
  std::vector<PlannedFile> ours;
  for (PlannedFile& file : files_) {
    if (file.identity.kind == FileKind::checked) {
      bool is_ours = folder_.store_id == 0 || file.identity.store_id == folder_.store_id;
      if (!is_ours && file.identity.store_id == 0 && !is_vouched_for(file, is_ours, error)) {
        return false;
      }
      if (!is_ours) {
        if (!leave_stranger_aside(file, error)) return false;
        continue;
      }
      if (file.identity.number != 0) file.number = file.identity.number;
    }
    ours.push_back(file);
  }
  files_ = std::move(ours);
  return true;
}

// Whether a file of ours that does not say itself what it is may be of this folder: the id of the
// folder is not older than it, or another file was begun after it.
bool FolderSurvey::is_vouched_for(const PlannedFile& file, bool& vouched, std::string& error) {
  vouched = true;
  for (const PlannedFile& other : files_) {
    const bool knows_folder =
        other.identity.signature && other.identity.store_id == folder_.store_id;
    if (knows_folder && other.name_number < file.name_number) vouched = false;
  }
  for (const PlannedFile& next : files_) {
    const auto& signature = next.identity.signature;
    if (vouched || !signature || next.identity.store_id != folder_.store_id) continue;
    if (!knows_end_of(*signature, file.name_number)) continue;
    if (!load(file.name_number, error)) return false;
    FileScan scan(bytes_.view(), file.identity, signature->previous_bytes);
    scan.run_to_end();
    vouched = link_between(scan, *signature, bytes_.view(), file.identity) == Link::good;
  }
  return true;
}

// The one that has the right name is read; where none has, the first.
bool FolderSurvey::leave_duplicates_aside(std::string& error) {
  std::map<std::uint64_t, std::uint64_t> name_of;  // Of checked files, by their right number.
  for (const PlannedFile& file : files_) {
    if (file.identity.kind != FileKind::checked) continue;
    const auto [at, is_first] = name_of.try_emplace(file.number, file.name_number);
    if (!is_first && file.name_number == file.number) at->second = file.name_number;
  }
  std::vector<PlannedFile> once;
  for (const PlannedFile& file : files_) {
    const bool is_checked = file.identity.kind == FileKind::checked;
    const std::uint64_t name = is_checked ? name_of[file.number] : file.name_number;
    if (name == file.name_number) {
      once.push_back(file);
    } else if (!leave_aside(file, Problem::Kind::duplicate, name, error)) {
      return false;
    }
  }
  files_ = std::move(once);
  return true;
}

// From the newest file to the oldest: what an accepted file says of the one before it counts. So a
// file that is contradicted says nothing of others.
bool FolderSurvey::leave_contradicted_aside(std::string& error) {
  std::vector<PlannedFile> accepted;
  for (std::size_t i = files_.size(); i > 0; --i) {
    const PlannedFile& file = files_[i - 1];
    bool is_contradicted = false;
    std::uint64_t by = 0;
    for (const PlannedFile& next : accepted) {
      const auto& signature = next.identity.signature;
      const bool is_judge = file.identity.kind == FileKind::checked && signature &&
                            knows_end_of(*signature, file.number);
      if (!is_judge) continue;
      if (!load(file.name_number, error)) return false;
      FileScan scan(bytes_.view(), file.identity, signature->previous_bytes);
      scan.run_to_end();
      is_contradicted =
          link_between(scan, *signature, bytes_.view(), file.identity) == Link::broken;
      by = next.name_number;
    }
    if (!is_contradicted) {
      accepted.push_back(file);
    } else if (!leave_aside(file, Problem::Kind::contradicted, by, error)) {
      return false;
    }
  }
  files_.assign(accepted.rbegin(), accepted.rend());
  return true;
}

}  // namespace haricot::binlog
