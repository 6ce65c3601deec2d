// Large bodies: written ahead of their records, some in each turn. Puts, compaction and recovery
// take turns at the one LargeBody.

#include <algorithm>
#include <new>

#include "haricot/base/check.hpp"
#include "haricot/binlog/binlog.hpp"
#include "haricot/binlog/job_record.hpp"

namespace haricot::binlog {
namespace {

// When commands have recorded so much in a turn, puts with a body of their own wait for the next.
constexpr std::uint64_t kBytesPerTurn = 4 * 1024 * 1024;

}  // namespace

// Null if the job has none.
BlobRef Binlog::large_body_of(const JournaledJob& job) const {
  if (job.job.body_bytes < options_.large_body_bytes) return {};
  return engine_->jobs().body_blob(job.ref);
}

bool Binlog::has_written_much() const {
  return appended_this_turn_ >= kBytesPerTurn;
}

// Whether a put that was told so has to wait on. It ends in a turn for which next_event() asks: it
// ends with a turn, or with a body on which something is done in each turn.
bool Binlog::is_busy() const {
  if (refusing_) return false;  // So is the put.
  if (has_written_much() || large_.state() == LargeBody::State::writing) return true;
  if (large_.state() == LargeBody::State::leaving) return true;
  return large_.state() == LargeBody::State::none && has_to_leave_it_to_others(LargeUser::put);
}

JournalStatus Binlog::tell_busy() {
  told_busy_ = true;
  return JournalStatus::later;
}

// Neither puts nor compaction have it twice if the other one wants it.
bool Binlog::has_to_leave_it_to_others(LargeUser user) const {
  if (user != large_user_) return false;
  return user == LargeUser::put ? compaction_wants_large_
                                : user == LargeUser::compaction && put_wants_large_;
}

JournalStatus Binlog::room_for_large_put(const BlobRef& body, std::size_t name_bytes,
                                         std::uint64_t keep) {
  const bool is_known = large_.is_for(body, name_bytes);
  if (!is_known) {
    take_sync_ends();
    if (refusing_) return refusal();
    if (is_too_far_ahead()) return tell_later();
  }
  const JournalStatus status = write_ahead(LargeUser::put, body, name_bytes, keep);
  if (status != JournalStatus::later) return status;
  const bool is_ours = large_.is_for(body, name_bytes);
  if (!is_ours && large_.state() != LargeBody::State::none) {
    put_wants_large_ = true;
    return tell_busy();
  }
  // Where nobody is in the way, it lacks something that the disk has to bring.
  return is_busy() ? tell_busy() : tell_later();
}

// ok: the body is written, and beside it there is room for so many bytes. later: it is being
// written, or has to wait for its turn or for the disk; to be asked for again in each turn.
// full, failed: it could not be written, and the next call begins anew.
JournalStatus Binlog::write_ahead(LargeUser user, const BlobRef& body, std::size_t name_bytes,
                                  std::uint64_t keep) {
  if (!large_.is_for(body, name_bytes)) {
    if (large_.state() == LargeBody::State::none && !has_to_leave_it_to_others(user)) {
      return begin_to_write_ahead(user, body, name_bytes, keep);
    }
    if (user == LargeUser::compaction) compaction_wants_large_ = true;
    return JournalStatus::later;
  }
  large_was_claimed_ = true;
  if (large_.state() == LargeBody::State::failed) return large_failed();
  if (large_.state() != LargeBody::State::whole || disk_has_to_catch_up()) {
    return JournalStatus::later;
  }
  if (!writer_.is_open()) return JournalStatus::failed;  // A sync has failed.
  const JournalStatus room = room_beside_large(keep);
  if (room != JournalStatus::ok && room != JournalStatus::later) large_.drop();
  return room;
}

JournalStatus Binlog::begin_to_write_ahead(LargeUser user, const BlobRef& body,
                                           std::size_t name_bytes, std::uint64_t keep) {
  if (disk_has_to_catch_up()) return JournalStatus::later;
  if (!writer_.is_open()) return JournalStatus::failed;  // A sync has failed.
  const std::uint64_t record_bytes = full_record_bytes(name_bytes, body.size());
  DiskSpace space;
  if (disk_.space(space) && space.free_bytes < record_bytes) return JournalStatus::full;
  const JournalStatus room = room_beside_large(keep);
  if (room != JournalStatus::ok) return room;
  const DiskStatus status = large_.begin(body, name_bytes, file_bytes_);
  large_user_ = user;
  if (status == DiskStatus::full) return JournalStatus::full;
  if (status == DiskStatus::failed) return large_failed();
  large_was_claimed_ = true;
  large_was_whole_ = false;
  return JournalStatus::later;
}

// What else has to have room, besides the file of the body.
JournalStatus Binlog::room_beside_large(std::uint64_t keep) {
  while (spares_.room() < keep) {
    if (!add_spare(0, keep - spares_.room())) return why_no_spare();
  }
  return JournalStatus::ok;
}

// Nothing is in doubt: no record was made. So this is no failure of the binlog, and only who wants
// the body written is refused.
JournalStatus Binlog::large_failed() {
  const bool is_full =
      large_.state() == LargeBody::State::failed && large_.status() == DiskStatus::full;
  large_.drop();
  if (is_full) return JournalStatus::full;
  ++errors_;
  look_again_at_files_ = now_;
  try {
    notice({.kind = Notice::Kind::file_failed, .doing = "write", .error = large_.why()},
           failure_notice_at_);
  } catch (const std::bad_alloc&) {
    // Who wanted it is told.
  }
  return JournalStatus::failed;
}

// The record of a job whose body is whole: the file begins with it. If that fails, the job is in
// doubt and is written anew, as any other.
void Binlog::append_large(const JournaledJob& job, std::int64_t stamp) {
  CHECK(large_.state() == LargeBody::State::whole);
  Record record = change_of(job, engine_->jobs(), wall_offset_, stamp);
  record.tube_name = job.tube_name;
  const bool good = rotate(&record);
  unsafe_.push_back(record.id);
  ++records_;
  ++records_written_;
  if (!good) return;
  segments_->attach(job.ref, full_record_bytes(job));
  segments_->note_id(record.id, records_);
  note_written();
}

void Binlog::go_on_with_large() {
  const bool has_body =
      large_.state() != LargeBody::State::none && large_.state() != LargeBody::State::leaving;
  if (has_body && !large_.is_needed()) large_.drop();
  const std::uint64_t bytes = large_.go_on();
  // So compaction keeps pace with what comes in.
  if (large_user_ == LargeUser::put) appended_this_turn_ += bytes;
}

// At the end of a turn. Compaction and recovery ask for their body in each turn as long as they
// need it, a put as soon as it is told to try again.
void Binlog::drop_unclaimed_large() {
  const bool has_ended =
      large_.state() == LargeBody::State::whole || large_.state() == LargeBody::State::failed;
  const bool may_come =
      large_user_ == LargeUser::put && (told_later_ || !has_ended || !large_was_whole_);
  if (!large_was_claimed_ && !may_come) large_.drop();
  large_was_whole_ = has_ended;
  large_was_claimed_ = false;
}

}  // namespace haricot::binlog
