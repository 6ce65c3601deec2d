#include "haricot/binlog/read/folder_plan.hpp"

#include <algorithm>
#include <utility>

#include "haricot/base/number.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/read/file_scan.hpp"

namespace haricot::binlog {
namespace {

// Returns true if a name looks like that of a binlog file, even if its number is invalid.
bool has_name_of_binlog_file(std::string_view name) {
  return name.starts_with("binlog.") && name.size() > 7 &&
         name.find_first_not_of("0123456789", 7) == std::string_view::npos;
}

bool read_names(Disk& disk, FolderFacts& facts) {
  std::vector<std::string> names;
  if (disk.list(names) != DiskStatus::ok) return false;
  for (std::string& name : names) {
    const std::string_view view = name;
    if (const auto number = binlog_file_number(view)) {
      facts.files.push_back({.name = std::move(name), .name_number = *number});
    } else if (view.ends_with(".tmp") && binlog_file_number(view.substr(0, view.size() - 4))) {
      facts.spares.push_back(std::move(name));
    } else if (has_name_of_binlog_file(view)) {
      facts.misnamed.push_back(std::move(name));
    }
  }
  std::sort(facts.files.begin(), facts.files.end(),
            [](const FileFacts& a, const FileFacts& b) { return a.name_number < b.name_number; });
  return true;
}

// Returns the seal at the end of a file with that seed.
std::optional<Seal> seal_at_end(std::string_view back, std::uint64_t file_bytes,
                                std::uint32_t seed) {
  if (back.size() < kShortRecordBytes) return std::nullopt;
  return read_seal(back.substr(back.size() - kShortRecordBytes),
                   Position{seed, file_bytes - kShortRecordBytes, 0});
}

// Returns true if haricotd had begun the file, and the power was lost before a record of it was
// durable. The head of the file is lost then, and one of two statements shows that it was begun:
// its number is higher than that of the newest file in the note, or the next file with a signature
// states that it follows this file or a later one.
bool was_never_safe(const FolderFacts& facts, std::size_t index, std::string_view bytes) {
  const FolderNote& note = facts.note;
  if (!has_lost_its_head(bytes) || facts.store_id != note.store_id) return false;
  const std::uint64_t number = facts.files[index].name_number;
  if (note.ids_end != 0 && number > note.newest) return true;
  // The server may have begun several such files, and some of them may have lost their names. The
  // next server that wrote records began its file after the last of them.
  std::size_t next = index + 1;
  while (next < facts.files.size() && !facts.files[next].identity.signature) ++next;
  if (next == facts.files.size()) return false;
  if (facts.files[next].identity.signature->previous_number < number) return false;
  // The file must have no record of beanstalkd. The marks of the next file decide later if a record
  // of haricotd was durable (folder_judgement.hpp).
  for (const FileKind kind : {FileKind::beanstalkd_v7, FileKind::beanstalkd_v5}) {
    FileIdentity legacy;
    legacy.kind = kind;
    FileScan scan(bytes, legacy);
    scan.run_to_end();
    if (scan.records() > 0) return false;
  }
  return true;
}

FilePlace place_of(const FolderFacts& facts, std::size_t index, std::string_view bytes) {
  FilePlace place{.number = facts.files[index].name_number, .store_id = facts.store_id};
  const auto here = facts.files.begin() + static_cast<std::ptrdiff_t>(index);
  place.follows_ours = std::any_of(facts.files.begin(), here, [&place](const FileFacts& file) {
    return file.identity.signature && file.identity.store_id == place.store_id;
  });
  // The note names the newest file of the last run. Below, the seal of the file before shows that
  // this one was begun: a server seals a file after it has begun the next one.
  const FolderNote& note = facts.note;
  place.was_begun_by_us = note.last_run_has_records() && note.newest == place.number &&
                          note.store_id == place.store_id && place.store_id != 0;
  if (place.store_id != 0 && was_never_safe(facts, index, bytes)) place.was_begun_by_us = true;
  if (index > 0) {
    const FileFacts& before = here[-1];
    const bool is_in_front = before.identity.store_id == place.store_id &&
                             before.identity.number == before.name_number &&
                             before.name_number + 1 == place.number;
    if (is_in_front && before.seal && !before.seal->clean_exit) place.was_begun_by_us = true;
  }
  return place;
}

// Identifies a file by its first and last bytes. Returns false if they do not suffice.
bool identify_by_ends(const FileEnds& ends, FileFacts& file) {
  const auto identity = identify_by_head(ends.front, ends.file_bytes);
  if (!identity) return false;
  file.identity = *identity;
  if (identity->signature) {
    file.seal = seal_at_end(ends.back, ends.file_bytes, identity->seed);
  }
  return true;
}

// Returns the id of the folder: that of the note if a file states it, too, or if no file states
// any; otherwise that of the newest file that states one.
std::uint64_t store_of(const std::vector<FileFacts>& files, const FolderNote& note) {
  std::uint64_t newest = 0;
  for (const FileFacts& file : files) {
    if (!file.has_signature()) continue;
    newest = file.identity.store_id;
    if (newest == note.store_id) return newest;
  }
  return newest != 0 ? newest : note.store_id;
}

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

// Facts -------------------------------------------------------------------------------------------

FolderNote trusted_note(const FolderNote& note, const std::vector<FileFacts>& files,
                        std::uint32_t epoch) {
  std::uint32_t last = 0;
  for (const FileFacts& file : files) last = std::max(last, file.epoch());
  const bool may_be_late =
      epoch > last && last != 0 && !is_run_of_epochs(note.run, last, epoch - 1);
  return may_be_late ? FolderNote{.store_id = note.store_id} : note;
}

bool gather_facts(Disk& disk, const FolderNote& note, std::uint32_t epoch, FolderFacts& facts,
                  std::string& error, std::uint64_t store_id) {
  const auto fail = [&] {
    error = disk.last_error();
    return false;
  };
  if (!read_names(disk, facts)) return fail();
  std::vector<FileFacts> files = std::exchange(facts.files, {});
  std::vector<bool> is_known;
  FileEnds ends;
  for (FileFacts& file : files) {
    const DiskStatus status = disk.read_ends(file.name, ends);
    if (status == DiskStatus::missing) {
      facts.listed_but_absent.push_back(file.name_number);
      continue;
    }
    if (status != DiskStatus::ok) return fail();
    is_known.push_back(identify_by_ends(ends, file));
    facts.files.push_back(std::move(file));
  }
  facts.note = trusted_note(note, facts.files, epoch);
  facts.store_id = store_id != 0 ? store_id : store_of(facts.files, facts.note);
  FileBytes bytes;
  for (std::size_t i = 0; i < facts.files.size();) {
    FileFacts& file = facts.files[i];
    const bool is_displaced =
        file.identity.signature &&
        (file.identity.number != file.name_number || file.identity.store_id != facts.store_id);
    if (is_known[i] && !is_displaced) {
      ++i;
      continue;
    }
    const DiskStatus status = disk.read(file.name, bytes);
    if (status == DiskStatus::missing) {
      facts.listed_but_absent.push_back(file.name_number);
      is_known.erase(is_known.begin() + static_cast<std::ptrdiff_t>(i));
      facts.files.erase(facts.files.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    if (status != DiskStatus::ok) return fail();
    const FilePlace place = place_of(facts, i, bytes.view());
    file.identity = is_known[i] ? identify_displaced(bytes.view(), file.identity, place)
                                : identify(bytes.view(), place);
    file.seal = seal_at_end(bytes.view(), bytes.size(), file.identity.seed);
    ++i;
  }
  return true;
}

// Plan --------------------------------------------------------------------------------------------

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
