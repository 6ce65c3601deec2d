#include "tool/bench/bench_tubes.hpp"

#include <unistd.h>

#include <charconv>

#include "os/clock.hpp"

namespace haricot::tool {

BenchTubes::BenchTubes() : prefix_("haricot-bench-" + std::to_string(::getpid()) + "-") {
  char text[20];
  const auto now = static_cast<std::uint64_t>(os::read_clock().count());
  prefix_.append(text, std::to_chars(text, text + sizeof text, now, 16).ptr);
  prefix_ += '-';
}

}  // namespace haricot::tool
