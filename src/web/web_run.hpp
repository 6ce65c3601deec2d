// Runs a program that serves HTTP, and its event loop.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "haricot/base/time.hpp"
#include "os/descriptor.hpp"
#include "os/log.hpp"
#include "os/poller.hpp"
#include "os/service_manager.hpp"
#include "web/http/exchange.hpp"
#include "web/web_options.hpp"

namespace haricot::web {

// A part of the program that works in each turn, besides the sources of the poller. `self` must
// outlive the loop.
struct LoopPart {
  void* self;
  // Returns the time of the next advance(). It may be too early.
  Instant (*next_event)(void* self);
  void (*advance)(void* self, Instant now);
  // Called before the sources of a turn are handled; may be null.
  void (*begin_turn)(void* self, Instant now) = nullptr;

  // Makes a part that calls the methods with these names.
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

// The event loop of `haricot web`.
class Loop final {
 public:
  // Requires: the arguments outlive the object, and the signals are blocked (os::block_signals()).
  Loop(os::Poller& poller, os::Log& log, os::Notifier& notifier);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Returns false and sets `error` on failure.
  [[nodiscard]] bool open(std::string& error);
  // Adds a part. Parts advance in the order in which they were added.
  void add(const LoopPart& part) { parts_.push_back(part); }
  // Sets the function to call at SIGHUP.
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

// The program's parts register here at the start.
struct WebStage {
  os::Poller& poller;  // For event sources.
  Loop& loop;          // For work in each turn.
  std::vector<Route> routes = {};
};

// Opens the program's resources, drops its privileges, and serves until a signal ends it.
//
// Calls `set_up` to add routes and parts while names can still be resolved; the parts must outlive
// the call. If `set_up` returns false, prints its `error` and ends. Returns the exit status.
int run_web(const WebOptions& options,
            const std::function<bool(WebStage& stage, std::string& error)>& set_up);

}  // namespace haricot::web
