// The event loop of `haricot web`.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "haricot/base/time.hpp"
#include "os/descriptor.hpp"
#include "os/log.hpp"
#include "os/notify.hpp"
#include "os/poller.hpp"

namespace haricot::web {

// What works in each turn beside the sources of the poller. `self` outlives the loop.
struct LoopPart {
  void* self;
  // When advance() has something to do; earlier is no mistake.
  Instant (*next_event)(void* self);
  void (*advance)(void* self, Instant now);
  // Null, or called before the sources of a turn are handled.
  void (*begin_turn)(void* self, Instant now) = nullptr;

  // One that calls the methods of these names.
  template <typename Part>
  static LoopPart of(Part& part) {
    LoopPart result{&part, [](void* object) { return static_cast<Part*>(object)->next_event(); },
                    [](void* object, Instant now) { static_cast<Part*>(object)->advance(now); }};
    if constexpr (requires(Instant now) { part.begin_turn(now); }) {
      result.begin_turn = [](void* object, Instant now) {
        static_cast<Part*>(object)->begin_turn(now);
      };
    }
    return result;
  }
};

class Loop final {
 public:
  // They outlive it. Requires: the signals are blocked (os::block_signals()).
  Loop(os::Poller& poller, os::Log& log, os::Notifier& notifier);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // False: `error` says why.
  [[nodiscard]] bool open(std::string& error);
  // Parts are advanced in the order in which they were added.
  void add(const LoopPart& part) { parts_.push_back(part); }
  // Called at a SIGHUP.
  void set_reload(std::function<void()> reload) { reload_ = std::move(reload); }

  // Runs until SIGTERM or SIGINT.
  void run();

 private:
  void read_signals(os::EventSource& source, std::uint32_t events);

  os::Poller& poller_;
  os::Log& log_;
  os::Notifier& notifier_;
  os::EventHandler signal_handler_;
  os::Descriptor signals_;
  os::EventSource signal_source_;
  std::vector<LoopPart> parts_;
  std::function<void()> reload_;
  bool has_to_end_ = false;
};

}  // namespace haricot::web
