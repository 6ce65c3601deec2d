// Ports for servers that a test starts.
//
// Never one of the range from which the kernel takes the local ports of connections: it would be
// free when it is chosen, and the port of some client of another test when the server binds it.

#pragma once

#include <cstdint>
#include <string_view>

namespace haricot::test {

// A port outside of that range, at random. Somebody may have it all the same: whoever starts a
// server on it looks at is_address_in_use() and tries the next one.
std::uint16_t choose_port();

struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
};

// Where to choose from, given the kernel's range as it stands in
// /proc/sys/net/ipv4/ip_local_port_range.
PortRange ports_beside(std::string_view kernel_range);

// Whether the output of a server that has ended says that its address was taken.
bool is_address_in_use(std::string_view said);

}  // namespace haricot::test
