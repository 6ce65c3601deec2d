// Guesses about files that do not state what they are. A server makes none, because they may be
// wrong.
//
//   which folder   if two folders have equally many files here and there is no note: the folder
//                  with fewer missing or renamed files
//   which file     if a file has no signature, or its records contradict the signature: the file
//                  whose seed most sectors agree on
//
// A file that a server has set aside because nothing identified it is treated as if it were in its
// old place.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/read/folder_facts.hpp"

namespace haricot::tool {

// A guess that was made.
struct Guess {
  std::string file;  // Name in the folder.
  std::string what;  // Part of a sentence: "is taken for binlog.3, by 12 of its sectors".
};

// Adds guesses to the facts. Returns false and sets `error` if a file cannot be read. May throw
// std::bad_alloc.
[[nodiscard]] bool guess(binlog::Disk& disk, binlog::FolderFacts& facts,
                         std::vector<Guess>& guesses, std::string& error);

// Identifies a file of ours by votes if neither its signature nor the folder identifies it.
//
// All checksums of a file derive from one seed. So records that agree on a seed prove it, and with
// the id of the folder it identifies the file. Copies do not agree: beanstalkd copies the checksums
// of our records into its own files, where each yields a different seed.
//
// A disk misplaces whole sectors. So among two seeds, the one whose records are in more sectors
// wins, even if one sector has many records.
class SeedSearch {
 public:
  // Requires: `bytes`, a whole file, outlive the object.
  explicit SeedSearch(std::string_view bytes) : bytes_(bytes) {}

  // Counts the seed of the signature as one record.
  void count_signature(std::uint32_t seed);
  // Counts the seed of the name as one sector, if at least one record has the same seed.
  void count_name(std::uint32_t seed) { seed_of_name_ = seed; }

  // Returns the seed with most votes. Returns nothing if no two records agree, or most contradict
  // it. Must be called once only.
  std::optional<std::uint32_t> run();
  // Returns the best other seed than `seed`, preferably that of the name. Must be called once only.
  std::optional<std::uint32_t> run_without(std::uint32_t seed);
  // Returns the number of sectors whose records have this seed.
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
