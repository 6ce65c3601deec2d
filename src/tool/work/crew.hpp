// The slots of one run, and the loop that serves them.

#pragma once

#include <poll.h>

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "haricot/base/time.hpp"
#include "os/descriptor.hpp"
#include "tool/work/shift.hpp"
#include "tool/work/slot.hpp"

namespace haricot::tool {

class Crew final {
 public:
  explicit Crew(Shift& shift) : shift_(shift) {}

  // Watches the signals of the process. False: `error` says why.
  [[nodiscard]] bool open(std::string& error);
  // Works until the plan is fulfilled or a signal ends it.
  void run();

 private:
  void wait(Instant now);
  void serve_slots(Instant now);
  void read_signals();
  void take_end_signal();
  void set_phase(Shift::Phase phase);
  bool is_finished() const;

  Shift& shift_;
  std::deque<Slot> slots_;
  os::Descriptor signals_;
  // What poll() has watched, and where in it each slot begins. The last one is the end.
  std::vector<pollfd> watched_;
  std::vector<std::size_t> begins_;
  Instant kill_due_ = Instant::never();
};

}  // namespace haricot::tool
