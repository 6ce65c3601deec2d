#include "os/predecessor.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "haricot/base/memory.hpp"
#include "os/clock.hpp"

namespace haricot::os {
namespace {

// Sets `was_short` if memory was short, so that a later try may read the same state.
ServiceSerializer::Read read_state(PredecessorState& state, Daemon& daemon, Service& service,
                                   bool& was_short) {
  (void)Memory::take_shortage();
  try {
    const ServiceSerializer::Read read = state.read(daemon, service, read_clock());
    was_short = Memory::take_shortage();
    return read;
  } catch (const std::bad_alloc&) {
    was_short = true;
    return ServiceSerializer::Read::broken;
  }
}

}  // namespace

Predecessor::Predecessor(Notifier& notifier, Log& log, StateVersions versions)
    : notifier_(notifier), log_(log), versions_(versions), began_(read_clock()) {}

void Predecessor::take_stored(std::vector<NamedDescriptor> parts) {
  for (const NamedDescriptor& part : parts) stored_.push_back(part.name);
  parts_ = std::move(parts);
}

bool Predecessor::open(std::string folder, std::string& error) {
  folder_ = std::move(folder);
  if (parts_.empty()) return true;
  auto fault = PredecessorState::Fault::no_resources;
  try {
    state_ = PredecessorState::open(std::move(parts_), versions_, fault, error);
  } catch (const std::bad_alloc&) {
    error = kNoMemory;
  }
  if (state_) return true;
  // Without a binlog only the state has the jobs, and another program can read it.
  if (fault == PredecessorState::Fault::no_resources) return false;
  if (fault == PredecessorState::Fault::other_version && folder_.empty()) return false;
  log_.event(Level::warning, "hand-over-refused", {{"message", error}});
  error.clear();
  // Its sockets would keep this process from listening.
  remove_stored();
  (void)notifier_.wait_until_read();
  return true;
}

bool Predecessor::ask(const std::string& path, std::string& error) {
  std::vector<NamedDescriptor> parts;
  began_ = read_clock();
  if (!request_.ask(path, parts, notifier_, error)) return false;
  PredecessorState::Fault fault{};
  state_ = PredecessorState::open(std::move(parts), versions_, fault, error);
  return state_.has_value();
}

bool Predecessor::has_folder(const std::string& identity, std::string& error) const {
  if (!is_running() || state_->identity().folder == identity) return true;
  if (identity.empty()) {
    error = "the predecessor has a binlog, and this one has no -b";
  } else if (state_->identity().folder.empty()) {
    error = "the predecessor has no binlog, and this one has -b";
  } else {
    error = "the predecessor has another folder than that of -b";
  }
  return false;
}

bool Predecessor::move_jobs(const ServerInfo& info, std::string& error) {
  if (!state_ || is_running()) return true;
  const std::string before = state_->identity().folder;
  if (before.empty() || before == folder_) return true;
  bool is_good = false;
  try {
    is_good = state_->add_bodies(info, notifier_, error);
  } catch (const std::bad_alloc&) {
    error = kNoMemory;
  }
  if (!is_good) {
    error = "cannot move the jobs of the predecessor out of its folder: " + error;
    return false;
  }
  log_.event(Level::info, "jobs-moved",
             {{"hint", "the folder of the predecessor still has the jobs: start no server on it"}});
  return true;
}

bool Predecessor::read(Daemon& daemon, Service& service, std::string& error) {
  if (!state_) return true;
  daemon.begin_after_rest();
  bool was_short = false;
  switch (read_state(*state_, daemon, service, was_short)) {
    case ServiceSerializer::Read::good:
      return true;
    case ServiceSerializer::Read::other_jobs:
      return may_continue_without_jobs(service.engine().serializer(), error);
    case ServiceSerializer::Read::broken:
      break;
  }
  error = was_short ? kNoMemory : "the state of the predecessor cannot be used";
  if (!is_running() && !was_short) {
    log_.event(Level::warning, "hand-over-refused",
               {{"message", error + ": the next start begins without it"}});
    remove_stored();
  }
  return false;
}

// Jobs that are in no folder are not dropped. If both servers have the same folder, its jobs count.
bool Predecessor::may_continue_without_jobs(const EngineSerializer& serializer,
                                            std::string& error) {
  const std::string& before = state_->identity().folder;
  if (is_running()) {
    error = "the binlog has other jobs than the predecessor";
    return false;
  }
  if (serializer.jobs() == 0) return true;
  if (before != folder_) {
    error = "the folder of -b has other jobs, and cannot take the " +
            std::to_string(serializer.jobs()) + " jobs of the predecessor: name an empty folder";
    return false;
  }
  log_.event(Level::warning, "hand-over-refused",
             {{"message", "the binlog has other jobs than the predecessor: all are ready"},
              {"jobs", serializer.jobs()},
              {"holds", serializer.holds_dropped()}});
  return true;
}

Instant Predecessor::rested_at() const {
  return state_ ? std::min(began_, state_->identity().rested_at) : began_;
}

bool Predecessor::confirm(std::string& error) {
  return !is_running() || request_.confirm(error);
}

void Predecessor::finish(Daemon& daemon, const Service& service) {
  if (!state_) return;
  log_.event(Level::info, "taken-over",
             {{"connections", state_->connections()},
              {"jobs", service.engine().jobs().size()},
              {"milliseconds", (read_clock() - began_).whole_milliseconds()}});
  // Flush now, because the next turn may be far away. The manager's copy is dropped last.
  log_.flush();
  for (Listener& listener : state_->listeners()) {
    daemon.accept_rest(listener);
    listener.own_file();
  }
  if (state_->take_over_socket()) state_->take_over_socket()->own_file();
  remove_stored();
  state_.reset();
}

void Predecessor::remove_stored() {
  for (const std::string& name : stored_) notifier_.remove_stored(name);
  stored_.clear();
}

}  // namespace haricot::os
