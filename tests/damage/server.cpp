#include "server.hpp"

#include <algorithm>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/binlog/read/replay.hpp"
#include "haricot/binlog/segments.hpp"
#include "support/blob_of.hpp"
#include "tool/binlog/folder_jobs.hpp"
#include "tool/binlog/repair/rescue.hpp"

namespace haricot::damage {
namespace {

const Instant kStart = Instant::at(1'000'000'000);

Duration offset_for(std::int64_t wall) {
  return Duration::nanoseconds(wall - kStart.count());
}

void take_report(const binlog::ReplayReport& report, Reading& reading) {
  reading.problems = report.problems;
  reading.is_sound = report.is_sound();
  reading.next_id = report.next_id;
}

}  // namespace

bool Reading::tells(binlog::Problem::Kind kind) const {
  return std::any_of(problems.begin(), problems.end(),
                     [kind](const binlog::Problem& problem) { return problem.kind == kind; });
}

bool Reading::says(std::string_view part) const {
  return std::any_of(problems.begin(), problems.end(), [part](const binlog::Problem& problem) {
    return binlog::to_sentence(problem).find(part) != std::string::npos;
  });
}

std::string Reading::text() const {
  std::string text = is_good ? "" : "error: " + error + "\n";
  for (const binlog::Problem& problem : problems) {
    text += binlog::to_sentence(problem) + "\n";
  }
  return text + std::to_string(jobs.size()) + " jobs, next id " + std::to_string(next_id) + "\n";
}

Jobs jobs_of(const Engine& engine, Duration wall_offset) {
  Jobs jobs;
  const auto take = [&](JobRef ref) {
    const JobId id = engine.jobs()[ref].id;
    ModelJob job{binlog::known_from(engine, ref, wall_offset),
                 std::string(engine.jobs().body(ref))};
    // Tags have records of their own, which may be damaged alone (binlog_tags_test).
    job.known.tags.clear();
    CHECK(jobs.try_emplace(id, std::move(job)).second);
  };
  for (std::uint32_t i = 0; i < engine.tubes().size(); ++i) {
    const Tube& tube = engine.tubes().at(i);
    for (std::uint32_t at = 0; at < tube.ready.size(); ++at) take(tube.ready.at(at).job);
    for (std::uint32_t at = 0; at < tube.delayed.size(); ++at) take(tube.delayed.at(at).job);
    for (JobRef ref = tube.first_buried; ref != JobRef::none;) {
      take(ref);
      ref = static_cast<JobRef>(engine.jobs()[ref].links.second);
    }
  }
  CHECK(jobs.size() == engine.jobs().size());
  return jobs;
}

Reading check(SimDisk& disk, std::int64_t wall) {
  binlog::Binlog journal(disk, {});
  Engine engine(kStart, journal);
  binlog::Segments segments(engine.jobs());
  binlog::Replay replay(disk, engine, segments);
  replay.set_note(disk.folder_note());
  Reading reading;
  reading.is_good = replay.run(offset_for(wall), kStart);
  reading.error = replay.error();
  take_report(replay.report(), reading);
  if (reading.is_good) {
    engine.check_invariants();
    reading.jobs = jobs_of(engine, offset_for(wall));
  }
  return reading;
}

Reading rescue(SimDisk& disk, std::int64_t wall, SimDisk* repaired) {
  binlog::Binlog journal(disk, {});
  Engine engine(kStart, journal);
  binlog::Segments segments(engine.jobs());
  tool::Rescue rescue(disk, engine, segments);
  Reading reading;
  reading.is_good =
      rescue.run(disk.folder_note(), offset_for(wall), kStart, nullptr, reading.error);
  take_report(rescue.report(), reading);
  if (!reading.is_good) return reading;
  engine.check_invariants();
  reading.jobs = jobs_of(engine, offset_for(wall));
  if (repaired == nullptr) return reading;
  binlog::Binlog copy(*repaired, kSmallFiles);
  Engine copies(kStart, copy);
  copies.restoring().end(rescue.report().next_id);
  std::string error;
  CHECK(copy.open(copies, offset_for(wall), kStart, kStoreId, {}, error));
  for (const auto& [id, job] : reading.jobs) {
    CHECK(tool::copy_job(engine, engine.peek(id), copies, copy));
  }
  for (const JobRef tombstone_ref : engine.jobs().tombstones_by_id()) {
    CHECK(tool::copy_tombstone(engine, tombstone_ref, copies, copy));
  }
  CHECK(copy.remember_last_id() && copy.close(kStart));
  return reading;
}

Server::Server(SimDisk& disk, std::int64_t wall, const binlog::BinlogOptions& options,
               std::uint64_t store_id)
    : disk_(disk),
      now_(kStart),
      wall_offset_(offset_for(wall)),
      binlog_(disk, options),
      engine_(kStart, binlog_) {
  binlog_.set_note(disk.folder_note());
  std::vector<std::string> names;
  CHECK(disk.list(names) == binlog::DiskStatus::ok);
  const std::uint64_t random = store_id + 0x10001 * (disk.folder_note().run + names.size());
  reading_.is_good = binlog_.open(engine_, wall_offset_, now_, random, {}, reading_.error);
  take_report(binlog_.replayed(), reading_);
  if (reading_.is_good) {
    engine_.check_invariants();
    binlog_.check_invariants();
    reading_.jobs = jobs();
    reading_.next_id = engine_.next_id();
  }
  CHECK(engine_.open(client_));
}

JobId Server::put(std::size_t body_bytes, std::uint32_t priority, std::uint32_t delay_s,
                  std::string_view tags) {
  const JobId id = engine_.take_id();
  const std::string bytes = binlog::body_for(id, body_bytes);
  NewBody body{.bytes = bytes, .blob = {}};
  if (bytes.size() > JobStore::kInlineBodyBytesMax) {
    body = NewBody{.bytes = {}, .blob = test::blob_of(bytes)};
  }
  const NewJob job{.id = id, .priority = priority, .delay_s = delay_s, .ttr_s = 60, .tags = tags};
  CHECK(engine_.put(client_, job, std::move(body), now_) == Outcome::done);
  return id;
}

void Server::use(const std::string& tube) {
  CHECK(engine_.use(client_, tube) == Outcome::done);
}

void Server::delete_job(JobId id) {
  CHECK(engine_.delete_job(client_, id) == Outcome::done);
}

void Server::release(JobId id, std::uint32_t priority, std::uint32_t delay_s) {
  CHECK(engine_.reserve_job(client_, id, now_).outcome == Outcome::done);
  CHECK(engine_.release(client_, id, priority, delay_s, now_) == Outcome::done);
}

void Server::bury(JobId id, std::uint32_t priority) {
  CHECK(engine_.reserve_job(client_, id, now_).outcome == Outcome::done);
  CHECK(engine_.bury(client_, id, priority) == Outcome::done);
}

void Server::kick(JobId id) {
  CHECK(engine_.kick_job(id, now_) == Outcome::done);
}

void Server::end_turn() {
  binlog_.end_turn(now_);
  while (binlog_.next_notice()) {
  }
}

void Server::idle() {
  constexpr int kTurnsMax = 2000;
  const Instant end = now_ + Duration::seconds(10);
  int turns = 0;
  bool sync_ended = true;  // The end of a sync causes another turn.
  while ((sync_ended || binlog_.next_event() <= end) && ++turns < kTurnsMax) {
    if (!sync_ended) now_ = std::max(now_, binlog_.next_event());
    const std::uint64_t before = disk_.calls(binlog::DiskCall::start_sync);
    end_turn();
    sync_ended = disk_.calls(binlog::DiskCall::start_sync) > before;
  }
  CHECK(turns < kTurnsMax);
  engine_.check_invariants();
  binlog_.check_invariants();
}

void Server::close() {
  CHECK(binlog_.close(now_));
}

}  // namespace haricot::damage
