// Adds the bodies of jobs, which are in the folder of a binlog, to a state.

#include <string_view>
#include <utility>

#include "haricot/binlog/binlog.hpp"
#include "os/clock.hpp"
#include "os/disk.hpp"
#include "os/folder_lock.hpp"
#include "os/hand_over.hpp"

namespace haricot::os {
namespace {

constexpr const char* kReading = "reading the jobs of the folder before";

bool report_progress(void* notifier, const binlog::ReplayProgress& /*progress*/) {
  static_cast<Notifier*>(notifier)->takes_time(kReading);
  return true;
}

}  // namespace

// An engine that never runs takes over the state with the folder's jobs, and writes it with bodies.
bool TakeOver::bring_bodies(const ServerInfo& info, Notifier& notifier, std::string& error) {
  FolderDisk disk;
  FolderLock lock;
  if (!disk.open(std::move(folder_))) {
    error = disk.last_error();
    return false;
  }
  if (lock.take(disk.descriptor()) != LockStatus::taken) {
    error = lock.why_not("of the previous server");
    return false;
  }
  const Instant now = read_clock();
  binlog::Binlog binlog(disk, {});
  binlog.set_note(lock.note());
  Service service(info, binlog, identity_.rested_at,
                  HashKey{identity_.hash_key[0], identity_.hash_key[1]});
  if (!binlog.read(service.engine(), read_wall_offset(), now, {report_progress, &notifier},
                   error)) {
    return false;
  }
  ServiceTransfer transfer = service.transfer();
  bool is_good = transfer.read_queue(reader_) == ServiceTransfer::Read::good;
  for (std::uint32_t i = 0; is_good && i < transfer.sessions(); ++i) {
    Session* session = nullptr;
    is_good = transfer.read_session(reader_, this, false, now, session);
  }
  if (!is_good || !transfer.finish(reader_, now, false) || !transfer.is_at_rest()) {
    error = "the folder of the previous server has other jobs than its state";
    return false;
  }
  auto bytes = std::make_unique<std::string>();
  const auto take = [](void* to, std::string_view piece) {
    static_cast<std::string*>(to)->append(piece);
    return true;
  };
  StateWriter writer({take, bytes.get()});
  transfer.write(writer, Bodies::in_state);
  if (!writer.end()) return false;
  reader_ = StateReader(*bytes);
  state_with_bodies_ = std::move(bytes);
  identity_.folder.clear();
  return true;
}

}  // namespace haricot::os
