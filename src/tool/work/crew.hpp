// The workers of a run of `haricot work`, and the loop that serves them.

#pragma once

#include <poll.h>

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "haricot/base/time.hpp"
#include "os/descriptor.hpp"
#include "tool/cli/output.hpp"
#include "tool/work/work_run.hpp"
#include "tool/work/worker.hpp"

namespace haricot::tool {

class Crew final {
 public:
  Crew(WorkRun& run, Progress& progress) : work_(run), progress_(progress) {}

  // Starts to receive signals. Returns false and sets `error` on failure.
  [[nodiscard]] bool open(std::string& error);
  // Works until the plan is fulfilled or a signal ends it.
  void run();

 private:
  void wait(Instant now);
  void serve_workers(Instant now);
  void read_signals();
  void take_end_signal();
  void set_phase(WorkRun::Phase phase);
  bool is_finished() const;
  void write_output();

  WorkRun& work_;
  Progress& progress_;
  std::deque<Worker> workers_;
  os::Descriptor signals_;
  // Descriptors of the last poll(), and the index of the first one of each worker; the last index
  // is the end.
  std::vector<pollfd> watched_;
  std::vector<std::size_t> begins_;
  Instant kill_due_ = Instant::never();
};

}  // namespace haricot::tool
