// What the replay says of a folder when all of it is read: what is wrong, and what follows from it.

#include <algorithm>
#include <string>

#include "haricot/binlog/job_record.hpp"
#include "haricot/binlog/replay.hpp"

namespace haricot::binlog {
namespace {

// A gap of millions is one mistake in a name, not so many files.
constexpr std::uint64_t kMissingToldMax = 100;
// The shortest record of a job: a name of one byte, and a body of nothing but its CR LF.
constexpr std::uint64_t kSmallestJobBytes = kShortRecordBytes + 1 + 2;
// A file that is missing may have had the default size, and ids are also used up by puts that fail.
constexpr std::uint64_t kMissingFileBytes = 10 * 1024 * 1024;
constexpr std::uint64_t kIdsLeftOut = 1 << 16;
constexpr std::uint64_t kIdsOfAFile = kIdsLeftOut + kMissingFileBytes / kSmallestJobBytes;
// Bytes of a damaged record suggest an id only in this distance from the others.
constexpr std::uint64_t kIdsBelieved = 1 << 24;

}  // namespace

bool ReplayReport::is_sound() const {
  return std::none_of(problems.begin(), problems.end(), is_damage);
}

std::vector<std::string> ReplayReport::sentences() const {
  std::vector<std::string> result;
  for (const Problem& problem : problems) result.push_back(to_sentence(problem));
  return result;
}

std::vector<std::string> ReplayReport::warnings() const {
  std::vector<std::string> result;
  for (const Problem& problem : problems) {
    if (is_damage(problem)) result.push_back(to_sentence(problem));
  }
  return result;
}

void Replay::judge_folder() {
  report_.problems = file_problems_;
  for (const FileReport& file : report_.files) judge_bytes(file);
  judge_sequence();
  judge_newest();
  go_on_beyond_lost_ids();
  report_.records_lost = std::max(report_.records_lost, lost_before_);
  if (!numbers_.empty()) report_.highest_number = std::max(report_.highest_number, numbers_.back());
  for (const FileReport& file : report_.files) {
    report_.highest_number = std::max(report_.highest_number, file.written_as);
  }
}

void Replay::judge_bytes(const FileReport& file) {
  const std::string name = segment_name(file.number);
  std::uint64_t changes = 0;
  for (const Damage& damage : file.damages) {
    report_.records_lost += damage.records;
    changes += damage.changes;
    report_.problems.push_back({.kind = Problem::Kind::damaged,
                                .file = name,
                                .offset = damage.offset,
                                .bytes = damage.bytes,
                                .records = damage.records});
  }
  for (const JobId id : file.lost_jobs) {
    report_.problems.push_back({.kind = Problem::Kind::job_lost, .file = name, .id = id});
  }
  if (file.unproven > 0) {
    report_.problems.push_back(
        {.kind = Problem::Kind::unproven, .file = name, .jobs = file.unproven});
  }
  if (file.torn.bytes > 0) {
    report_.problems.push_back({.kind = Problem::Kind::torn,
                                .file = name,
                                .offset = file.torn.offset,
                                .bytes = file.torn.bytes});
  }
  if (changes > 0) tell_doubt(name, file.written_as, changes);
}

// Numbers that the sequence should have. Files go from its begin as they are not needed any more;
// the newest signature tells how far that had come, and records behind it what has gone since. When
// beanstalkd has used the folder after us, more may have gone.
void Replay::judge_sequence() {
  bool is_legacy_newest = false;
  for (const PlannedFile& file : plan_) {
    if (file.identity.kind == FileKind::empty) continue;
    is_legacy_newest = file.identity.kind != FileKind::checked;
  }
  if (plan_.empty()) return;
  const std::uint64_t lowest = plan_.front().number;
  if (oldest_needed_ > 0 && oldest_needed_ < lowest && !is_legacy_newest) {
    const std::uint64_t first =
        std::max(oldest_needed_, lowest - std::min(lowest, kMissingToldMax));
    for (std::uint64_t number = first; number < lowest; ++number) tell_missing(number);
  }
  for (std::size_t i = 0; i + 1 < plan_.size(); ++i) {
    // One of ours that has lost all it had. A file of ours that follows would tell of that.
    const bool was_ours = i > 0 && plan_[i - 1].identity.kind == FileKind::checked;
    const bool follows_legacy = plan_[i + 1].identity.kind != FileKind::checked;
    if (plan_[i].identity.kind != FileKind::empty || !was_ours || !follows_legacy) continue;
    const std::string name = segment_name(plan_[i].name_number);
    report_.problems.push_back({.kind = Problem::Kind::emptied, .file = name});
    tell_doubt(name, plan_[i].number, 0);
  }
  for (std::size_t i = 1; i < plan_.size(); ++i) {
    const std::uint64_t before = plan_[i - 1].number;
    const std::uint64_t number = plan_[i].number;
    const auto& signature = plan_[i].identity.signature;
    std::uint64_t first = before + 1;
    if (signature && signature->tells_of_its_neighbours()) {
      // It names the file that it was begun behind; numbers between the two were never used.
      const std::uint64_t previous = signature->previous_number;
      if (previous == 0 || previous <= before) continue;
      for (; first <= previous && first < before + kMissingToldMax; ++first) tell_missing(first);
      continue;
    }
    // A file that was begun behind a failure does not know the one in front of it, which may never
    // have come to be.
    const bool is_empty = plan_[i].identity.kind == FileKind::empty;
    if (is_empty || (signature && signature->previous_bytes == 0)) continue;
    for (; first < number && first < before + kMissingToldMax; ++first) tell_missing(first);
  }
}

// The newest file: whether another was begun behind it, and whether there is anything in it.
void Replay::judge_newest() {
  if (report_.files.empty()) return;
  const FileReport& newest = report_.files.back();
  const bool is_empty = newest.records == 0 && newest.kind != FileKind::checked &&
                        newest.accepted_bytes <= kVersionBytes && !newest.has_rubbish();
  const auto before = report_.files.size() > 1 ? &report_.files[report_.files.size() - 2] : nullptr;
  const bool follows_ours = before != nullptr && before->kind == FileKind::checked;
  if (is_empty && (newest.kind == FileKind::empty || follows_ours)) {
    report_.problems.push_back(
        {.kind = Problem::Kind::emptied, .file = segment_name(newest.number)});
    tell_doubt(segment_name(newest.number), newest.written_as, 0);
    return;
  }
  const bool has_next = newest.kind == FileKind::checked && newest.is_sealed;
  if (!has_next || newest.is_last_of_a_run) return;
  const std::uint64_t number = newest.written_as + 1;
  const std::string name = segment_name(number);
  report_.problems.push_back(
      {.kind = Problem::Kind::next_missing, .file = name, .other = segment_name(newest.number)});
  report_.highest_number = std::max(report_.highest_number, number);
  tell_doubt(name, number, 0);
}

void Replay::tell_missing(std::uint64_t number) {
  const std::string name = segment_name(number);
  report_.problems.push_back({.kind = Problem::Kind::missing, .file = name});
  std::uint64_t changes = 0;
  for (const PlannedFile& file : plan_) {
    const auto& signature = file.identity.signature;
    if (signature && knows_end_of(*signature, number)) changes = signature->previous_records;
  }
  tell_doubt(name, number, changes);
}

// Jobs of this file and of older ones, whose deletion may have been recorded in what is lost of it.
// `changes`: how many records may have been; 0: not known.
void Replay::tell_doubt(const std::string& file, std::uint64_t number, std::uint64_t changes) {
  std::uint64_t jobs = 0;
  for (std::size_t i = 0; i < segments_.size() && segments_.at(i).number <= number; ++i) {
    jobs += segments_.at(i).live_jobs;
  }
  if (changes > 0) jobs = std::min(jobs, changes);
  if (jobs == 0) return;
  report_.problems.push_back({.kind = Problem::Kind::in_doubt, .file = file, .jobs = jobs});
}

// No id comes again, neither those of jobs that are lost. A file behind the damage that is whole
// tells the next id; without one, as many are left out as there may have been.
void Replay::go_on_beyond_lost_ids() {
  std::uint64_t left_out = 0;
  for (const FileReport& file : report_.files) {
    if (file.has_signature) left_out = 0;
    std::vector<Damage> damages = file.damages;
    if (file.torn.bytes > 0) damages.push_back(file.torn);
    for (const Damage& damage : damages) {
      const bool is_suggested = damage.highest_id >= report_.next_id &&
                                damage.highest_id - report_.next_id < kIdsBelieved;
      if (is_suggested) report_.next_id = damage.highest_id + 1;
      const std::uint64_t jobs = (damage.bytes + kSmallestJobBytes - 1) / kSmallestJobBytes;
      left_out += damage.records > 0 ? damage.records : jobs;
    }
    // A file that others follow, and of whose end nothing tells, may have been cut off. Whole ones
    // of beanstalkd never tell.
    const bool is_whole_legacy =
        file.kind != FileKind::checked && file.kind != FileKind::empty && !file.has_rubbish();
    const bool may_be_cut =
        !file.has_known_end && !is_whole_legacy && &file != &report_.files.back();
    if (may_be_cut) left_out += kIdsOfAFile;
  }
  for (const Problem& problem : report_.problems) {
    const bool is_newest_gone =
        problem.kind == Problem::Kind::next_missing || problem.kind == Problem::Kind::emptied;
    if (is_newest_gone) left_out += kIdsOfAFile;
  }
  // A missing file in front of another one is told of by that, unless it is of beanstalkd.
  report_.next_id += left_out;
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
  return true;
}

}  // namespace haricot::binlog
