#include "haricot/binlog/replay.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/binlog/job_record.hpp"

namespace haricot::binlog {
namespace {

constexpr std::uint64_t kRecordsPerProgress = 8192;

std::string plural(std::uint64_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

std::uint64_t job_bytes(const Record& record) {
  return full_record_bytes(record.tube_name.size(), record.body_bytes - 2);
}

}  // namespace

std::optional<std::uint64_t> segment_number(std::string_view name) {
  constexpr std::string_view kPrefix = "binlog.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool good = error == std::errc{} && end == name.data() + name.size() && number > 0 &&
                    name[0] != '0' && number < std::numeric_limits<std::int32_t>::max();
  if (!good) return std::nullopt;
  return number;
}

bool Replay::fail(std::string error) {
  error_ = std::move(error);
  return false;
}

bool Replay::run(Duration wall_offset, Instant now) {
  wall_offset_ = wall_offset;
  if (!list()) return false;
  // Each file is read with the one behind it at hand, which knows how far it goes.
  File file;
  File next;
  if (!numbers_.empty() && !load(0, next)) return false;
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    // Also before each file: one of large bodies has few records, and a slow disk takes its time.
    if (!tell_progress(0, 1)) return fail("stopped");
    std::swap(file, next);
    const bool is_last = i + 1 == numbers_.size();
    if (!is_last && !load(i + 1, next)) return false;
    if (!is_last) note_gap(file.number, next);
    if (!file.signature && !find_store_id(file, i + 2)) return false;
    if (!read_file(file, is_last ? nullptr : &next)) return false;
    ++files_read_;
    BlobRef::reclaim_all_retired();  // Nobody is served yet, and a next file may have been larger.
  }
  report_.records_lost = std::max(report_.records_lost, lost_before_);
  return place_all(now);
}

bool Replay::list() {
  std::vector<std::string> names;
  if (disk_.list(names) != DiskStatus::ok) return fail(disk_.last_error());
  for (const std::string& name : names) {
    const std::string_view view = name;
    if (const auto number = segment_number(view)) {
      numbers_.push_back(*number);
    } else if (view.ends_with(".tmp") && segment_number(view.substr(0, view.size() - 4))) {
      report_.spares.push_back(name);
    }
  }
  std::sort(numbers_.begin(), numbers_.end());
  return true;
}

// A file that was begun behind a failure does not know the one in front of it, which may never have
// come to be.
void Replay::note_gap(std::uint64_t before, const File& next) {
  if (next.signature && next.signature->previous_bytes == 0) return;
  // A gap of millions is one mistake in a name, not so many files.
  for (std::uint64_t n = before + 1; n < next.number && n < before + 100; ++n) {
    report_.missing.push_back(n);
    report_.warnings.push_back(segment_name(n) + " is missing between " + segment_name(before) +
                               " and " + segment_name(next.number));
  }
}

bool Replay::load(std::size_t place, File& file) {
  file.number = numbers_[place];
  const DiskStatus status = disk_.read(segment_name(file.number), file.bytes);
  if (status != DiskStatus::ok) return fail(disk_.last_error());
  const std::string_view bytes = file.bytes.view();
  file.signature.reset();
  if (bytes.size() > kVersionBytes) {
    file.signature = read_signature(bytes.substr(kVersionBytes), file.number);
  }
  if (file.signature && report_.store_id == 0) report_.store_id = file.signature->store_id;
  return true;
}

// A file that is ours though its signature cannot be read is known by the folder's id, which any
// other file may tell, also one far behind it. Those of beanstalkd are not worth the search.
bool Replay::find_store_id(const File& file, std::size_t place) {
  const std::string_view bytes = file.bytes.view();
  if (bytes.empty() || FileScan::begins_like_legacy(bytes)) return true;
  for (; report_.store_id == 0 && place < numbers_.size(); ++place) {
    File other;
    if (!load(place, other)) return false;
  }
  return true;
}

// One file ----------------------------------------------------------------------------------------

bool Replay::read_file(const File& file, const File* next) {
  std::string_view bytes = file.bytes.view();
  FileReport report;
  report.number = file.number;
  report.bytes = bytes.size();
  // What stands behind the length that the next file knows was given up by the server itself.
  const bool next_knows = next != nullptr && next->signature && next->number == file.number + 1 &&
                          next->signature->previous_bytes > 0;
  if (next_knows) bytes = bytes.substr(0, next->signature->previous_bytes);

  FileScan scan(bytes, file.number, report_.store_id);
  if (scan.kind() == FileKind::unknown_version) {
    return fail(segment_name(file.number) + " is of a version that is not known here");
  }
  segments_.add(file.number).bytes = report.bytes;
  kind_ = report.kind = scan.kind();
  if (scan.signature()) {
    report_.next_id = std::max(report_.next_id, scan.signature()->next_id);
    // What is lost here now may have been told before.
    lost_before_ = std::max<std::uint64_t>(lost_before_, scan.signature()->records_lost);
  }
  while (const std::optional<FileScan::Found> found = scan.next()) {
    if (!apply(*found, scan.kind(), report)) return false;
    const bool is_told = ++report.records_read % kRecordsPerProgress == 0;
    if (is_told && !tell_progress(found->offset, bytes.size())) return fail("stopped");
  }
  report.accepted_bytes = scan.accepted_bytes();
  report.records = scan.records();
  report.digest = scan.digest();
  report.is_sealed = scan.seal().has_value();
  report.is_last_of_a_run = report.is_sealed && scan.seal()->clean_exit;
  report.damages = scan.damages();
  judge_end(scan, file, next_knows ? next : nullptr, report);
  // In front of a file of beanstalkd, too, the end may be torn: a crash came before the change.
  if (next == nullptr) report.torn_bytes = scan.tail_bytes();
  warn(report);
  report_.files.push_back(std::move(report));
  return true;
}

// What follows the last good record: nothing, what a crash tore off, or damage.
void Replay::judge_end(const FileScan& scan, const File& file, const File* next,
                       FileReport& report) {
  const bool is_last = file.number == numbers_.back();
  if (next != nullptr) {
    const Signature& known = *next->signature;
    const bool is_short = scan.accepted_bytes() < known.previous_bytes;
    const std::uint64_t missing =
        known.previous_records > scan.records() ? known.previous_records - scan.records() : 0;
    if (is_short && (missing > 0 || scan.tail_bytes() > 0)) {
      report.damages.push_back({scan.accepted_bytes(), known.previous_bytes - scan.accepted_bytes(),
                                static_cast<std::uint32_t>(missing)});
      report.records += missing;
    }
    return;
  }
  // A file that does not even begin like one was not torn off at its end.
  const bool is_torn = is_last && (scan.accepted_bytes() > 0 || report.bytes == 0);
  if (!is_torn && scan.tail_bytes() > 0) {
    report.damages.push_back({scan.accepted_bytes(), scan.tail_bytes(), 0});
  }
}

void Replay::warn(const FileReport& report) {
  const std::string name = segment_name(report.number);
  for (const Damage& damage : report.damages) {
    report_.records_lost += damage.records;
    std::string text = name + " is damaged at offset " + std::to_string(damage.offset) + ": " +
                       plural(damage.bytes, "byte") + " cannot be read";
    text += damage.records == 0 ? "" : ", " + plural(damage.records, "record") + " lost";
    report_.warnings.push_back(std::move(text));
  }
  for (const JobId id : report.lost_jobs) {
    report_.warnings.push_back(name + ": the body of job " + std::to_string(id) +
                               " is damaged, the job is lost");
  }
}

bool Replay::tell_progress(std::uint64_t offset, std::uint64_t bytes) {
  if (watcher_.function == nullptr) return true;
  const double share = static_cast<double>(offset) / static_cast<double>(bytes);
  return watcher_.function(watcher_.context,
                           {numbers_.size(), files_read_, share, engine_.jobs().size()});
}

// One record --------------------------------------------------------------------------------------

bool Replay::apply(const FileScan::Found& found, FileKind kind, FileReport& report) {
  const Record& record = found.record;
  // In a file that nobody can check, an id says something only where there is a job to it.
  if (record.is_full() || kind == FileKind::checked) {
    report_.next_id = std::max(report_.next_id, record.id + 1);
  }
  if (record.is_full()) segments_.note_id(record.id, 0);
  if (kind == FileKind::checked && is_marker(record)) return true;
  if (record.is_full()) return apply_full(found, report);
  const JobRef ref = engine_.jobs().find(record.id);
  if (ref == JobRef::none) return true;
  if (record.state == RecordState::deleted) {
    drop(ref);
  } else {
    change(ref, record);
  }
  return true;
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

// The end -----------------------------------------------------------------------------------------

bool Replay::place_all(Instant now) {
  struct Buried {
    std::int64_t stamp;
    JobRef ref;
  };
  std::vector<Buried> buried;
  JobStore& jobs = engine_.jobs();
  bool good = true;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    JobRef next = JobRef::none;
    for (JobRef ref = segments_.at(i).first; ref != JobRef::none && good; ref = next) {
      JournalNote& note = jobs.journal_note(ref);
      next = note.next;
      Job& job = jobs[ref];
      Instant deadline;
      if (job.state() == JobState::buried) {
        buried.push_back({note.stamp(), ref});
        continue;
      }
      if (job.state() == JobState::delayed) {
        deadline = restored_deadline(note.stamp(), job.delay_s, wall_offset_, now);
        if (deadline <= now) job.set_state(JobState::ready);
      }
      note.set_stamp(0);
      good = engine_.place_restored(ref, deadline);
    }
  }
  std::stable_sort(buried.begin(), buried.end(),
                   [](const Buried& a, const Buried& b) { return a.stamp < b.stamp; });
  for (const Buried& job : buried) good = good && engine_.place_restored(job.ref, Instant{});
  if (!good) return fail("there is not enough memory for all jobs");
  engine_.end_restore(report_.next_id);
  return true;
}

}  // namespace haricot::binlog
