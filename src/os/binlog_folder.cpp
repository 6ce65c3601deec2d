#include "os/binlog_folder.hpp"

#include <algorithm>

#include "os/clock.hpp"
#include "os/process.hpp"

namespace haricot::os {
namespace {

constexpr Duration kProgressInterval = Duration::seconds(1);

std::string tenths_of_seconds(Duration duration) {
  const std::int64_t tenths = duration.count() / 100'000'000;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

}  // namespace

bool BinlogFolder::take(const std::string& path, std::string& error) {
  if (!disk_.open(path)) {
    error = "binlog: " + disk_.last_error();
    return false;
  }
  disk_.reserve_descriptors(DescriptorReserve::share_of(descriptor_limit()));
  switch (lock_.take(disk_.descriptor())) {
    case LockStatus::taken:
      return true;
    case LockStatus::held:
      error = "binlog: another server uses the folder " + path;
      if (lock_.holder() != 0) error += " (process " + std::to_string(lock_.holder()) + ")";
      return false;
    case LockStatus::cannot:
      error = "binlog: " + lock_.error() + " in " + path;
      return false;
  }
  return false;
}

BinlogFolder::Opened BinlogFolder::open(Engine& engine, std::string& error) {
  survive_file_size_limit();
  replay_began_ = read_clock();
  next_progress_ = replay_began_ + kProgressInterval;
  const bool good = binlog_.open(engine, read_wall_offset(), replay_began_, random_bits(),
                                 {&BinlogFolder::tell_progress, this}, error);
  if (stopped_) return Opened::stopped;
  const binlog::ReplayReport& report = binlog_.replayed();
  for (const std::string& warning : report.warnings) log_.line("binlog: " + warning);
  if (!good) {
    error = "binlog: " + error;
    return Opened::refused;
  }
  log_.line("binlog: " + std::to_string(engine.jobs().size()) + " jobs are back from " +
            std::to_string(report.files.size()) + " files, in " +
            tenths_of_seconds(read_clock() - replay_began_));
  after_turn();
  return Opened::ok;
}

// Only when it takes long enough for somebody to wonder.
bool BinlogFolder::tell_progress(void* self, const binlog::ReplayProgress& progress) {
  auto& folder = *static_cast<BinlogFolder*>(self);
  folder.stopped_ = is_asked_to_end();
  if (folder.stopped_) return false;
  const Instant now = read_clock();
  if (now < folder.next_progress_) return true;
  folder.next_progress_ = now + kProgressInterval;
  const double files = static_cast<double>(progress.files_read) + progress.share_of_file;
  const auto percent = static_cast<int>(100 * files / static_cast<double>(progress.files));
  const auto milliseconds =
      std::max<std::int64_t>((now - folder.replay_began_).count() / 1'000'000, 1);
  const std::uint64_t rate = progress.jobs * 1000 / static_cast<std::uint64_t>(milliseconds);
  folder.log_.line("binlog: " + std::to_string(percent) + " % read, " +
                   std::to_string(progress.jobs) + " jobs, " + std::to_string(rate) +
                   " jobs a second");
  folder.log_.flush();
  return true;
}

void BinlogFolder::after_turn() {
  binlog_.set_wall_offset(read_wall_offset());
  while (const auto notice = binlog_.next_notice()) log_.line(*notice);
}

bool BinlogFolder::close() {
  const bool good = binlog_.close(read_clock());
  after_turn();
  return good;
}

}  // namespace haricot::os
