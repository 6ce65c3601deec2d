#include "tool/binlog/repair/folder_sorting.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "haricot/binlog/format/file_name.hpp"
#include "haricot/binlog/read/file_scan.hpp"

namespace haricot::tool {
namespace {

using haricot::binlog::binlog_file_name;
using haricot::binlog::DiskStatus;
using haricot::binlog::FileBytes;
using haricot::binlog::FileFacts;
using haricot::binlog::FileIdentity;
using haricot::binlog::FileKind;
using haricot::binlog::FileScan;
using haricot::binlog::FolderFacts;
using haricot::binlog::FolderNote;
using haricot::binlog::FolderPlan;
using haricot::binlog::PlannedFile;
using haricot::binlog::Problem;
using haricot::binlog::Signature;

void leave_out_foreign(SortedFolder& folder) {
  for (std::size_t i = 0; i < folder.plan.files.size();) {
    const FileIdentity& identity = folder.plan.files[i].identity;
    const bool is_ours =
        identity.kind != FileKind::checked || identity.store_id == folder.plan.store_id;
    if (identity.kind == FileKind::unidentified) {
      folder.leave_out(i, "is left out: nothing shows which file it is");
    } else if (is_ours) {
      ++i;
    } else {
      folder.leave_out(i, "was written in another folder and is left out");
    }
  }
}

// Leaves out all except the first of several checked files with the same number. Requires: the
// files are in order.
void leave_out_duplicates(SortedFolder& folder) {
  for (std::size_t i = 1; i < folder.plan.files.size();) {
    const PlannedFile& before = folder.plan.files[i - 1];
    const PlannedFile& file = folder.plan.files[i];
    if (file.kind() == FileKind::checked && before.kind() == FileKind::checked &&
        file.number == before.number) {
      folder.leave_out(i, "is a copy of " + before.name + " and is left out");
    } else {
      ++i;
    }
  }
}

}  // namespace

void SortedFolder::leave_out(std::size_t index, std::string why) {
  const auto file = plan.files.begin() + static_cast<std::ptrdiff_t>(index);
  plan.problems.push_back(
      {.kind = Problem::Kind::unfit, .file = file->name, .why = std::move(why)});
  highest_odd_name = std::max(highest_odd_name, file->name_number);
  const bool is_of_folder =
      file->kind() != FileKind::checked || file->identity.store_id == plan.store_id;
  if (is_of_folder) aside.push_back(std::move(*file));
  plan.files.erase(file);
}

std::vector<std::uint64_t> likely_stores(const std::vector<FileFacts>& files,
                                         const FolderNote& note) {
  std::vector<std::uint64_t> stores;
  std::map<std::uint64_t, std::size_t> files_of;
  std::size_t most = 0;
  for (const FileFacts& file : files) {
    if (file.has_signature()) most = std::max(most, ++files_of[file.identity.store_id]);
  }
  if (note.store_id != 0 && (files_of.empty() || files_of.contains(note.store_id))) {
    return {note.store_id};
  }
  for (const FileFacts& file : files) {
    if (!file.has_signature() || files_of[file.identity.store_id] != most) continue;
    std::erase(stores, file.identity.store_id);
    stores.push_back(file.identity.store_id);
  }
  return stores;
}

SortedFolder sort_files(const FolderFacts& facts) {
  SortedFolder folder;
  FolderPlan& plan = folder.plan;
  plan = haricot::binlog::begin_plan(facts);
  for (const std::string& name : facts.misnamed) {
    plan.problems.push_back({.kind = Problem::Kind::unfit,
                             .file = name,
                             .why = "has a number that no server gives and is not read"});
  }
  leave_out_foreign(folder);
  // If two files have the same number, the one with the right name comes first.
  std::stable_sort(plan.files.begin(), plan.files.end(),
                   [](const PlannedFile& a, const PlannedFile& b) {
                     return std::pair(a.number, a.number != a.name_number) <
                            std::pair(b.number, b.number != b.name_number);
                   });
  leave_out_duplicates(folder);
  haricot::binlog::set_late_aside(plan);
  for (const PlannedFile& file : plan.files) {
    if (file.number == file.name_number) continue;
    plan.problems.push_back(
        {.kind = Problem::Kind::unfit,
         .file = file.name,
         .why = "was written as " + binlog_file_name(file.number) + " and is read in its place"});
    folder.highest_odd_name = std::max(folder.highest_odd_name, file.name_number);
  }
  return folder;
}

// Checks the files from the last to the first, because a file that is left out proves nothing about
// the one before it.
bool leave_out_contradicted(binlog::Disk& disk, SortedFolder& folder, std::string& error) {
  FileBytes bytes;
  FolderPlan& plan = folder.plan;
  for (std::size_t i = plan.files.size(); i-- > 0;) {
    const PlannedFile& file = plan.files[i];
    const Signature* witness = plan.witness_of(i);
    if (witness == nullptr || file.kind() != FileKind::checked) continue;
    // Files of one run were begun by one server, so neither of them is from a copy of the folder.
    if (file.run() != 0 && file.run() == witness->run) continue;
    if (disk.read(file.name, bytes) != DiskStatus::ok) {
      error = disk.last_error();
      return false;
    }
    FileScan scan(bytes.view(), file.identity, witness->previous_bytes);
    scan.run_to_end();
    if (!scan.is_contradicted_by(*witness)) continue;
    const std::string next = plan.files[i + 1].name;
    folder.leave_out(i, "is not the file that " + next +
                            " followed: one of the two is from a copy of the folder; " + file.name +
                            " is left out");
  }
  if (!plan.files.empty()) {
    plan.may_lack_newest = folder.highest_odd_name > plan.files.back().name_number;
  }
  return true;
}

}  // namespace haricot::tool
