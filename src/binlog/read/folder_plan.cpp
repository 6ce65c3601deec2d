#include "haricot/binlog/read/folder_plan.hpp"

#include <algorithm>
#include <utility>

#include "haricot/binlog/format/file_name.hpp"

namespace haricot::binlog {
namespace {

using Kind = Problem::Kind;

std::uint32_t epoch_of(const PlannedFile& file) {
  return file.identity.signature ? file.identity.signature->epoch : 0;
}

std::string refusal_of(const FolderFacts& facts) {
  if (!facts.files.empty() && facts.files.back().name_number > kFileNumberLast) {
    return facts.files.back().name + ": the numbers of files are nearly used up; " +
           "`haricot binlog copy` writes the jobs to a new folder";
  }
  for (const FileFacts& file : facts.files) {
    if (file.kind() == FileKind::unknown_version) {
      return file.name + " is of a version that is not known here";
    }
  }
  return {};
}

// Files of which nothing tells what they are, and those of other folders.
void leave_strangers_aside(FolderPlan& plan) {
  for (std::size_t i = 0; i < plan.files.size();) {
    const FileIdentity& identity = plan.files[i].identity;
    const bool is_ours = identity.kind != FileKind::checked || identity.store_id == plan.store_id;
    if (identity.kind == FileKind::unidentified) {
      plan.leave_aside(i, Kind::unidentified, {});
    } else if (is_ours) {
      ++i;
    } else {
      plan.leave_aside(i, Kind::foreign, {});
    }
  }
}

// Of files that say the same number, the first is read. Requires: they are in order.
void leave_duplicates_aside(FolderPlan& plan) {
  for (std::size_t i = 1; i < plan.files.size();) {
    const PlannedFile& before = plan.files[i - 1];
    const PlannedFile& file = plan.files[i];
    if (file.kind() == FileKind::checked && before.kind() == FileKind::checked &&
        file.number == before.number) {
      plan.leave_aside(i, Kind::duplicate, before.name);
    } else {
      ++i;
    }
  }
}

// Files of a lower epoch than one in front of them. Servers without an epoch come when they like.
void leave_late_aside(FolderPlan& plan) {
  std::uint32_t epoch = 0;
  for (std::size_t i = 0; i < plan.files.size();) {
    const std::uint32_t own = epoch_of(plan.files[i]);
    if (own != 0 && own < epoch) {
      plan.leave_aside(i, Kind::late, plan.files[i - 1].name);
    } else {
      epoch = std::max(epoch, own);
      ++i;
    }
  }
  for (PlannedFile& file : plan.files) {
    // One without a head may be of any server.
    const bool is_known = file.has_signature();
    const bool may_be_late = is_known ? epoch_of(file) != 0 && epoch_of(file) < epoch : epoch != 0;
    file.counts_if_needed = may_be_late || file.number != file.name_number;
  }
}

}  // namespace

const Signature* FolderPlan::witness_of(std::size_t index) const {
  if (index + 1 == files.size()) return nullptr;
  const auto& signature = files[index + 1].identity.signature;
  return signature && signature->knows_end_of(files[index].number) ? &*signature : nullptr;
}

std::uint64_t FolderPlan::noted_end_of(std::size_t index) const {
  const PlannedFile& file = files[index];
  const bool is_noted = has_note() && note.tells_last_run() && file.kind() == FileKind::checked &&
                        file.number == note.newest &&
                        (!file.has_signature() || file.run() == note.run);
  return is_noted ? std::max<std::uint64_t>(note.end, kFirstRecordOffset + kShortRecordBytes) : 0;
}

void FolderPlan::leave_aside(std::size_t index, Problem::Kind kind, const std::string& other) {
  const auto file = files.begin() + static_cast<std::ptrdiff_t>(index);
  problems.push_back({.kind = kind, .file = file->name, .other = other});
  if (kind != Kind::late) highest_odd_name = std::max(highest_odd_name, file->name_number);
  if (kind != Kind::late && kind != Kind::foreign) aside.push_back(std::move(*file));
  files.erase(file);
}

FolderPlan plan_folder(const FolderFacts& facts) {
  FolderPlan plan;
  plan.refusal = refusal_of(facts);
  plan.note = facts.note;
  plan.store_id = facts.store_id();
  for (const std::string& name : facts.misnamed) {
    plan.problems.push_back({.kind = Kind::misnamed, .file = name});
  }
  for (const FileFacts& file : facts.files) {
    const bool is_ours = file.kind() == FileKind::checked;
    plan.files.push_back({file, is_ours ? file.identity.number : file.name_number});
    plan.highest_name = std::max(plan.highest_name, file.name_number);
  }
  // The name of one that is missing is taken all the same.
  for (const std::uint64_t number : facts.missing) {
    plan.highest_name = std::max(plan.highest_name, number);
  }
  leave_strangers_aside(plan);
  // One that has the right name goes first.
  std::stable_sort(plan.files.begin(), plan.files.end(),
                   [](const PlannedFile& a, const PlannedFile& b) {
                     return std::pair(a.number, a.number != a.name_number) <
                            std::pair(b.number, b.number != b.name_number);
                   });
  leave_duplicates_aside(plan);
  leave_late_aside(plan);
  for (const PlannedFile& file : plan.files) {
    if (file.number == file.name_number) continue;
    plan.problems.push_back(
        {.kind = Kind::displaced, .file = file.name, .other = binlog_file_name(file.number)});
    plan.highest_odd_name = std::max(plan.highest_odd_name, file.name_number);
  }
  return plan;
}

}  // namespace haricot::binlog
