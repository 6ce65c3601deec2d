// A thin layer around epoll: which sources are ready.
//
// It is level-triggered: a source that is not read in one turn is ready again in the next one. Each
// source remembers the events it is registered for, so asking for the same again costs no system
// call.

#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <span>

#include "haricot/base/time.hpp"
#include "haricot/base/turn_limits.hpp"
#include "os/descriptor.hpp"

namespace haricot::os {

struct EventSource;

// What is called for a source that is ready: a function, and the object that it belongs to. Many
// sources may share one.
struct EventHandler {
  void (*function)(void* context, EventSource& source, std::uint32_t events);
  void* context;

  // One that calls a method, `void (EventSource&, std::uint32_t events)`, of an object.
  template <auto kMethod, typename Owner>
  static EventHandler to(Owner& owner) {
    return {[](void* object, EventSource& source, std::uint32_t events) {
              (static_cast<Owner*>(object)->*kMethod)(source, events);
            },
            &owner};
  }
};

// Something with a descriptor that epoll watches: a connection, a listener, a timer, a pipe. Only
// its handler knows what it is. The handler outlives the source.
struct EventSource {
  EventSource(const EventHandler& handler_of, int descriptor_of)
      : handler(&handler_of), descriptor(descriptor_of) {}

  const EventHandler* handler;
  int descriptor;
  std::uint32_t registered = 0;  // The events it is watched for.
};
static_assert(sizeof(EventSource) == 16, "every idle connection pays for one");

class Poller {
 public:
  // How many ready sources one wait() returns at most.
  static constexpr std::size_t kEventsMax = turn_limits::kEvents;

  struct Event {
    EventSource* source;  // Null: it was removed since.
    std::uint32_t events;

    void handle() const {
      if (source != nullptr) source->handler->function(source->handler->context, *source, events);
    }
  };

  // False: the kernel has no epoll for us.
  [[nodiscard]] bool open();

  // False: the kernel has no memory for it. The source outlives its registration.
  [[nodiscard]] bool add(EventSource& source, std::uint32_t events);
  void change(EventSource& source, std::uint32_t events);
  // Also drops the events of this source that the last wait() has found, so a handler may remove
  // any source. Has to come before the descriptor is closed and the source is freed: the kernel
  // watches a closed descriptor as long as a duplicate of it exists, in any process.
  void remove(EventSource& source);

  // Waits until a source is ready or the time is reached. It returns earlier, without a source,
  // only if a signal comes. The result is valid until the next call.
  std::span<const Event> wait(Instant now, Instant until);

 private:
  Descriptor epoll_;
  std::array<epoll_event, kEventsMax> ready_{};
  std::array<Event, kEventsMax> events_{};
  std::size_t found_ = 0;  // So many of them are those of the last wait.
};

}  // namespace haricot::os
