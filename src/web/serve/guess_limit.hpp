// Limits the rate of wrong tokens by address.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "haricot/base/sip_hash.hpp"
#include "haricot/base/time.hpp"

namespace haricot::web {

// Counts wrong tokens by address in a table of fixed size. An address that is displaced from the
// table starts again at zero, so many addresses together can never lock out another one.
class GuessLimit final {
 public:
  static constexpr std::uint32_t kGuesses = 10;
  static constexpr Duration kInterval = Duration::seconds(60);

  explicit GuessLimit(const HashKey& key) : key_(key) {}

  // Counts a wrong token. `peer` is HOST:PORT, [V6]:PORT or an address without a port. IPv6
  // addresses count by /64.
  void add(std::string_view peer, Instant now);
  // Returns the time until the address may try again; 0 if it may now.
  Duration wait(std::string_view peer, Instant now) const;

 private:
  static constexpr std::size_t kWays = 4;
  static constexpr std::size_t kSets = 256;

  struct Entry {
    std::uint64_t address = 0;  // Hash; 0 if the entry is free.
    Instant ends;
    std::uint32_t guesses = 0;
  };
  std::uint64_t hash_of_address(std::string_view peer) const;

  HashKey key_;
  std::array<std::array<Entry, kWays>, kSets> sets_{};
};

}  // namespace haricot::web
