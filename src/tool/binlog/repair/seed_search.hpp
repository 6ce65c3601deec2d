// Finds out by votes what a file of ours is, where neither its signature nor the folder tells.
//
// All sums of a file go back to one seed. So records that agree on a seed prove it, and the id of
// the folder tells which file has it. Only ours agree: beanstalkd copies the sums of our records
// into its own, where each of them leads to a seed of its own.
//
// A disk writes a sector to the wrong place as a whole. So of two seeds the one wins whose records
// stand in more sectors, however many records one sector has.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace haricot::tool {

class SeedSearch {
 public:
  // The bytes of a whole file outlive this.
  explicit SeedSearch(std::string_view bytes) : bytes_(bytes) {}

  // What the signature says counts as the word of one record.
  void count_signature(std::uint32_t seed);
  // What the name says counts like a sector, if at least one record says the same.
  void count_name(std::uint32_t seed) { seed_of_name_ = seed; }

  // The seed that most agree on. Nothing: no two agree, or most stand against it. Once only.
  std::optional<std::uint32_t> run();
  // The same without those that agree on this one. That of the name is preferred.
  std::optional<std::uint32_t> run_without(std::uint32_t seed);
  // In how many sectors its records stand.
  std::uint32_t sectors_of(std::uint32_t seed) const;

 private:
  struct Votes {
    std::uint32_t sums = 0;
    std::uint32_t sectors = 0;
    std::size_t last_sector = 0;

    bool operator>(const Votes& other) const {
      return sectors != other.sectors ? sectors > other.sectors : sums > other.sums;
    }
  };

  void look_at_all();
  std::size_t look_at(std::size_t at);
  void add(std::uint32_t seed, std::uint32_t sums, std::size_t at);

  std::string_view bytes_;
  std::unordered_map<std::uint32_t, Votes> votes_;
  std::uint32_t best_seed_ = 0;
  Votes best_;
  std::uint32_t proven_sums_ = 0;
  std::optional<std::uint32_t> seed_of_name_;
};

}  // namespace haricot::tool
