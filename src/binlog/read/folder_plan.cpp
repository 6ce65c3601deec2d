#include "haricot/binlog/read/folder_plan.hpp"

#include <algorithm>
#include <utility>

#include "haricot/binlog/format/file_name.hpp"

namespace haricot::binlog {
namespace {

using Kind = Problem::Kind;

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

// Returns the reason why the file does not belong in its place; empty: it does.
std::string misfit_of(const PlannedFile& file, std::uint64_t store_id) {
  if (file.kind() == FileKind::unidentified) return "does not state which file it is";
  if (file.kind() != FileKind::checked) return {};
  if (file.identity.store_id != store_id) return "was written in another folder";
  if (file.number != file.name_number) return "was written as " + binlog_file_name(file.number);
  return {};
}

}  // namespace

const Signature* FolderPlan::witness_of(std::size_t index) const {
  if (index + 1 == files.size()) return nullptr;
  const auto& signature = files[index + 1].identity.signature;
  return signature && signature->states_end_of(files[index].number) ? &*signature : nullptr;
}

std::uint64_t FolderPlan::noted_end_of(std::size_t index) const {
  const PlannedFile& file = files[index];
  const bool is_noted = has_note() && note.last_run_has_records() &&
                        file.kind() == FileKind::checked && file.number == note.newest &&
                        (!file.has_signature() || file.run() == note.run);
  return is_noted ? std::max<std::uint64_t>(note.end, kFirstRecordOffset + kShortRecordBytes) : 0;
}

FolderPlan begin_plan(const FolderFacts& facts) {
  FolderPlan plan;
  plan.refusal = refusal_of(facts);
  plan.note = facts.note;
  plan.store_id = facts.store_id;
  plan.spares = facts.spares;
  plan.listed_but_absent = facts.listed_but_absent;
  for (const FileFacts& file : facts.files) {
    const bool is_ours = file.kind() == FileKind::checked;
    plan.files.push_back({file, is_ours ? file.identity.number : file.name_number});
    plan.highest_name = std::max(plan.highest_name, file.name_number);
  }
  for (const std::uint64_t number : facts.listed_but_absent) {
    plan.highest_name = std::max(plan.highest_name, number);
  }
  return plan;
}

void set_late_aside(FolderPlan& plan) {
  std::uint32_t epoch = 0;
  for (auto file = plan.files.begin(); file != plan.files.end();) {
    if (file->epoch() != 0 && file->epoch() < epoch) {
      plan.problems.push_back({.kind = Kind::late, .file = file->name, .other = file[-1].name});
      file = plan.files.erase(file);
    } else {
      epoch = std::max(epoch, file->epoch());
      ++file;
    }
  }
  for (PlannedFile& file : plan.files) {
    // A file without a signature may be of any server.
    const bool may_be_late =
        file.has_signature() ? file.epoch() != 0 && file.epoch() < epoch : epoch != 0;
    file.counts_if_needed = may_be_late || file.number != file.name_number;
  }
}

FolderPlan plan_folder(const FolderFacts& facts) {
  FolderPlan plan = begin_plan(facts);
  for (const std::string& name : facts.misnamed) {
    plan.problems.push_back(
        {.kind = Kind::unfit, .file = name, .why = "has a number that no server gives"});
  }
  set_late_aside(plan);
  for (const PlannedFile& file : plan.files) {
    std::string why = misfit_of(file, plan.store_id);
    if (!why.empty()) {
      plan.problems.push_back({.kind = Kind::unfit, .file = file.name, .why = std::move(why)});
    }
  }
  return plan;
}

}  // namespace haricot::binlog
