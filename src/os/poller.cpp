#include "os/poller.hpp"

#include <algorithm>

#include "haricot/base/check.hpp"
#include "os/clock.hpp"

namespace haricot::os {

bool Poller::open() {
  epoll_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  return static_cast<bool>(epoll_);
}

bool Poller::add(EventSource& source, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &source;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, source.descriptor, &event) != 0) return false;
  source.registered = events;
  return true;
}

void Poller::change(EventSource& source, std::uint32_t events) {
  if (source.registered == events) return;
  epoll_event event{};
  event.events = events;
  event.data.ptr = &source;
  // Changing a registration needs no memory in the kernel.
  const int result = ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, source.descriptor, &event);
  CHECK(result == 0);
  source.registered = events;
}

void Poller::remove(EventSource& source) {
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, source.descriptor, nullptr);
  source.registered = 0;
  for (std::size_t i = 0; i < found_; ++i) {
    if (events_[i].source == &source) events_[i].source = nullptr;
  }
}

std::span<const Poller::Event> Poller::wait(Instant now, Instant until) {
  const int count = ::epoll_wait(epoll_.get(), ready_.data(), kEventsMax, timeout_ms(now, until));
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    events_[at] = Event{static_cast<EventSource*>(ready_[at].data.ptr), ready_[at].events};
  }
  found_ = static_cast<std::size_t>(std::max(count, 0));
  return {events_.data(), found_};
}

}  // namespace haricot::os
