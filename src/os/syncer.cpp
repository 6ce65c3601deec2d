#include "os/syncer.hpp"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

#include "haricot/base/check.hpp"

namespace haricot::os {

int Syncer::sync_to_disk(int descriptor, bool is_folder) {
  int result = 0;
  do {
    result = is_folder ? ::fsync(descriptor) : ::fdatasync(descriptor);
  } while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

Syncer::~Syncer() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

bool Syncer::open() {
  completions_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  return static_cast<bool>(completions_);
}

// Signals are the main thread's: this one inherits a mask that blocks all of them.
bool Syncer::start_thread() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  CHECK(::pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
  try {
    thread_ = std::thread(&Syncer::run, this);
  } catch (const std::system_error&) {
    // No more threads for this user. The next sync tries again.
  }
  CHECK(::pthread_sigmask(SIG_SETMASK, &before, nullptr) == 0);
  return thread_.joinable();
}

void Syncer::start(int descriptor, bool is_folder, std::uint64_t ticket) {
  CHECK(started_ - taken_ < kSlots);
  slot(started_) = Slot{descriptor, is_folder, ticket, 0};
  if (!thread_.joinable() && !start_thread()) {
    const std::uint64_t number = started_++;
    end(number, sync_(descriptor, is_folder));
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    ++started_;
  }
  wake_.notify_one();
}

void Syncer::run() {
  for (std::uint64_t number = 0;; ++number) {
    {
      std::unique_lock lock(mutex_);
      if (number == 0) number = ended_;  // Some may have been done before there was a thread.
      wake_.wait(lock, [this, number] { return started_ > number || stop_; });
      if (started_ == number) return;  // All that was started is done.
    }
    // From its start to its end the slot is this thread's.
    end(number, sync_(slot(number).descriptor, slot(number).is_folder));
  }
}

void Syncer::end(std::uint64_t number, int error) {
  slot(number).error = error;
  {
    const std::lock_guard lock(mutex_);
    ended_ = number + 1;
  }
  const std::uint64_t one = 1;
  CHECK(::write(completions_.get(), &one, sizeof one) == sizeof one);
}

bool Syncer::take(Ended& ended) {
  {
    const std::lock_guard lock(mutex_);
    if (taken_ == ended_) return false;
  }
  const Slot& first = slot(taken_++);
  ended = Ended{first.ticket, first.error};
  ++uncounted_;
  return true;
}

bool Syncer::next_ended(Ended& ended) {
  if (taken_ == started_ && uncounted_ == 0) return false;
  if (take(ended)) return true;
  if (uncounted_ == 0) return false;
  // All are taken: the eventfd is reset. What it counts may already hold a sync that ended since
  // then, of which no other word would come, so we look once more.
  std::uint64_t count = 0;
  if (::read(completions_.get(), &count, sizeof count) != sizeof count) return false;
  uncounted_ -= static_cast<std::int64_t>(count);
  return take(ended);
}

bool Syncer::is_under_way(int descriptor) const {
  for (std::uint64_t number = taken_; number < started_; ++number) {
    if (slot(number).descriptor == descriptor) return true;
  }
  return false;
}

}  // namespace haricot::os
