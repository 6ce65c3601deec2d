// What a service manager has passed to this process (LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES):
// sockets to listen on, and what an earlier process has given it to keep.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "os/descriptor.hpp"

namespace haricot::os {

// Names of descriptors stand in one text, with this between them.
inline constexpr char kNameSeparator = ':';
std::vector<std::string> split_names(std::string_view text);

struct Inherited {
  // In the order in which they were passed. The name is empty if there is none.
  std::vector<NamedDescriptor> sockets;
  std::vector<NamedDescriptor> parcel;  // See Parcel::is_part().
};

// Takes the variables out of the environment. Called once: the descriptors are the caller's then.
Inherited take_inherited();

}  // namespace haricot::os
