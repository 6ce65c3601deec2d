// Names of the tubes of a benchmark. No other client uses them, so all jobs in them belong to it.

#pragma once

#include <cstdint>
#include <string>

namespace haricot::tool {

class BenchTubes {
 public:
  // Makes names from the process id and the time, so they never repeat.
  BenchTubes();

  std::string load(std::uint64_t i) const { return prefix_ + "load-" + std::to_string(i); }
  std::string watched(std::uint64_t i) const { return prefix_ + "watched-" + std::to_string(i); }
  std::string idle(std::uint64_t i) const { return prefix_ + "idle-" + std::to_string(i); }
  std::string waiting(std::uint64_t i) const { return prefix_ + "waiting-" + std::to_string(i); }
  std::string waiting_together() const { return prefix_ + "waiting"; }

 private:
  std::string prefix_;
};

// Returns the share of one of several parts in a total. Shares are equal, except that the first
// ones get the remainder, one each.
inline std::uint64_t share_of(std::uint64_t total, std::uint64_t parts, std::uint64_t part) {
  return total / parts + (part < total % parts ? 1 : 0);
}

}  // namespace haricot::tool
