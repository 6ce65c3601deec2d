#include "os/syncer.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <new>
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
  completions_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE));
  return static_cast<bool>(completions_);
}

// The main thread handles signals: this thread inherits a mask that blocks all of them.
bool Syncer::start_thread() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  const int blocked = ::pthread_sigmask(SIG_SETMASK, &all, &before);
  CHECK(blocked == 0);
  try {
    thread_ = std::thread(&Syncer::run, this);
  } catch (const std::system_error&) {
    // This user can have no more threads. The next sync retries.
  } catch (const std::bad_alloc&) {
    // Neither can a server without memory.
  }
  const int restored = ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  CHECK(restored == 0);
  return thread_.joinable();
}

void Syncer::start(int descriptor, bool is_folder, std::uint64_t ticket) {
  start(Entry{.descriptor = descriptor, .is_folder = is_folder, .ticket = ticket});
}

void Syncer::start_removal(int folder, std::string_view name, bool sync, std::uint64_t ticket,
                           int note) {
  CHECK(!name.empty() && name.size() <= kNameBytesMax);
  Entry entry{
      .descriptor = folder, .is_folder = true, .ticket = ticket, .has_to_sync = sync, .note = note};
  name.copy(entry.name.data(), name.size());
  start(entry);
}

void Syncer::start(const Entry& started) {
  CHECK(started_ - taken_ < kEntries);
  entry(started_) = started;
  if (!thread_.joinable() && !start_thread()) {
    work_on(started_++);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    ++started_;
  }
  wake_.notify_one();
}

void Syncer::run() {
  while (true) {
    std::uint64_t number = 0;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return started_ > ended_ || stop_ || check_wanted_; });
      // All started work is done, or will never be.
      if (is_shut() || (started_ == ended_ && !check_wanted_)) return;
      check_under_way_ = check_wanted_;
      check_wanted_ = false;
      number = ended_;
    }
    if (check_under_way_) {
      const bool good = pass_fence();
      {
        const std::lock_guard lock(mutex_);
        check_under_way_ = false;
      }
      ended_one_.notify_one();
      if (!good) wake_main_thread();
      continue;
    }
    // From its start to its end, the entry belongs to this thread.
    work_on(number);
  }
}

// Returns true without a fence.
bool Syncer::pass_fence() {
  return fence_ == nullptr || fence_->check();
}

void Syncer::wake_main_thread() {
  const std::uint64_t one = 1;
  const ssize_t written = ::write(completions_.get(), &one, sizeof one);
  CHECK(written == sizeof one);
}

bool Syncer::check_fence(std::chrono::milliseconds most) {
  CHECK(fence_ != nullptr);
  if (!thread_.joinable() && !start_thread()) {
    (void)pass_fence();
    return true;
  }
  std::unique_lock lock(mutex_);
  if (!check_under_way_ && !is_shut()) check_wanted_ = true;
  wake_.notify_one();
  return ended_one_.wait_for(lock, most,
                             [this] { return (!check_wanted_ && !check_under_way_) || is_shut(); });
}

void Syncer::work_on(std::uint64_t number) {
  Entry& work = entry(number);
  // If there is another server, the file to remove belongs to it.
  if (work.name[0] != '\0' && !pass_fence()) {
    wake_main_thread();
    return;
  }
  if (fence_ != nullptr) fence_->begin_work();
  // If the lock is taken again meanwhile, the descriptor is closed, or that of another file, which
  // is synced needlessly.
  if (work.note >= 0) (void)sync_(work.note, false);
  if (work.name[0] != '\0' && ::unlinkat(work.descriptor, work.name.data(), 0) != 0) {
    work.removal_error = errno;
  }
  if (work.removal_error == 0 && work.has_to_sync) {
    work.error = sync_(work.descriptor, work.is_folder);
  }
  // A failure is reported as it is. Otherwise the check continues the time of the sync: both
  // together have the patience of the fence.
  if (work.error != 0 && fence_ != nullptr) fence_->end_work();
  if (work.error == 0 && !pass_fence()) {
    wake_main_thread();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    CHECK(number == ended_ && number < started_);
    ended_ = number + 1;
  }
  ended_one_.notify_one();
  wake_main_thread();
}

bool Syncer::next_ended(Ended& ended) {
  // Subtracts one from the eventfd for each collected sync, so that it stays readable while there
  // is another one. A count that is missing now comes later.
  std::uint64_t one = 0;
  while (uncounted_ > 0 && ::read(completions_.get(), &one, sizeof one) == sizeof one) --uncounted_;
  if (taken_ == started_) return false;
  {
    const std::lock_guard lock(mutex_);
    CHECK(taken_ <= ended_ && ended_ <= started_);
    if (taken_ == ended_) return false;
  }
  const Entry& first = entry(taken_++);
  ended = Ended{first.ticket, first.error, first.removal_error, first.name.data()};
  ++uncounted_;
  return true;
}

bool Syncer::wait(std::chrono::milliseconds most) {
  CHECK(taken_ < started_);
  std::unique_lock lock(mutex_);
  return ended_one_.wait_for(lock, most, [this] { return taken_ < ended_; });
}

bool Syncer::is_under_way(int descriptor) const {
  CHECK(taken_ <= started_ && started_ - taken_ <= kEntries);
  for (std::uint64_t number = taken_; number < started_; ++number) {
    if (entry(number).descriptor == descriptor) return true;
  }
  return false;
}

}  // namespace haricot::os
