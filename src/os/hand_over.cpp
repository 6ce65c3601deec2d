#include "os/hand_over.hpp"

#include <unistd.h>

#include <cstdlib>
#include <new>
#include <utility>

#include "haricot/base/check.hpp"
#include "os/clock.hpp"

namespace haricot::os {
namespace {

constexpr const char* kBusy = "unfinished work takes too long, or the disk fails";

}  // namespace

HandOver::HandOver(Daemon& daemon, Service& service, BinlogFolder* binlog, TakeOverSocket* socket,
                   Notifier& notifier, Log& log, ServerIdentity identity, bool to_manager)
    : daemon_(daemon),
      service_(service),
      binlog_(binlog),
      socket_(socket),
      notifier_(notifier),
      log_(log),
      identity_(std::move(identity)),
      to_manager_(to_manager) {}

int HandOver::serve() {
  for (Listener& listener : daemon_.listeners()) listener.own_file();
  if (socket_ != nullptr) socket_->listener().own_file();
  while (daemon_.run() == Daemon::End::paused) answer_successor();
  return end();
}

// The successor is on the socket, and may end at any moment. Until it has confirmed that it owns
// everything, this one can continue.
void HandOver::answer_successor() {
  std::string error;
  CHECK(socket_ != nullptr);  // Only the socket pauses the daemon.
  begin("socket");
  if (give_to_successor(error)) leave();
  socket_->refuse(error);
  refuse(error);
}

int HandOver::end() {
  std::string error;
  notifier_.stopping();
  const bool hands_over = to_manager_ && notifier_.is_open();
  if (hands_over) begin("signal");
  const bool is_at_rest = hands_over && daemon_.quiesce(kPatience);
  const bool is_all_kept = binlog_ == nullptr || binlog_->close();
  daemon_.send_last_answers();
  if (hands_over) {
    if (!is_at_rest || !is_all_kept) {
      error = kBusy;
    } else if (give_to_manager(error)) {
      leave();
    }
    refuse(error);
  }
  log_.event(Level::info, "stopped", {{"jobs", service_.engine().jobs().size()}});
  return is_all_kept ? EXIT_SUCCESS : EXIT_FAILURE;
}

bool HandOver::give_to_successor(std::string& error) {
  std::vector<NamedDescriptor> parts;
  const bool is_at_rest = daemon_.quiesce(kPatience);
  if (!is_at_rest || (binlog_ != nullptr && !binlog_->settle(kPatience))) {
    error = kBusy;
    return false;
  }
  if (!seal(parts, error) || !socket_->give(parts, kPatienceWithSuccessor, notifier_, error)) {
    return false;
  }
  if (binlog_ != nullptr) binlog_->release_lock();
  return true;
}

bool HandOver::give_to_manager(std::string& error) {
  std::vector<NamedDescriptor> parts;
  if (!seal(parts, error)) return false;
  bool is_stored = true;
  for (const NamedDescriptor& part : parts) {
    is_stored = is_stored && notifier_.store(part.name, part.descriptor.get());
  }
  if (is_stored && notifier_.wait_until_read()) return true;
  error = "the service manager does not accept the state";
  return false;
}

bool HandOver::seal(std::vector<NamedDescriptor>& parts, std::string& error) {
  try {
    identity_.rested_at = daemon_.rested_at();
    if (binlog_ != nullptr) identity_.folder = binlog_->identity();
    const Listener* const socket = socket_ == nullptr ? nullptr : &socket_->listener();
    return seal_state(daemon_, service_, identity_, socket, binlog_, parts, error);
  } catch (const std::bad_alloc&) {
    error = "not enough memory for the state";
    return false;
  }
}

void HandOver::begin(const char* why) {
  began_ = read_clock();
  log_.event(Level::info, "handing-over",
             {{"why", why},
              {"connections", service_.engine().counts().clients},
              {"jobs", service_.engine().jobs().size()}});
  log_.flush();
}

void HandOver::refuse(const std::string& why) {
  log_.event(Level::warning, "hand-over-refused",
             {{"message", why}, {"milliseconds", (read_clock() - began_).whole_milliseconds()}});
  log_.flush();
}

// The successor begins when the socket closes, which happens last here.
void HandOver::leave() {
  log_.event(Level::info, "handed-over",
             {{"connections", service_.engine().counts().clients},
              {"jobs", service_.engine().jobs().size()},
              {"milliseconds", (read_clock() - began_).whole_milliseconds()}});
  log_.event(Level::info, "stopped", {{"jobs", service_.engine().jobs().size()}});
  log_.flush();
  ::_exit(EXIT_SUCCESS);
}

}  // namespace haricot::os
