// Descriptors that a service manager has passed to this process (LISTEN_PID, LISTEN_FDS,
// LISTEN_FDNAMES): sockets to listen on, and descriptors that an earlier process has stored there.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "os/descriptor.hpp"

namespace haricot::os {

// Separator in the text with all names.
inline constexpr char kNameSeparator = ':';
std::vector<std::string> split_names(std::string_view text);

struct Inherited {
  // In the order in which they were passed. The name is empty if there is none.
  std::vector<NamedDescriptor> sockets;
  std::vector<NamedDescriptor> parcel;  // See Parcel::is_part().
};

// Removes the variables from the environment. Called once: the caller owns the descriptors then.
Inherited take_inherited();

}  // namespace haricot::os
