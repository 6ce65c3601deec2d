#include "support/port_choice.hpp"

#include <cstdio>
#include <string>

#include "support/random.hpp"
#include "support/temporary_folder.hpp"

namespace haricot::test {
namespace {

constexpr unsigned kLowest = 10'000;  // Well-known services are below.
constexpr unsigned kHighest = 65'535;
constexpr unsigned kEnough = 1'000;

}  // namespace

PortRange ports_beside(std::string_view kernel_range) {
  unsigned low = 0;
  unsigned high = 0;
  if (std::sscanf(std::string(kernel_range).c_str(), "%u %u", &low, &high) != 2) {
    low = 32'768;  // Default of the kernel.
    high = 60'999;
  }
  const auto range = [](unsigned first, unsigned last) {
    return PortRange{static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(last)};
  };
  if (low >= kLowest + kEnough && low <= kHighest) return range(kLowest, low - 1);
  if (high + kEnough <= kHighest) return range(high + 1, kHighest);
  return range(kLowest, kHighest);  // The kernel uses all ports, so retrying has to suffice.
}

std::uint16_t choose_port() {
  static const PortRange kRange = ports_beside(read_file("/proc/sys/net/ipv4/ip_local_port_range"));
  return static_cast<std::uint16_t>(kRange.first + new_seed() % (kRange.last - kRange.first + 1U));
}

bool is_address_in_use(std::string_view said) {
  return said.find("ddress already in use") != std::string_view::npos;
}

}  // namespace haricot::test
