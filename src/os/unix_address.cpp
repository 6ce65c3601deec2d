#include "os/unix_address.hpp"

#include <sys/socket.h>

#include <cstring>

#include "haricot/base/check.hpp"

namespace haricot::os {

// The length of a path in error messages depends on this.
static_assert(sizeof sockaddr_un::sun_path == 108);

sockaddr_un unix_address(std::string_view path) {
  CHECK(is_unix_path(path));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

}  // namespace haricot::os
