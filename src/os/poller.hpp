// A thin layer around epoll: reports which sources are ready.
//
// It is level-triggered: a source that is not read in one turn is ready again in the next. Each
// source stores the events that it is registered for, so registering for the same events again
// needs no system call.

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

// Function that is called when a source is ready, and the object that it belongs to. Sources may
// share a handler.
struct EventHandler {
  void (*function)(void* context, EventSource& source, std::uint32_t events);
  void* context;

  // Returns a handler that calls a method of an object, `void (EventSource&, std::uint32_t
  // events)`.
  template <auto kMethod, typename Owner>
  static EventHandler to(Owner& owner) {
    return {[](void* object, EventSource& source, std::uint32_t events) {
              (static_cast<Owner*>(object)->*kMethod)(source, events);
            },
            &owner};
  }
};

// A descriptor that epoll watches: a connection, a listener, a timer, a pipe. Only its handler
// knows which. Requires: the handler outlives the source.
struct EventSource {
  EventSource(const EventHandler& handler_of, int descriptor_of)
      : handler(&handler_of), descriptor(descriptor_of) {}

  const EventHandler* handler;
  int descriptor;
  std::uint32_t registered = 0;  // Events that it is watched for.
};
static_assert(sizeof(EventSource) == 16, "every idle connection pays for one");

class Poller {
 public:
  // Maximum number of ready sources that a wait() returns.
  static constexpr std::size_t kEventsMax = turn_limits::kEvents;

  struct Event {
    EventSource* source;  // Null: it was removed meanwhile.
    std::uint32_t events;

    void handle() const {
      if (source != nullptr) source->handler->function(source->handler->context, *source, events);
    }
  };

  // Returns false if the kernel refuses.
  [[nodiscard]] bool open();

  // Returns false if the kernel has no memory. Requires: the source outlives its registration.
  [[nodiscard]] bool add(EventSource& source, std::uint32_t events);
  void change(EventSource& source, std::uint32_t events);
  // Removes a source, and its events of the last wait(), so a handler may remove any source. Call
  // before closing the descriptor and freeing the source: the kernel watches a closed descriptor as
  // long as a duplicate of it exists in any process.
  void remove(EventSource& source);

  // Waits until a source is ready or the time is reached. Returns earlier, without a source, only
  // after a signal. The result is valid until the next call.
  std::span<const Event> wait(Instant now, Instant until);

 private:
  Descriptor epoll_;
  std::array<epoll_event, kEventsMax> ready_{};
  std::array<Event, kEventsMax> events_{};
  std::size_t found_ = 0;  // Number of events of the last wait.
};

}  // namespace haricot::os
