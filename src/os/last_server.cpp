#include "os/last_server.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "os/clock.hpp"

namespace haricot::os {
namespace {

ServiceTransfer::Read read_state(TakeOver& state, Daemon& daemon, Service& service) {
  try {
    return state.read(daemon, service, read_clock());
  } catch (const std::bad_alloc&) {
    return ServiceTransfer::Read::broken;
  }
}

}  // namespace

LastServer::LastServer(Notifier& notifier, Log& log, StateVersions versions)
    : notifier_(notifier), log_(log), versions_(versions), began_(read_clock()) {}

void LastServer::open(std::vector<NamedDescriptor> parts) {
  if (parts.empty()) return;
  for (const NamedDescriptor& part : parts) stored_.push_back(part.name);
  std::string error;
  state_ = TakeOver::open(std::move(parts), versions_, error);
  if (state_) return;
  log_.event(Level::warning, "hand-over-refused", {{"message", error}});
  // The sockets in it would keep this process from listening.
  forget_stored();
  (void)notifier_.wait_until_read();
}

bool LastServer::ask(const std::string& path, std::string& error) {
  std::vector<NamedDescriptor> parts;
  began_ = read_clock();
  if (!request_.ask(path, parts, notifier_, error)) return false;
  state_ = TakeOver::open(std::move(parts), versions_, error);
  return state_.has_value();
}

bool LastServer::has_folder(const std::string& identity, std::string& error) const {
  if (!is_running() || state_->identity().folder == identity) return true;
  if (identity.empty()) {
    error = "the server before has a binlog, and this one has no -b";
  } else if (state_->identity().folder.empty()) {
    error = "the server before has no binlog, and this one has -b";
  } else {
    error = "the server before has another folder than that of -b";
  }
  return false;
}

bool LastServer::read(Daemon& daemon, Service& service, std::string& error) {
  if (!state_) return true;
  constexpr const char* kOtherJobs = "the binlog has other jobs than the server before";
  daemon.begin_after_rest();
  switch (read_state(*state_, daemon, service)) {
    case ServiceTransfer::Read::good:
      return true;
    case ServiceTransfer::Read::other_jobs:
      error = kOtherJobs;
      if (is_running()) return false;
      log_.event(Level::warning, "hand-over-refused",
                 {{"message", std::string(kOtherJobs) + ": all are ready"}});
      return true;
    case ServiceTransfer::Read::broken:
      break;
  }
  error = "the state of the server before cannot be used";
  if (!is_running()) {
    log_.event(Level::warning, "hand-over-refused",
               {{"message", error + ": the next start begins without it"}});
    forget_stored();
  }
  return false;
}

Instant LastServer::rested_at() const {
  return state_ ? std::min(began_, state_->identity().rested_at) : began_;
}

bool LastServer::agree(std::string& error) {
  return !is_running() || request_.agree(error);
}

void LastServer::forget(Daemon& daemon, const Service& service) {
  if (!state_) return;
  log_.event(Level::info, "taken-over",
             {{"connections", state_->connections()},
              {"jobs", service.engine().jobs().size()},
              {"milliseconds", (read_clock() - began_).whole_milliseconds()}});
  // The next turn may be long in coming. And what the manager keeps goes last.
  log_.flush();
  for (Listener& listener : state_->listeners()) {
    daemon.accept_rest(listener);
    listener.own_file();
  }
  if (state_->take_over_socket()) state_->take_over_socket()->own_file();
  forget_stored();
  state_.reset();
}

void LastServer::forget_stored() {
  for (const std::string& name : stored_) notifier_.forget_stored(name);
  stored_.clear();
}

}  // namespace haricot::os
