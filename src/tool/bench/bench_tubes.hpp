// The tubes of a benchmark: names that nobody else uses, so that all jobs in them are its own.

#pragma once

#include <cstdint>
#include <string>

namespace haricot::tool {

class BenchTubes {
 public:
  // Made of the process and the time, so it never comes again.
  BenchTubes();

  std::string load(std::uint64_t i) const { return prefix_ + "load-" + std::to_string(i); }
  std::string watched(std::uint64_t i) const { return prefix_ + "watched-" + std::to_string(i); }
  std::string idle(std::uint64_t i) const { return prefix_ + "idle-" + std::to_string(i); }
  std::string waiting(std::uint64_t i) const { return prefix_ + "waiting-" + std::to_string(i); }
  std::string waiting_together() const { return prefix_ + "waiting"; }

 private:
  std::string prefix_;
};

// How much of a total falls to one of several parts: all get the same, the first ones one more.
inline std::uint64_t share_of(std::uint64_t total, std::uint64_t parts, std::uint64_t part) {
  return total / parts + (part < total % parts ? 1 : 0);
}

}  // namespace haricot::tool
