#include "os/server_settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "haricot/base/time.hpp"
#include "os/connection.hpp"
#include "os/disk.hpp"
#include "os/process.hpp"

namespace haricot::os {

LogStyle log_style(const Options& options) {
  return {.format = options.log_format,
          .level = options.verbosity > 0 ? Level::debug : Level::info,
          .for_journal = is_journal(STDERR_FILENO)};
}

binlog::BinlogOptions binlog_options(const Options& options) {
  constexpr std::uint64_t kLongest = 1'000'000'000;  // Milliseconds: more than a week.
  binlog::BinlogOptions result;
  result.file_bytes = options.binlog_bytes_max;
  result.open_files_max = SpareDescriptors::share_of(descriptor_limit());
  result.sync_interval =
      Duration::milliseconds(static_cast<std::int64_t>(std::min(options.binlog_sync_ms, kLongest)));
  result.sync = binlog::SyncPolicy::interval;
  if (options.binlog_sync_ms == 0) result.sync = binlog::SyncPolicy::every_turn;
  if (!options.binlog_sync) result.sync = binlog::SyncPolicy::never;
  result.strict = options.binlog_strict;
  return result;
}

ServerInfo server_info(const Options& options, std::string_view version) {
  ServerInfo info;
  info.job_bytes_max = options.job_bytes_max;
  info.binlog_bytes_max = options.binlog_bytes_max;
  info.compat = options.compat;
  info.limits = options.limits;
  info.commands = options.commands;
  info.haricot_version = version;
  describe_process(info);
  info.address_of = &Connection::address_of;
  return info;
}

}  // namespace haricot::os
