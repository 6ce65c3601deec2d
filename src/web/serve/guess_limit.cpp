#include "web/serve/guess_limit.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <string>

namespace haricot::web {

std::uint64_t GuessLimit::hash_of_address(std::string_view peer) const {
  constexpr std::size_t kNetBytes = 8;
  std::string host(peer);
  const bool in_brackets = host.starts_with('[');
  if (in_brackets) {
    host = host.substr(1, std::min(host.find(']'), host.size()) - 1);
  } else if (host.find(':') == host.rfind(':')) {
    host.resize(std::min(host.find(':'), host.size()));
  }
  in6_addr v6{};
  const bool is_v6 = ::inet_pton(AF_INET6, host.c_str(), &v6) == 1;
  // An IPv4-mapped address counts by itself, not with its IPv6 network.
  if (is_v6 && !IN6_IS_ADDR_V4MAPPED(&v6)) {
    host.assign(reinterpret_cast<const char*>(v6.s6_addr), kNetBytes);
  }
  return std::max<std::uint64_t>(hash_of(key_, host), 1);
}

void GuessLimit::add(std::string_view peer, Instant now) {
  const std::uint64_t address = hash_of_address(peer);
  std::array<Entry, kWays>& set = sets_[address % kSets];
  auto found = std::find_if(set.begin(), set.end(),
                            [address](const Entry& entry) { return entry.address == address; });
  if (found == set.end()) {
    found = std::min_element(set.begin(), set.end(),
                             [](const Entry& a, const Entry& b) { return a.ends < b.ends; });
  }
  if (found->address != address || now >= found->ends) *found = {address, now + kInterval, 0};
  ++found->guesses;
}

Duration GuessLimit::wait(std::string_view peer, Instant now) const {
  const std::uint64_t address = hash_of_address(peer);
  for (const Entry& entry : sets_[address % kSets]) {
    if (entry.address == address && entry.guesses >= kGuesses && now < entry.ends) {
      return entry.ends - now;
    }
  }
  return Duration::seconds(0);
}

}  // namespace haricot::web
