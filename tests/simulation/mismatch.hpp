// Ends a simulated run: the server has done something that the model does not allow.

#pragma once

#include <stdexcept>
#include <string>

namespace haricot::simulation {

struct Mismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void require(bool condition, const std::string& what) {
  if (!condition) throw Mismatch(what);
}

}  // namespace haricot::simulation
