#include "haricot/binlog/write/large_bodies.hpp"

#include <new>

#include "haricot/base/check.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/binlog/format/job_record.hpp"

namespace haricot::binlog {
namespace {

// Each body begins a file, which needs a sync of its own. With this many syncs in line, a put with
// a large body waits until some have ended: all later records would wait for all of these syncs.
// More syncs in line would not make the disk faster.
constexpr std::size_t kSyncsAheadMax = 6;

}  // namespace

bool LargeBodies::is_far_ahead() {
  if (stream_.sync_line().length() < kSyncsAheadMax) return false;
  stream_.syncs().take_ends();
  return stream_.sync_line().length() >= kSyncsAheadMax;
}

BlobRef LargeBodies::body_of(const JournaledJob& job) const {
  if (job.job.body_bytes < state_.options.large_body_bytes) return {};
  return state_.engine->jobs().body_blob(job.ref);
}

bool LargeBodies::has_written_much() const {
  return stream_.records().steps_this_turn() >= turn_limits::kStepsOfRecords;
}

bool LargeBodies::is_busy() const {
  if (stream_.is_refusing()) return false;  // The put is refused, too.
  if (has_written_much() || body_.state() == LargeBody::State::writing) return true;
  if (body_.state() == LargeBody::State::leaving) return true;
  return body_.state() == LargeBody::State::none && has_to_leave_it_to_others(User::put);
}

// Neither puts nor compaction get the body twice in a row if the other one waits for it.
bool LargeBodies::has_to_leave_it_to_others(User user) const {
  if (user != user_) return false;
  return user == User::put ? compaction_wants_it_ : user == User::compaction && put_wants_it_;
}

JournalStatus LargeBodies::write_ahead(User user, const BlobRef& body, std::size_t lead_bytes,
                                       std::uint64_t keep) {
  if (!body_.is_for(body, lead_bytes)) {
    if (body_.state() == LargeBody::State::none && !has_to_leave_it_to_others(user)) {
      return begin_to_write(user, body, lead_bytes, keep);
    }
    if (user == User::compaction) compaction_wants_it_ = true;
    return JournalStatus::later;
  }
  was_claimed_ = true;
  if (body_.state() == LargeBody::State::failed) return failed();
  if (body_.state() != LargeBody::State::whole || room_.has_to_wait_for_syncs()) {
    return JournalStatus::later;
  }
  if (!stream_.is_open()) return JournalStatus::failed;  // A sync has failed.
  const JournalStatus room = room_.make_room_in_spares(keep);
  if (room != JournalStatus::ok && room != JournalStatus::later) body_.drop();
  return room;
}

JournalStatus LargeBodies::begin_to_write(User user, const BlobRef& body, std::size_t lead_bytes,
                                          std::uint64_t keep) {
  if (room_.has_to_wait_for_syncs()) return JournalStatus::later;
  if (user == User::put && is_far_ahead()) return JournalStatus::later;
  if (!stream_.is_open()) return JournalStatus::failed;  // A sync has failed.
  const std::uint64_t record_bytes = full_record_bytes(lead_bytes, body.size());
  DiskSpace space;
  if (state_.disk.space(space) && space.free_bytes < record_bytes) return JournalStatus::full;
  const JournalStatus room = room_.make_room_in_spares(keep);
  if (room != JournalStatus::ok) return room;
  const DiskStatus status = body_.begin(body, lead_bytes, room_.needs().file_bytes());
  user_ = user;
  if (status == DiskStatus::full) return JournalStatus::full;
  if (status == DiskStatus::failed) return failed();
  was_claimed_ = true;
  was_whole_ = false;
  return JournalStatus::later;
}

// Nothing is in doubt, because no record was made. So the binlog has not failed, and only the user
// of the body is refused.
JournalStatus LargeBodies::failed() {
  const bool is_full =
      body_.state() == LargeBody::State::failed && body_.status() == DiskStatus::full;
  body_.drop();
  if (is_full) return JournalStatus::full;
  state_.notices.count_error();
  state_.check_files_at = state_.now;
  try {
    state_.notices.report_at_times(
        Notices::Subject::file,
        {.kind = Notice::Kind::file_failed, .doing = "write", .error = body_.why()}, state_.now);
  } catch (const std::bad_alloc&) {
    // The user of the body gets the error.
  }
  return JournalStatus::failed;
}

bool LargeBodies::begin_file_with(const Record& record, JobRef ref) {
  CHECK(body_.state() == LargeBody::State::whole);
  const auto ending = stream_.files().end();
  if (!ending) return false;
  const JobStore& jobs = state_.engine->jobs();
  FactTextBytes facts;
  const RecordAroundBody first{
      record, jobs.tags(ref),
      jobs.has_facts(ref) ? write_facts(jobs.facts(ref), facts) : std::string_view{}, body_.sum()};
  const FileSequence::Begun begun = stream_.files().begin({.file = body_.file(),
                                                           .number = LargeBody::kNumber,
                                                           .allocated = body_.allocated(),
                                                           .first = &first,
                                                           .after = &*ending});
  if (begun == FileSequence::Begun::yes)
    body_.release_file();  // Otherwise the failure has dropped it.
  if (begun == FileSequence::Begun::failed && state_.is_fenced()) body_.leave_uncut();
  return stream_.files().seal(*ending, begun == FileSequence::Begun::yes);
}

void LargeBodies::append(const JournaledJob& job) {
  const Record record = stream_.jobs().full_record(job);
  const bool good = begin_file_with(record, job.ref);
  stream_.records().count(record.id);
  if (!good) return;
  stream_.jobs().attach(job, stream_.progress().records());
  stream_.syncs().mark_written();
}

bool LargeBodies::append_again(const JournaledJob& job) {
  if (!begin_file_with(stream_.jobs().full_record_again(job), job.ref)) return false;
  stream_.records().count_again();
  stream_.jobs().attach(job, stream_.progress().records());
  return true;
}

void LargeBodies::advance() {
  const bool has_body =
      body_.state() != LargeBody::State::none && body_.state() != LargeBody::State::leaving;
  if (has_body && !body_.is_needed()) body_.drop();
  const std::uint64_t bytes = body_.advance();
  // Counts the bytes, so that compaction keeps pace.
  if (user_ == User::put) stream_.records().count_bytes(bytes);
}

// Compaction and recovery request their body in each turn while they need it, a put as soon as it
// is notified to try again.
void LargeBodies::end_turn(bool puts_wait) {
  const bool has_ended =
      body_.state() == LargeBody::State::whole || body_.state() == LargeBody::State::failed;
  const bool may_come = user_ == User::put && (puts_wait || !has_ended || !was_whole_);
  if (!was_claimed_ && !may_come) body_.drop();
  was_whole_ = has_ended;
  was_claimed_ = false;
}

void LargeBodies::drop_all() {
  body_.drop();
  while (body_.has_work()) (void)body_.advance();
}

}  // namespace haricot::binlog
