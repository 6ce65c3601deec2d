#include "haricot/binlog/write/recovery.hpp"

#include <algorithm>
#include <functional>
#include <new>
#include <string>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/format/job_record.hpp"
#include "haricot/binlog/write/quarantine.hpp"

namespace haricot::binlog {
namespace {

constexpr Duration kPauseBetweenTries = Duration::seconds(1);
// A check of the folder takes a few system calls, and writing all jobs again may take most of a
// second.
constexpr Duration kPauseWhileGone = Duration::milliseconds(200);
// Space may return at any time, and asking for it is cheap.
constexpr Duration kPauseWhileFull = Duration::milliseconds(50);
constexpr std::string_view kNoSpaceOrMemory = "no space or no memory left";

}  // namespace

// After any failure the folder may be another one, or lack our files. The first attempt comes at
// once, and later ones after a pause.
void Recovery::failed(const StreamEvents::Failure& failure) noexcept {
  if (failure.status == DiskStatus::failed) has_to_return_ = true;
  retry_at_ = failure.was_refusing ? state_.now + pause_before_next_try() : state_.now;
  attempt_.jobs_in_doubt.clear();
  if (!failure.was_refusing) return;
  free_at_failure_ = failure.free_bytes;
  retry_for_no_reason_at_ = state_.now + kPauseBetweenTries;
  forget_failed_files();
}

void Recovery::syncs_taken() {
  const bool are_copies_in =
      attempt_.copies == Attempt::Copies::in_line && stream_.sync_line().length() == 0;
  if (are_copies_in && stream_.is_refusing() && stream_.is_open())
    attempt_.copies = Attempt::Copies::durable;
  const bool all_rewritten = stream_.is_refusing() && stream_.is_open() && attempt_.is_all_written;
  if (!all_rewritten || stream_.sync_line().length() > 0) return;
  if (remove_one_left_behind()) {
    stream_.sync_line().sync_folder();  // Its end calls this again.
  } else {
    recovered();
  }
}

Instant Recovery::next_event() const {
  if (!stream_.is_open()) return retry_at_;
  return attempt_.is_all_written || waits_ ? Instant::never() : Instant{};
}

Duration Recovery::pause_before_next_try() const {
  return stream_.refusal().is_for_space() ? kPauseWhileFull : kPauseBetweenTries;
}

// A failed attempt leaves files whose content may not be durable. Their records are written again
// in the next attempt. But once all jobs are durable in these files, they stay: a file that had
// some of the jobs may be removed by now. Then the next attempt continues with them.
void Recovery::forget_failed_files() {
  if (attempt_.copies == Attempt::Copies::durable) attempt_.first_serial = 0;
  while (attempt_.first_serial != 0 && !segments().empty() &&
         segments().newest().serial >= attempt_.first_serial) {
    Segment& failed = segments().newest();
    if (segments().gone_until() != 0 && segments().size() > 1) {
      // All jobs are written again, and none may be skipped the next time.
      if (remove_failed(failed.number)) {
        segments().merge_newest();
        segments().set_gone_until(std::max(segments().gone_until(), segments().newest().number));
        continue;
      }
      segments().set_gone_until(failed.number);
      break;
    }
    while (failed.first != JobRef::none) {
      segments().detach(failed.first, live_bytes_of(*state_.engine, failed.first));
    }
    if (!remove_failed(failed.number)) break;
    segments().remove_newest();
  }
  attempt_.first_serial = 0;
}

bool Recovery::remove_failed(std::uint64_t number) {
  if (state_.is_fenced()) return false;  // No number is used twice, so the file may stay.
  try {
    return state_.disk.remove(binlog_file_name(number)) == DiskStatus::ok;
  } catch (const std::bad_alloc&) {
    return false;  // Counts as a file that cannot be removed.
  }
}

void Recovery::advance(const Budget& budget) {
  waits_ = false;
  if (!stream_.is_open()) {
    if (state_.now < retry_at_ || !begin()) return;
  }
  if (attempt_.is_all_written || !rewrite_some(budget) || !attempt_.is_all_written) return;
  if (!state_.has_syncs()) {
    while (remove_one_left_behind()) {
    }
    recovered();
  } else {
    stream_.syncs().request_of_rewritten();
    stream_.syncs().take_ends();
  }
}

// Opens a file and lists the records for it. Returns false if that fails; the next attempt comes
// after a pause.
bool Recovery::begin() {
  retry_at_ = state_.now + pause_before_next_try();
  if (stream_.sync_line().length() > SyncLine::kLengthMax / 2)
    return false;  // Old syncs have to end first.
  if (has_to_return_) {
    std::vector<std::string> names;
    if (!watch_.return_to_folder(names)) {
      retry_at_ = state_.now + kPauseWhileGone;
      stream_.progress().mark_doubtful();
      return false;
    }
    room_.forget_missing_files(names);
    has_to_return_ = false;
  }
  if (!stream_.files().take_up_unsure_file()) {
    stream_.progress().mark_doubtful();
    return false;
  }
  // An attempt that reached the write is not repeated without a reason.
  DiskSpace space;
  const bool is_as_full = stream_.refusal().is_for_space() &&
                          state_.now < retry_for_no_reason_at_ && state_.disk.space(space) &&
                          space.free_bytes <= free_at_failure_;
  if (is_as_full) return false;
  if (!room_.has_spare_or_makes_one()) {
    // A new folder may be given to the server's user a moment after it was created.
    const bool is_made_anew = segments().gone_until() != 0 && !room_.is_short();
    retry_at_ = state_.now + (is_made_anew ? kPauseWhileGone : pause_before_next_try());
    stream_.progress().mark_doubtful();
    has_to_return_ = !room_.is_short();
    return false;
  }
  Attempt attempt;
  if (!list_records_in_doubt(attempt) || !room_.prepare_spare(0) || !room_.begin_file()) {
    stream_.progress().mark_doubtful();
    has_to_return_ = has_to_return_ || !room_.is_short();
    return false;
  }
  attempt.first_serial = segments().newest().serial;
  attempt_ = std::move(attempt);
  return true;
}

// Lists what a failure may have lost. Returns false if there is no memory.
bool Recovery::list_records_in_doubt(Attempt& attempt) const {
  const auto ids = stream_.progress().ids_at_risk();
  std::vector<JobId>& jobs = attempt.jobs_in_doubt;
  try {
    jobs.assign(ids.begin(), ids.end());
  } catch (const std::bad_alloc&) {
    return false;
  }
  const std::size_t others = std::erase_if(jobs, [](JobId id) { return !is_id_of_job(id); });
  attempt.has_to_write_needed_files = others > 0 || segments().gone_until() != 0;
  std::sort(jobs.begin(), jobs.end(), std::greater<>());
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  return true;
}

// Returns the first file from `index` on with jobs to write again; nothing if there is none.
std::optional<std::size_t> Recovery::with_jobs_to_rewrite(std::size_t index) const {
  for (; index < segments().size() && segments().at(index).number <= segments().gone_until();
       ++index) {
    if (segments().at(index).live_jobs > 0) return index;
  }
  return std::nullopt;
}

// The record of needed files comes after all jobs of files that are not needed.
Recovery::Rewrite Recovery::next_to_rewrite() {
  if (!attempt_.jobs_in_doubt.empty()) return {Rewrite::Kind::job, attempt_.jobs_in_doubt.back()};
  if (const auto index = with_jobs_to_rewrite(attempt_.rewritten_until)) {
    attempt_.rewritten_until = *index;
    return {Rewrite::Kind::job, state_.engine->jobs()[segments().at(*index).first].id};
  }
  if (attempt_.has_to_write_needed_files) return {Rewrite::Kind::needed_files};
  return {};
}

bool Recovery::rewrite_some(const Budget& budget) {
  while (!attempt_.is_all_written && !budget.is_used_up()) {
    const std::uint64_t before = stream_.records().steps_this_turn();
    if (!rewrite(next_to_rewrite())) return false;
    state_.steps += stream_.records().steps_this_turn() - before;
    attempt_.is_all_written = next_to_rewrite().kind == Rewrite::Kind::nothing;
  }
  stream_.records().flush();
  return stream_.is_open();
}

// Returns false if the record has to wait, or the stream has failed. A job that is written leaves
// the list, or its file.
bool Recovery::rewrite(const Rewrite& next) {
  switch (next.kind) {
    case Rewrite::Kind::nothing:
      return true;  // No record is in doubt. The new file still has to be synced.
    case Rewrite::Kind::job: {
      const JobRef ref = state_.engine->jobs().find(next.job);
      const bool good = ref == JobRef::none ? rewrite_deletion(next.job) : rewrite_job(ref);
      if (good && !attempt_.jobs_in_doubt.empty()) attempt_.jobs_in_doubt.pop_back();
      return good;
    }
    case Rewrite::Kind::needed_files:
      if (has_to_wait_for_copies() || !rewrite_needed_files()) return false;
      attempt_.has_to_write_needed_files = false;
      return true;
  }
  return false;
}

// The record that files are not needed comes after their jobs are durable elsewhere: a crash may
// keep any page that was written, and lose the others. If no file is gone, nothing has to wait.
bool Recovery::has_to_wait_for_copies() {
  if (segments().gone_until() == 0 || !state_.has_syncs() ||
      attempt_.copies == Attempt::Copies::durable) {
    return false;
  }
  if (attempt_.copies == Attempt::Copies::written) {
    stream_.records().flush();
    if (!stream_.is_open()) return true;
    stream_.syncs().request_of_rewritten();
    attempt_.copies = Attempt::Copies::in_line;
    stream_.syncs().take_ends();
  }
  waits_ = attempt_.copies == Attempt::Copies::in_line;
  return waits_ || !stream_.is_open();
}

// Returns the oldest needed file as of now. If files are gone, only the files of this attempt are
// needed.
std::uint64_t Recovery::number_needed_from() const {
  std::size_t index = 0;
  while (index + 1 < segments().size()) {
    const Segment& segment = segments().at(index);
    if (segment.number > segments().gone_until() && segment.unneeded_from == 0) break;
    ++index;
  }
  return segments().at(index).number;
}

bool Recovery::rewrite_job(JobRef ref) {
  const JournaledJob job = state_.engine->journaled(ref);
  if (const BlobRef body = bodies_.body_of(job)) return rewrite_large(job, body);
  const JobStore& jobs = state_.engine->jobs();
  const std::size_t copied = lead_bytes(job, jobs) + note_record_bytes(jobs, ref);
  if (!get_room(full_record_bytes(job, jobs), copied, job.job.body_bytes)) return false;
  stream_.jobs().append_full_again(job);
  stream_.jobs().append_note_again(job);
  return true;
}

// Writes the deletion of a job, with a key that it leaves.
bool Recovery::rewrite_deletion(JobId id) {
  const JobRef tombstone_ref = state_.engine->jobs().find_tombstone(id);
  if (tombstone_ref == JobRef::none) {
    if (!get_room(kShortRecordBytes, 0, 0)) return false;
    stream_.jobs().append_deletion_again(id, nullptr);
    return true;
  }
  const Tombstone left = state_.engine->tombstone(tombstone_ref);
  const std::uint64_t left_bytes = tombstone_record_bytes(left);
  if (!get_room(left_bytes + kShortRecordBytes, left_bytes, 0)) return false;
  stream_.jobs().append_deletion_again(id, &left);
  return true;
}

bool Recovery::rewrite_needed_files() {
  if (!get_room(kShortRecordBytes, 0, 0)) return false;
  stream_.records().append_again(needed_from(number_needed_from()));
  return true;
}

// Finds room for a record of `bytes`, and memory for RecordCollector::prepare_again().
bool Recovery::get_room(std::uint64_t bytes, std::size_t lead_bytes, std::size_t body_bytes) {
  const JournalStatus room = room_.make_room(bytes, 0);
  waits_ = room == JournalStatus::later;
  if (waits_) return false;
  if (room == JournalStatus::ok && stream_.records().prepare_again(lead_bytes, body_bytes))
    return true;
  if (room != JournalStatus::failed) {
    stream_.refusal().begin(DiskStatus::full, "write", kNoSpaceOrMemory);
  } else if (stream_.is_open()) {
    stream_.refusal().begin(DiskStatus::failed, "write", room_.why());
  }  // Otherwise the next file could not be begun, and the stream has failed already.
  return false;
}

// Writes a job with a large body, over as many turns as it takes.
bool Recovery::rewrite_large(const JournaledJob& job, const BlobRef& body) {
  const JournalStatus status = bodies_.write_ahead(LargeBodies::User::recovery, body,
                                                   lead_bytes(job, state_.engine->jobs()), 0);
  if (status == JournalStatus::later) {
    waits_ = !bodies_.has_work();
    return false;
  }
  if (status != JournalStatus::ok) {
    const bool is_full = status == JournalStatus::full;
    // Otherwise a sync has failed, and the stream has failed already.
    if (stream_.is_open()) {
      stream_.refusal().begin(
          is_full ? DiskStatus::full : DiskStatus::failed, "write",
          is_full ? std::string_view(kNoSpaceOrMemory) : std::string_view(bodies_.why()));
    }
    return false;
  }
  const std::size_t note_bytes = note_record_bytes(state_.engine->jobs(), job.ref);
  // The file that ends must not write, because that releases memory.
  if (note_bytes > 0) stream_.records().flush();
  if (!stream_.is_open()) return false;
  if (!stream_.records().prepare_again(note_bytes, 0)) {
    stream_.refusal().begin(DiskStatus::full, "write", kNoSpaceOrMemory);
    return false;
  }
  if (!bodies_.append_again(job)) return false;
  stream_.jobs().append_note_again(job);
  return true;
}

// All jobs are durable in newer files. Old files that still exist might restore jobs whose deletion
// was in files that are gone, so they are removed before anything else: the oldest first, one at a
// time, as in compaction. Returns true if one was removed and its name has to leave the disk.
// Compaction retries files that cannot be removed.
bool Recovery::remove_one_left_behind() {
  for (std::size_t i = 0; i < segments().size(); ++i) {
    Segment& segment = segments().at(i);
    if (segment.number > segments().gone_until()) break;
    if (segment.is_gone) continue;
    try {
      segment.is_gone =
          remove_or_keep(state_.disk, segment.number, segment.has_to_be_kept) == DiskStatus::ok;
    } catch (const std::bad_alloc&) {
      // Counts as a file that cannot be removed.
    }
    if (segment.is_gone) return true;
  }
  return false;
}

void Recovery::recovered() {
  stream_.refusal().end();
  attempt_.first_serial = 0;
  retry_at_ = Instant::never();
  watch_.forget_missing_files();
  state_.check_files_at = state_.now;
  stream_.syncs().mark_safe(stream_.progress().records());
  const bool failure_is_over = state_.notices.take_begin(Notices::Subject::failure);
  // All jobs of older files that are gone were written again as well.
  const bool moving_is_over = state_.notices.take_begin(Notices::Subject::older_gone);
  if (!failure_is_over && !moving_is_over) return;
  try {
    state_.notices.add(
        {.kind = Notice::Kind::recovered, .file = binlog_file_name(stream_.writer().number())});
  } catch (const std::bad_alloc&) {
    // Recovery is complete even if the log has no line.
  }
}

}  // namespace haricot::binlog
