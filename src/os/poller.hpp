// A thin skin around epoll: which sources are ready.
//
// Level-triggered: what is not dealt with in one turn comes up again in the next. Each source
// remembers what it is registered for, so that asking for the same again costs no system call.

#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <span>

#include "haricot/base/time.hpp"
#include "os/descriptor.hpp"

namespace haricot::os {

// Something with a descriptor that epoll watches. What it is, its kind says; the daemon knows how
// to get from there to the thing itself.
struct EventSource {
  enum class Kind : std::uint8_t { listener, connection, signals, syncs };

  EventSource(Kind kind_of, int descriptor_of) : kind(kind_of), descriptor(descriptor_of) {}

  Kind kind;
  int descriptor;
  std::uint32_t registered = 0;  // The events it is watched for.
};

class Poller {
 public:
  // How many ready sources one wait() returns at most.
  static constexpr std::size_t kEventsMax = 128;

  struct Event {
    EventSource* source;
    std::uint32_t events;
  };

  // False: the kernel has no epoll for us.
  [[nodiscard]] bool open();

  // False: the kernel has no memory for it. The source outlives its registration.
  [[nodiscard]] bool add(EventSource& source, std::uint32_t events);
  void change(EventSource& source, std::uint32_t events);
  void remove(EventSource& source);

  // Waits until a source is ready or a time is reached, never returning before it for lack of
  // events but when a signal comes. The result is valid until the next call.
  std::span<const Event> wait(Instant now, Instant until);

 private:
  Descriptor epoll_;
  std::array<epoll_event, kEventsMax> ready_{};
  std::array<Event, kEventsMax> events_{};
};

}  // namespace haricot::os
