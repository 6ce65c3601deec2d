#include "haricot/protocol/tube_name.hpp"

#include "haricot/protocol/limits.hpp"

namespace haricot {

bool is_tube_name(std::string_view name) {
  if (name.empty() || name.size() > kTubeNameBytesMax || name.front() == '-') return false;
  return has_only_name_bytes(name);
}

}  // namespace haricot
