// Ports for servers that a test starts.
//
// They are outside of the range from which the kernel takes local ports of connections: such a port
// could be free when it is chosen, and used by a client of another test when the server binds it.

#pragma once

#include <cstdint>
#include <string_view>

namespace haricot::test {

// Returns a random port outside of that range. It may still be taken: the caller checks
// is_address_in_use(), and tries the next one.
std::uint16_t choose_port();

struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
};

// Returns the range to choose from, given the kernel's range in the form of
// /proc/sys/net/ipv4/ip_local_port_range.
PortRange ports_beside(std::string_view kernel_range);

// Returns true if the output of a server that has ended reports that its address was taken.
bool is_address_in_use(std::string_view said);

}  // namespace haricot::test
