#include "os/binlog_folder.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>

#include "haricot/base/check.hpp"
#include "haricot/binlog/format/record.hpp"
#include "os/clock.hpp"
#include "os/process.hpp"

namespace haricot::os {
namespace {

// A damaged folder must not fill the log; `haricot binlog check` shows the rest.
constexpr std::uint64_t kDamageLinesMax = 100;

std::int64_t milliseconds_of(Duration duration) {
  return duration.count() / 1'000'000;
}

}  // namespace

BinlogFolder::BinlogFolder(const binlog::BinlogOptions& options, Duration fence_after, Log& log,
                           Notifier& notifier)
    : log_(log), notifier_(notifier), binlog_(disk_, options) {
  if (fence_after > Duration{}) fence_.emplace(fence_after);
}

BinlogFolder::~BinlogFolder() {
  if (is_locked_ && !has_begun_) lock_.remove_if_made(disk_.descriptor());
}

bool BinlogFolder::open_folder(const std::string& path, std::string& error) {
  path_ = path;
  if (!disk_.open(path)) {
    error = disk_.last_error();
    return false;
  }
  disk_.files().set_spare_descriptors(SpareDescriptors::share_of(descriptor_limit()));
  return true;
}

bool BinlogFolder::take_lock(std::string& error) {
  if (lock_.take(disk_.descriptor()) != LockStatus::taken) {
    error = lock_.why_not(path_);
    return false;
  }
  disk_.place().set_lock(lock_);
  is_locked_ = true;
  return true;
}

std::string BinlogFolder::identity() const {
  struct stat status {};
  if (::fstat(folder_descriptor(), &status) != 0) return path_;
  return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

BinlogFolder::Opened BinlogFolder::open(Engine& engine, std::string& error) {
  if (fence_) {
    const Opened fenced = open_fence(error);
    if (fenced != Opened::ok) return fenced;
  }
  replay_began_ = read_clock();
  progress_ = RateLimit(kProgressInterval, replay_began_ + kProgressInterval);
  binlog_.set_note(is_locked_ ? lock_.note() : disk_.snapshot().note());
  const bool good = binlog_.read(engine, read_wall_offset(), replay_began_,
                                 {&BinlogFolder::log_progress, this}, error);
  if (stopped_) return Opened::stopped;
  const binlog::ReplayReport& report = binlog_.replayed();
  log_damage(report);
  if (!good) {
    error = with_remedy(error, report.problems, path_);
    return is_fenced() ? Opened::fenced : Opened::refused;
  }
  log_.event(Level::info, "binlog-read",
             {{"jobs", engine.jobs().size()},
              {"files", report.files.size()},
              {"milliseconds", milliseconds_of(read_clock() - replay_began_)}});
  return Opened::ok;
}

bool BinlogFolder::can_begin(std::string& error) {
  if (!lock_.can_open(disk_.descriptor())) {
    error = lock_.why_not(path_);
    return false;
  }
  return binlog_.can_begin(error);
}

BinlogFolder::Opened BinlogFolder::begin(std::string& error) {
  const bool has_to = !is_locked_;
  if (!is_locked_ && !take_lock(error)) return Opened::refused;
  if (!binlog_.begin(random_bits(), error, has_to)) {
    return is_fenced() ? Opened::fenced : Opened::refused;
  }
  has_begun_ = true;
  after_turn();
  return Opened::ok;
}

BinlogFolder::Opened BinlogFolder::open_fence(std::string& error) {
  const auto begun = fence_->begin(disk_.descriptor(), lock_.descriptor(), random_bits(),
                                   {&BinlogFolder::keep_alive_while_settling, this}, error);
  switch (begun) {
    case FolderFence::Begun::yes:
      break;
    case FolderFence::Begun::failed:
      return Opened::refused;
    case FolderFence::Begun::fenced:
      return Opened::fenced;
    case FolderFence::Begun::stopped:
      return Opened::stopped;
  }
  binlog_.set_epoch(fence_->epoch());
  disk_.set_fence(*fence_);
  log_.event(Level::info, "epoch", {{"epoch", fence_->epoch()}});
  return Opened::ok;
}

bool BinlogFolder::keep_alive_while_settling(void* self) {
  auto& folder = *static_cast<BinlogFolder*>(self);
  const Instant now = read_clock();
  folder.notifier_.keep_alive(now);
  (void)folder.log_wait(now);
  return !is_asked_to_end();
}

// Blocks the turn: nothing may run before the check has ended.
bool BinlogFolder::pass_fence() {
  constexpr std::chrono::milliseconds kPatience{100};
  if (!fence_) return true;
  const Instant began = read_clock();
  bool is_logged = false;
  while (!fence_->is_fenced() && !fence_->is_fresh()) {
    (void)disk_.syncer().check_fence(kPatience);
    fence_->fence_if_stuck();
    notifier_.keep_alive(read_clock());
    is_logged = log_wait(began) || is_logged;
  }
  fence_->fence_if_stuck();
  if (fence_->is_fenced()) return false;
  if (is_logged) {
    const Duration waited = read_clock() - began;
    log_.event(Level::info, "volume-answers", {{"milliseconds", milliseconds_of(waited)}});
  }
  return true;
}

// Logs a wait at the first check that fails, or that takes longer than a healthy volume needs, and
// then at intervals. Returns true if it has logged it.
bool BinlogFolder::log_wait(Instant began) {
  const Instant now = read_clock();
  const std::string failure = fence_->failure();
  if (fence_->is_fenced() || (failure.empty() && now - began < kLateCheck)) return false;
  if (!late_check_.take(now)) return false;
  log_.event(
      Level::warning, "volume-waits",
      {{"error", failure.empty() ? "no answer from the volume" : failure},
       {"milliseconds", milliseconds_of(now - began)},
       {"fence_timeout_s", fence_->patience().count() / 1'000'000'000},
       {"hint", "clients wait until the volume answers; check its network, quorum and mount"}});
  log_.flush();
  return true;
}

// Checks are frequent enough to detect a hanging volume, or another server, in time. If answers
// wait for a check, it comes soon.
Instant BinlogFolder::next_fence_check(Instant now) const {
  constexpr std::int64_t kChecksInPatience = 4;
  if (!fence_) return Instant::never();
  if (disk_.syncer().is_under_way()) return now + FolderFence::kCheckIsGoodFor;
  const std::int64_t pause = fence_->patience().count() / kChecksInPatience;
  return now + Duration::nanoseconds(pause);
}

void BinlogFolder::log_fenced() {
  const bool is_known = fence_->cause() == FolderFence::Cause::another_server;
  log_.event(Level::error, "fenced",
             {{"error", fence_->why()},
              {"hint", is_known ? "another server has the jobs; do not restart this one by itself"
                                : "no server may be serving these jobs: check the volume, and make "
                                  "sure that no other server runs, before restarting"}});
  log_.flush();
}

void BinlogFolder::log_damage(const binlog::ReplayReport& report) {
  using Kind = binlog::Problem::Kind;
  std::uint64_t problems = 0;
  for (const binlog::Problem& problem : report.problems) {
    if (++problems > kDamageLinesMax) continue;
    const std::string& file = problem.file;
    switch (problem.kind) {
      case Kind::damaged:
        log_.event(Level::warning, "binlog-damaged",
                   {{"file", file},
                    {"offset", problem.offset},
                    {"bytes", problem.bytes},
                    {"records", problem.records}});
        break;
      case Kind::job_lost:
        log_.event(Level::warning, "binlog-job-lost", {{"file", file}, {"job", problem.id}});
        break;
      case Kind::unproven:
        log_.event(Level::warning, "binlog-unproven", {{"file", file}, {"records", problem.jobs}});
        break;
      case Kind::torn:
        log_.event(Level::info, "binlog-torn",
                   {{"file", file}, {"offset", problem.offset}, {"bytes", problem.bytes}});
        break;
      case Kind::in_doubt:
        log_.event(Level::warning, "binlog-in-doubt",
                   {{"file", file},
                    {"jobs", problem.jobs},
                    {"hint", "deleted jobs may have come back; run haricot binlog check"}});
        break;
      case Kind::late:
        log_.event(Level::warning, "binlog-file-late",
                   {{"file", file}, {"message", to_sentence(problem)}});
        break;
      case Kind::unfit:
        log_.event(Level::error, "binlog-file-unfit",
                   {{"file", file}, {"message", to_sentence(problem)}});
        break;
    }
  }
  if (problems > kDamageLinesMax) {
    log_.event(Level::warning, "binlog-more-damage", {{"lines", problems - kDamageLinesMax}});
  }
}

void BinlogFolder::log_notice(const binlog::Notice& notice) {
  using Kind = binlog::Notice::Kind;
  switch (notice.kind) {
    case Kind::no_space:
      log_.event(Level::warning, "binlog-no-space",
                 {{"hint", "puts are refused; free space on the disk of -b"}});
      break;
    case Kind::space_again:
      log_.event(Level::info, "binlog-space-again");
      break;
    case Kind::refusing:
      log_.event(Level::error, "binlog-refusing",
                 {{"doing", notice.doing},
                  {"error", notice.error},
                  {"hint", "changes are refused and retried; check the disk of -b"}});
      break;
    case Kind::gone:
      log_.event(Level::error, "binlog-gone",
                 {{"error", notice.error},
                  {"hint", "jobs exist in memory only; do not stop the server, see the runbook"}});
      break;
    case Kind::not_back:
      log_.event(Level::error, "binlog-not-back",
                 {{"error", notice.error},
                  {"hint", "changes are refused and retried; do not stop the server"}});
      break;
    case Kind::recovered:
      log_.event(Level::info, "binlog-recovered", {{"file", notice.file}});
      break;
    case Kind::file_failed:
      log_.event(Level::warning, "binlog-file-failed",
                 {{"doing", notice.doing}, {"error", notice.error}});
      break;
    case Kind::copy_kept:
      log_.event(Level::warning, "binlog-copy-kept",
                 {{"file", notice.file}, {"copy", notice.copy}});
      break;
    case Kind::copy_failed:
      log_.event(Level::warning, "binlog-copy-failed",
                 {{"file", notice.file}, {"error", notice.error}});
      break;
    case Kind::left_aside:
      if (notice.error.empty()) {
        log_.event(Level::warning, "binlog-left-aside",
                   {{"file", notice.file}, {"now", notice.copy}});
      } else {
        log_.event(Level::warning, "binlog-file-failed",
                   {{"doing", "leave aside"}, {"error", notice.error}});
      }
      break;
    case Kind::not_written:
      log_.event(Level::error, "binlog-not-written");
      break;
  }
}

// Reports progress at intervals, so a fast restore reports nothing.
bool BinlogFolder::log_progress(void* self, const binlog::ReplayProgress& progress) {
  auto& folder = *static_cast<BinlogFolder*>(self);
  folder.stopped_ = is_asked_to_end();
  if (folder.stopped_) return false;
  const Instant now = read_clock();
  folder.notifier_.keep_alive(now);
  if (!folder.progress_.take(now)) return true;
  CHECK(progress.files > 0);
  const double files = static_cast<double>(progress.files_read) + progress.share_of_file;
  const auto percent = static_cast<int>(100 * files / static_cast<double>(progress.files));
  const auto milliseconds = std::max<std::int64_t>(milliseconds_of(now - folder.replay_began_), 1);
  const std::uint64_t rate = progress.jobs * 1000 / static_cast<std::uint64_t>(milliseconds);
  folder.log_.event(Level::info, "binlog-progress",
                    {{"percent", percent}, {"jobs", progress.jobs}, {"jobs_per_second", rate}});
  folder.log_.flush();
  folder.notifier_.takes_time("binlog: " + std::to_string(percent) + " % read, " +
                              std::to_string(progress.jobs) + " jobs, " + std::to_string(rate) +
                              " jobs a second");
  return true;
}

void BinlogFolder::after_turn() {
  binlog_.set_wall_offset(read_wall_offset());
  // Without a sync, because no turn waits for the disk. A note that is lost with the power loses
  // protection, not jobs.
  if (disk_.place().has_taken_lock_anew()) disk_.write_note(binlog_.note());
  while (const auto notice = binlog_.next_notice()) log_notice(*notice);
}

// Called while a stop waits for syncs. On a slow disk they may take longer than a service manager
// waits before it kills the server.
void BinlogFolder::on_waiting(void* self) {
  auto& folder = *static_cast<BinlogFolder*>(self);
  const Instant now = read_clock();
  folder.notifier_.keep_alive(now);
  if (folder.progress_.take(now)) folder.notifier_.takes_time("stopping: waiting for the disk");
  if (!folder.fence_ || folder.end_ == nullptr) return;
  folder.fence_->fence_if_stuck();
  if (folder.is_fenced()) folder.end_(folder.end_context_);
}

bool BinlogFolder::settle(Duration patience) {
  const Instant end = read_clock() + patience;
  while (disk_.syncer().is_under_way()) {
    if (!notifier_.wait_for(sync_descriptor(), end - read_clock())) return false;
    binlog_.wait_for_disk();
  }
  return !binlog_.numbers().refusing;
}

bool BinlogFolder::close() {
  const Instant now = read_clock();
  progress_ = RateLimit(kProgressInterval, now + kProgressInterval);
  disk_.set_watcher({&BinlogFolder::on_waiting, this});
  const bool good = binlog_.close(now);
  after_turn();
  return good;
}

}  // namespace haricot::os
