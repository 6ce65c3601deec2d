#include "haricot/binlog/replay.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/number.hpp"
#include "haricot/binlog/job_record.hpp"

// What is said of the folder when all is read stands in replay_verdict.cpp.

namespace haricot::binlog {
namespace {

constexpr std::uint64_t kRecordsPerProgress = 8192;

std::uint64_t job_bytes(const Record& record) {
  return full_record_bytes(record.tube_name.size(), record.body_bytes - 2);
}

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
  if (!list()) return false;
  Outcome outcome = read_all();
  if (outcome == Outcome::needs_survey) {
    forget_all();
    if (!survey()) return false;
    outcome = read_all();
    CHECK(outcome != Outcome::needs_survey);
  }
  if (outcome != Outcome::done || !place_all(now)) return false;
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
  Outcome outcome = plan_.empty() ? Outcome::done : load(0, next);
  for (std::size_t i = 0; i < plan_.size() && outcome == Outcome::done; ++i) {
    // Also before each file: one of large bodies has few records, and a slow disk takes its time.
    if (!report_progress(0, 1)) {
      fail("stopped");
      return Outcome::failed;
    }
    std::swap(bytes, next);
    if (i + 1 < plan_.size()) outcome = load(i + 1, next);
    if (outcome == Outcome::done) outcome = read_file(i, bytes);
    ++files_read_;
    BlobRef::reclaim_all_retired();  // Nobody is served yet, and a next file may have been larger.
  }
  return outcome;
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
  FolderSurvey survey(disk_, numbers_, note_.store_id, note_tells_last_run() ? note_.newest : 0);
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
  oldest_needed_ = lost_before_ = 0;
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
    oldest_needed_ = std::max<std::uint64_t>(oldest_needed_, signature->oldest_needed);
    // What is lost here now may have been told before.
    lost_before_ = std::max<std::uint64_t>(lost_before_, signature->records_lost);
  }
  FileScan scan(bytes, planned.identity, end);
  while (const std::optional<FileScan::Found> found = scan.next()) {
    if (!apply(*found, report)) return Outcome::failed;
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
  report.is_sealed = scan.seal().has_value();
  if (report.is_sealed) {
    oldest_needed_ = std::max<std::uint64_t>(oldest_needed_, scan.seal()->oldest_needed);
  }
  report.has_known_end = witness != nullptr || report.is_sealed;
  report.is_last_of_a_run = report.is_sealed && scan.seal()->clean_exit;
  report.damages.insert(report.damages.begin(), scan.damages().begin(), scan.damages().end());
  judge_end(scan, file.view(), witness, link, report);
  report_.files.push_back(std::move(report));
  return Outcome::done;
}

// What follows the last good record: nothing, what a crash tore off, or damage.
void Replay::judge_end(const FileScan& scan, std::string_view all, const Signature* witness,
                       Link link, FileReport& report) {
  if (witness != nullptr) {
    const std::uint64_t end = witness->previous_bytes;
    const bool is_short = scan.accepted_bytes() < end;
    const std::uint64_t missing =
        witness->previous_records > scan.records() ? witness->previous_records - scan.records() : 0;
    if (is_short && (missing > 0 || scan.tail().bytes > 0)) {
      Damage damage = scan.tail();
      damage.offset = scan.accepted_bytes();
      damage.bytes = end - scan.accepted_bytes();
      damage.records = static_cast<std::uint32_t>(missing);
      damage.changes = missing > 0 ? missing : 0;
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
    if (report.kind == FileKind::checked && has_whole_record(all, end, seed)) {
      report.damages.push_back({.offset = end, .bytes = bytes});
    } else {
      report.torn = {.offset = end, .bytes = bytes};
    }
    return;
  }
  const std::uint64_t noted_end = noted_end_of(report_.files.size());
  report.is_cut = scan.accepted_bytes() < noted_end && !report.is_sealed;
  if (report.is_cut) {
    Damage damage = scan.tail();
    damage.offset = scan.accepted_bytes();
    damage.bytes = noted_end - scan.accepted_bytes();
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

// One record --------------------------------------------------------------------------------------

bool Replay::apply(const FileScan::Found& found, FileReport& report) {
  const Record& record = found.record;
  const bool is_checked = kind_ == FileKind::checked;
  if (record.id == kPseudoId) {
    if (const auto number = needed_from(record)) {
      oldest_needed_ = std::max(oldest_needed_, *number);
    }
    return true;
  }
  if (record.id > kIdLast && !is_checked) return true;  // The scan has told it as damage.
  if (found.is_unproven) ++report.unproven;
  // In a file that nobody can check, an id says something only where there is a job to it.
  if (record.is_full() || is_checked) report_.next_id = std::max(report_.next_id, record.id + 1);
  if (record.is_full()) segments_.note_id(record.id, 0);
  if (is_checked && is_marker(record)) return true;
  if (record.is_full()) return apply_full(found, report);
  apply_change(found, report);
  return true;
}

void Replay::apply_change(const FileScan::Found& found, FileReport& report) {
  const Record& record = found.record;
  const JobRef ref = engine_.jobs().find(record.id);
  if (ref == JobRef::none) return;
  if (kind_ != FileKind::checked && !is_of_that_job(record, ref)) {
    report.damages.push_back(
        {.offset = found.offset, .bytes = record.bytes(), .records = 1, .changes = 1});
    return;
  }
  if (record.state == RecordState::deleted) {
    drop(ref);
  } else {
    change(ref, record);
  }
}

bool Replay::apply_full(const FileScan::Found& found, FileReport& report) {
  const Record& record = found.record;
  const JobRef known = engine_.jobs().find(record.id);
  if (found.body_is_damaged) {
    // An older record of the job has the same body; it stays the one that the job lives in.
    if (known != JobRef::none) {
      change(known, record);
    } else if (record.state != RecordState::deleted) {
      report.lost_jobs.push_back(record.id);
    }
    return true;
  }
  if (kind_ != FileKind::checked && !is_of_that_job(record, known)) {
    report.damages.push_back({.offset = found.offset, .bytes = record.bytes(), .records = 1});
    if (!is_likelier_than_known(record.id)) return true;
  }
  if (known == JobRef::none) note_order(record.id);
  bool was_buried = false;
  std::int64_t stamp = 0;
  if (known != JobRef::none) {
    was_buried = engine_.jobs()[known].state() == JobState::buried;
    stamp = engine_.jobs().journal_note(known).stamp();
    drop(known);
  }
  if (record.state == RecordState::deleted) return true;
  const JobRef ref = take_in(record);
  if (ref == JobRef::none) return fail("there is not enough memory for all jobs");
  engine_.jobs().journal_note(ref).set_stamp(stamp);
  set_time(ref, record, was_buried);
  return true;
}

// beanstalkd gives each job one time of creation, and all its records have it. Where two records
// of an id differ, one has the wrong id.
bool Replay::is_of_that_job(const Record& record, JobRef known) const {
  if (known == JobRef::none) return true;
  return engine_.jobs()[known].created == restored_from(record, wall_offset_).created;
}

// Jobs are first recorded in the order of their ids. So of two that have the same, one is out of
// its turn: the new one, unless its id is the next in the order, or the one before has left one
// out.
bool Replay::is_likelier_than_known(JobId id) const {
  return id > last_new_id_ || (id == last_new_id_ && last_new_id_jumped_);
}

void Replay::note_order(JobId id) {
  last_new_id_jumped_ = id > last_new_id_ + 1;
  last_new_id_ = id;
}

JobRef Replay::take_in(const Record& record) {
  const std::string_view body = record.body.substr(0, record.body.size() - 2);
  NewBody taken{.bytes = body, .blob = {}};
  if (body.size() > JobStore::kInlineBodyBytesMax) {
    taken.blob = BlobRef::allocate(body.size());
    if (!taken.blob) return JobRef::none;
    std::memcpy(taken.blob.data(), body.data(), body.size());
    taken.bytes = {};
  }
  const JobRef ref =
      engine_.restore(restored_from(record, wall_offset_), record.tube_name, std::move(taken));
  if (ref != JobRef::none) segments_.attach(ref, job_bytes(record));
  return ref;
}

void Replay::change(JobRef ref, const Record& record) {
  const bool was_buried = engine_.jobs()[ref].state() == JobState::buried;
  engine_.change_restored(ref, restored_from(record, wall_offset_));
  set_time(ref, record, was_buried);
}

void Replay::drop(JobRef ref) {
  const Job& job = engine_.jobs()[ref];
  segments_.detach(ref, full_record_bytes(engine_.tubes()[job.tube].name.size(), job.body_bytes));
  engine_.drop_restored(ref);
}

// The note's stamp keeps the deadline of a delayed job until it has its place, and the turn of a
// buried one. Our records of buried jobs hold that in place of a deadline; those of beanstalkd do
// not, and count in the order in which they come.
void Replay::set_time(JobRef ref, const Record& record, bool was_buried) {
  JournalNote& note = engine_.jobs().journal_note(ref);
  if (record.state == RecordState::delayed) {
    note.set_stamp(record.deadline_at);
  } else if (record.state == RecordState::buried) {
    const bool is_ours = kind_ == FileKind::checked;
    if (is_ours || !was_buried)
      note.set_stamp(is_ours ? record.deadline_at : report_.last_stamp + 1);
    report_.last_stamp = std::max(report_.last_stamp, note.stamp());
  }
}

}  // namespace haricot::binlog
