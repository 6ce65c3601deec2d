#include "haricot/binlog/replay.hpp"

#include <algorithm>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/number.hpp"
#include "haricot/binlog/job_record.hpp"

// What one record does stands in replay_records.cpp, what is said of the folder when all is read in
// replay_verdict.cpp.

namespace haricot::binlog {
namespace {

constexpr std::uint64_t kRecordsPerProgress = 8192;

// A name that looks like that of a file, whatever its number.
bool has_name_of_binlog_file(std::string_view name) {
  return name.starts_with("binlog.") && name.size() > 7 &&
         name.find_first_not_of("0123456789", 7) == std::string_view::npos;
}

bool has_whole_record(std::string_view bytes, std::uint64_t from, std::uint32_t seed) {
  auto at = find_checked(bytes, static_cast<std::size_t>(from), seed);
  for (; at; at = find_checked(bytes, *at + 1, seed)) {
    const std::optional<Parsed> parsed = parse_record(bytes.substr(*at));
    if (parsed && body_fits(*parsed, Position{seed, *at, 0})) return true;
  }
  return false;
}

// Whether nothing but a seal stood there, of which a crash has kept one sector and not the other.
bool is_half_seal(std::string_view bytes, std::uint64_t offset) {
  if (bytes.size() - offset != kShortRecordBytes) return false;
  const std::uint64_t sector = (offset / kDiskSectorBytes + 1) * kDiskSectorBytes;
  if (sector >= bytes.size()) return false;
  const std::string_view front = bytes.substr(offset, sector - offset);
  return find_nonzero(front, 0) == front.size() || find_nonzero(bytes, sector) == bytes.size();
}

// So far. The signature is no record.
bool lacks_no_record(const FileScan& scan) {
  const std::vector<Damage>& damages = scan.damages();
  return damages.empty() || (damages.size() == 1 && damages[0].offset < kFirstRecordOffset);
}

}  // namespace

std::optional<std::uint64_t> binlog_file_number(std::string_view name) {
  constexpr std::string_view kPrefix = "binlog.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  const std::optional<std::uint64_t> number = read_number(name);
  const bool good = number && *number > 0 && name[0] != '0' && *number <= kFileNumberMax;
  return good ? number : std::nullopt;
}

bool Replay::fail(std::string error) {
  error_ = std::move(error);
  return false;
}

bool Replay::run(Duration wall_offset, Instant now) {
  wall_offset_ = wall_offset;
  now_ = now;
  if (!list()) return false;
  Outcome outcome = read_all();
  if (outcome == Outcome::needs_survey) {
    forget_all();
    if (!survey()) return false;
    outcome = read_all();
    CHECK(outcome != Outcome::needs_survey);
  }
  if (outcome == Outcome::done && finds_unneeded()) {
    unneeded_below_ = unneeded_for_sure_;
    forget_all();
    outcome = read_all();
    CHECK(outcome != Outcome::needs_survey || !is_surveyed_);
    if (outcome == Outcome::needs_survey) return fail("the folder changes while it is read");
  }
  if (outcome == Outcome::done) settle_holes();
  if (outcome != Outcome::done || !place_all(now) || !place_kept()) return false;
  judge_folder();
  if (report_.next_id > kIdLast) {
    return fail("the ids of jobs are nearly used up: the next one would be " +
                std::to_string(report_.next_id));
  }
  engine_.end_restore(report_.next_id);
  return true;
}

bool Replay::list() {
  std::vector<std::string> names;
  if (disk_.list(names) != DiskStatus::ok) return fail(disk_.last_error());
  for (const std::string& name : names) {
    const std::string_view view = name;
    if (const auto number = binlog_file_number(view)) {
      numbers_.push_back(*number);
    } else if (view.ends_with(".tmp") && binlog_file_number(view.substr(0, view.size() - 4))) {
      report_.spares.push_back(name);
    } else if (has_name_of_binlog_file(view)) {
      file_problems_.push_back({.kind = Problem::Kind::misnamed, .file = name});
    }
  }
  std::sort(numbers_.begin(), numbers_.end());
  if (!numbers_.empty() && numbers_.back() > kFileNumberLast) {
    return fail(binlog_file_name(numbers_.back()) + ": the numbers of files are nearly used up; " +
                "`haricot binlog copy` writes the jobs to a new folder");
  }
  for (const std::uint64_t number : numbers_) {
    plan_.push_back({.name_number = number, .number = number, .identity = {}});
  }
  return true;
}

// The whole folder -------------------------------------------------------------------------------

// Each file is read with the one after it at hand, which knows how far it goes.
Replay::Outcome Replay::read_all() {
  FileBytes bytes;
  FileBytes next;
  Outcome outcome = load_next(0, next);
  for (std::size_t i = 0; i < plan_.size() && outcome == Outcome::done; ++i) {
    // Also before each file: one of large bodies has few records, and a slow disk takes its time.
    if (!report_progress(0, 1)) {
      fail("stopped");
      return Outcome::failed;
    }
    std::swap(bytes, next);
    outcome = load_next(i + 1, next);
    if (outcome == Outcome::done) outcome = read_file(i, bytes);
    ++files_read_;
    BlobRef::reclaim_all_retired();  // Nobody is served yet, and a next file may have been larger.
  }
  return outcome;
}

// Files that a server began when another one had taken the folder over are not read.
Replay::Outcome Replay::load_next(std::size_t index, FileBytes& bytes) {
  while (index < plan_.size()) {
    const Outcome outcome = load(index, bytes);
    if (outcome != Outcome::done || !is_late(index)) return outcome;
    const std::string name = binlog_file_name(plan_[index].name_number);
    const bool is_reported =
        std::any_of(file_problems_.begin(), file_problems_.end(), [&name](const Problem& problem) {
          return problem.kind == Problem::Kind::late && problem.file == name;
        });
    if (!is_reported) {
      const std::string before = binlog_file_name(plan_[index - 1].name_number);
      file_problems_.push_back({.kind = Problem::Kind::late, .file = name, .other = before});
    }
    plan_.erase(plan_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  return Outcome::done;
}

// Whether a file in front of it is of a later epoch. Servers without an epoch come when they like.
bool Replay::is_late(std::size_t index) const {
  const auto& signature = plan_[index].identity.signature;
  if (!signature || signature->epoch == 0) return false;
  for (std::size_t before = index; before > 0; --before) {
    const auto& other = plan_[before - 1].identity.signature;
    if (other && other->epoch != 0) return signature->epoch < other->epoch;
  }
  return false;
}

// Whether that file is of no use, and may be of a server that had lost the folder: a name that is
// free again, because its file was not needed, is free for such a server as well.
bool Replay::is_unneeded(std::size_t index, std::uint64_t below) const {
  const auto& signature = plan_[index].identity.signature;
  if (!signature || signature->epoch == 0 || plan_[index].number >= below) return false;
  return std::any_of(plan_.begin() + static_cast<std::ptrdiff_t>(index), plan_.end(),
                     [&signature](const PlannedFile& later) {
                       const auto& other = later.identity.signature;
                       return other && other->epoch > signature->epoch;
                     });
}

// What is needed is known when all is read, so the folder is read again then, without the rest.
bool Replay::finds_unneeded() const {
  for (std::size_t index = 0; index < plan_.size(); ++index) {
    if (is_unneeded(index, unneeded_for_sure_)) return true;
  }
  return false;
}

// Without a survey every file has to say itself that it is what its name says.
Replay::Outcome Replay::load(std::size_t index, FileBytes& bytes) {
  PlannedFile& file = plan_[index];
  if (disk_.read(binlog_file_name(file.name_number), bytes) != DiskStatus::ok) {
    fail(disk_.last_error());
    return Outcome::failed;
  }
  if (is_surveyed_) return Outcome::done;
  const auto identity = identify_by_head(bytes.view());
  if (!identity) return Outcome::needs_survey;
  file.identity = *identity;
  if (!identity->signature) return Outcome::done;
  if (report_.store_id == 0) report_.store_id = identity->store_id;
  const bool is_remembered = note_.store_id == 0 || identity->store_id == note_.store_id;
  const bool is_in_place = identity->number == file.name_number &&
                           identity->store_id == report_.store_id && is_remembered;
  return is_in_place ? Outcome::done : Outcome::needs_survey;
}

bool Replay::survey() {
  std::optional<std::uint64_t> newest;
  if (note_.ids_end != 0) newest = note_.newest;
  FolderSurvey survey(disk_, numbers_, note_.store_id, note_tells_last_run() ? note_.newest : 0,
                      newest);
  std::string error;
  if (!survey.run(error)) return fail(std::move(error));
  is_surveyed_ = report_.was_surveyed = true;
  plan_ = survey.files();
  report_.store_id = survey.store_id();
  file_problems_.insert(file_problems_.end(), survey.problems().begin(), survey.problems().end());
  for (const Problem& problem : survey.problems()) {
    highest_odd_name_ = std::max(highest_odd_name_, binlog_file_number(problem.file).value_or(0));
  }
  report_.next_id = std::max(report_.next_id, survey.highest_id_aside() + 1);
  return true;
}

// As if nothing had been read.
void Replay::forget_all() {
  while (!segments_.empty()) {
    while (segments_.newest().first != JobRef::none) drop(segments_.newest().first);
    segments_.remove_newest();
  }
  ReplayReport nothing;
  nothing.spares = std::move(report_.spares);
  report_ = std::move(nothing);
  files_read_ = 0;
  last_new_id_ = 0;
  text_.clear();
  half_written_.clear();
  oldest_needed_ = lost_before_ = unneeded_for_sure_ = newest_hurt_ = 0;
}

// One file ----------------------------------------------------------------------------------------

// What the file after it says of how it ended; null if it says nothing.
const Signature* Replay::witness_of(std::size_t index) const {
  if (index + 1 == plan_.size()) return nullptr;
  const auto& signature = plan_[index + 1].identity.signature;
  return signature && knows_end_of(*signature, plan_[index].number) ? &*signature : nullptr;
}

Replay::Outcome Replay::read_file(std::size_t index, const FileBytes& file) {
  const PlannedFile& planned = plan_[index];
  const Signature* witness = witness_of(index);
  // What stands after the length that the next file knows was given up by the server itself.
  const std::string_view bytes = file.view();
  const std::uint64_t end = witness != nullptr ? witness->previous_bytes : bytes.size();

  FileReport report;
  report.number = planned.name_number;
  report.written_as = planned.number;
  report.bytes = file.view().size();
  kind_ = report.kind = planned.identity.kind;
  Segment& segment = segments_.add(planned.number);
  segment.bytes = report.bytes;
  segment.name_number = planned.name_number;
  if (const auto& signature = planned.identity.signature) {
    report.has_signature = true;
    report_.next_id = std::max(report_.next_id, signature->next_id);
    note_oldest_needed(signature->oldest_needed, true);
    // What is lost here now may have been told before.
    lost_before_ = std::max<std::uint64_t>(lost_before_, signature->records_lost);
  }
  if (is_unneeded(index, unneeded_below_)) {
    report.accepted_bytes = end;
    report_.files.push_back(std::move(report));
    return Outcome::done;
  }
  FileScan scan(bytes, planned.identity, end);
  text_.clear();
  hole_in_front_.reset();
  while (const std::optional<FileScan::Found> found = scan.next()) {
    if (!apply(*found, lacks_no_record(scan), report)) return Outcome::failed;
    const bool is_reported = ++report.records_read % kRecordsPerProgress == 0;
    if (is_reported && !report_progress(found->offset, end)) {
      fail("stopped");
      return Outcome::failed;
    }
  }
  const Link link =
      witness == nullptr ? Link::good : link_between(scan, *witness, file.view(), planned.identity);
  const bool is_checked = kind_ == FileKind::checked;
  if (link == Link::broken && is_checked && !is_surveyed_) return Outcome::needs_survey;
  report.accepted_bytes = scan.accepted_bytes();
  report.records = report.records_counted = scan.records();
  report.digest = scan.digest();
  report.marks = scan.marks();
  report.is_as_told = witness != nullptr && link == Link::good;
  report.is_sealed = scan.seal().has_value();
  if (report.is_sealed) {
    note_oldest_needed(scan.seal()->oldest_needed, true);
  }
  report.has_known_end = witness != nullptr || report.is_sealed;
  report.is_last_of_a_run = report.is_sealed && scan.seal()->clean_exit;
  report.damages.insert(report.damages.begin(), scan.damages().begin(), scan.damages().end());
  judge_end(scan, file.view(), witness, link, report);
  if (!lacks_no_record(scan) || report.has_rubbish()) newest_hurt_ = planned.number;
  report_.files.push_back(std::move(report));
  return Outcome::done;
}

// A file that a server has begun to remove is not needed for sure. A record that tells of one may
// be there without the copies of its jobs: a version has written it with them, and a crash may keep
// any page of what was written. So it counts for sure if no record is lost in front of it, in any
// file that may have the copies.
void Replay::note_oldest_needed(std::uint64_t number, bool is_for_sure) {
  oldest_needed_ = std::max(oldest_needed_, number);
  if (is_for_sure) unneeded_for_sure_ = std::max(unneeded_for_sure_, number);
}

// What follows the last good record of a file whose end the next one tells.
void Replay::judge_known_end(const FileScan& scan, std::string_view all, const Signature& witness,
                             Link link, FileReport& report) {
  const std::uint64_t end = witness.previous_bytes;
  const bool is_short = scan.accepted_bytes() < end;
  const std::uint64_t missing =
      witness.previous_records > scan.records() ? witness.previous_records - scan.records() : 0;
  if (is_short && missing == 0 && is_half_seal(all.substr(0, end), scan.accepted_bytes())) {
    report.torn = scan.tail();
  } else if (is_short && (missing > 0 || scan.tail().bytes > 0)) {
    Damage damage = scan.tail();
    damage.offset = scan.accepted_bytes();
    damage.bytes = end - scan.accepted_bytes();
    damage.records = static_cast<std::uint32_t>(missing);
    damage.changes = missing > 0 ? missing : 0;
    const bool is_ours = report.kind == FileKind::checked || report.kind == FileKind::empty;
    damage.looks_torn =
        is_ours && looks_torn(all.substr(0, static_cast<std::size_t>(end)), damage.offset, end,
                              plan_[report_.files.size()].identity.seed);
    report.damages.push_back(damage);
    report.records += missing;
  } else if (link == Link::broken) {
    report.unproven = report.records_read;  // Of beanstalkd, and not as it was.
  }
  // The server gave up what stands after the end: half a record at most. Not whole ones.
  if (end >= all.size()) return;
  const std::size_t after = find_nonzero(all, static_cast<std::size_t>(end));
  if (after == all.size()) return;
  const std::uint64_t bytes = all.find_last_not_of('\0') + 1 - end;
  const std::uint32_t seed = plan_[report_.files.size()].identity.seed;
  // A server that has lost the folder may have written on, and has acknowledged nothing of that.
  const auto& signature = plan_[report_.files.size()].identity.signature;
  const bool is_late = signature && signature->epoch != 0 && signature->epoch < witness.epoch;
  if (report.kind == FileKind::checked && !is_late && has_whole_record(all, end, seed)) {
    report.damages.push_back({.offset = end, .bytes = bytes});
  } else {
    report.torn = {.offset = end, .bytes = bytes};
  }
}

// What follows the last good record: nothing, what a crash tore off, or damage.
void Replay::judge_end(const FileScan& scan, std::string_view all, const Signature* witness,
                       Link link, FileReport& report) {
  if (witness != nullptr) {
    judge_known_end(scan, all, *witness, link, report);
    return;
  }
  const std::uint64_t noted_end = noted_end_of(report_.files.size());
  report.is_cut = scan.accepted_bytes() < noted_end && !report.is_sealed;
  if (report.is_cut) {
    Damage damage = scan.tail();
    damage.offset = scan.accepted_bytes();
    damage.bytes = noted_end - scan.accepted_bytes();
    damage.looks_torn = false;  // All of it was safe.
    report.damages.push_back(damage);
    return;
  }
  if (scan.tail().bytes == 0) return;
  const bool is_last =
      report_.files.size() + 1 == plan_.size() && highest_odd_name_ <= report.number;
  // beanstalkd writes no seal when it stops. But half a record does not end as a body does.
  const std::uint64_t tail_end = scan.tail().offset + scan.tail().bytes;
  const bool ends_like_a_body = all.substr(0, static_cast<std::size_t>(tail_end)).ends_with("\r\n");
  // And what is left of a file without a record may have been anything.
  const bool may_be_torn = report.kind == FileKind::checked
                               ? report.has_signature && !report.is_sealed
                               : scan.records() > 0 && !ends_like_a_body;
  if (is_last && may_be_torn) {
    report.torn = scan.tail();
  } else {
    report.damages.push_back(scan.tail());
  }
}

// What that file has to have at least: all that it had when a server was stopped after it, or a
// record. 0: the note does not tell.
std::uint64_t Replay::noted_end_of(std::size_t index) const {
  const PlannedFile& file = plan_[index];
  const auto& signature = file.identity.signature;
  const bool is_noted = note_tells() && note_tells_last_run() &&
                        file.identity.kind == FileKind::checked && file.number == note_.newest &&
                        (!signature || signature->run == note_.run);
  return is_noted ? std::max<std::uint64_t>(note_.end, kFirstRecordOffset + kShortRecordBytes) : 0;
}

bool Replay::report_progress(std::uint64_t offset, std::uint64_t bytes) {
  if (watcher_.function == nullptr) return true;
  const double share = static_cast<double>(offset) / static_cast<double>(bytes);
  return watcher_.function(watcher_.context,
                           {plan_.size(), files_read_, share, engine_.jobs().size()});
}

}  // namespace haricot::binlog
