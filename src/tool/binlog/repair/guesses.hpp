// Guesses about files that do not identify themselves. A server makes none, because they may be
// wrong.
//
//   folder   if the note does not decide, and several folders have equally many files here: the
//            folder with the fewest missing or renamed files
//   file     if nothing identifies a file: the file that most of its checksums yield; if signature
//            and name are of two files: the file that more of its sectors yield
//
// A file without a signature that a server has set aside (`binlog.N.aside.K`) is read in its old
// place.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/read/folder_plan.hpp"

namespace haricot::tool {

// A guess, as it is reported.
struct Guess {
  std::string file;  // Name in the folder.
  std::string what;  // Part of a sentence: "is taken for binlog.3, by 12 of its sectors".
};

// Returns the possible ids of the folder, the likeliest last; empty if neither a file nor the note
// states one. The id of the note is the only one if a file states it, too, or if no file states
// any. Otherwise these are the ids that most files state, that of the newest such file last.
std::vector<std::uint64_t> likely_stores(const std::vector<binlog::FileFacts>& files,
                                         const binlog::FolderNote& note);

// Adds guesses to the facts. Returns false and sets `error` if a file cannot be read. May throw
// std::bad_alloc.
[[nodiscard]] bool guess(binlog::Disk& disk, binlog::FolderFacts& facts,
                         std::vector<Guess>& guesses, std::string& error);

// Identifies a file of haricotd by votes if neither its signature nor the folder identifies it.
//
// All checksums of a file derive from one seed. So records that agree on a seed prove it, and with
// the id of the folder the seed identifies the file. Copies do not agree: beanstalkd copies the
// checksums of haricotd's records into its own files, where each yields a different seed.
//
// A disk misplaces whole sectors. So the seed whose records are in more sectors wins, even if one
// sector has many records of another seed.
class SeedSearch {
 public:
  // `bytes`: the whole file; outlives the object.
  explicit SeedSearch(std::string_view bytes) : bytes_(bytes) {}

  // Counts the seed of the signature as one checksum in the first sector.
  void count_signature(std::uint32_t seed);
  // Counts the seed of the name as one more checksum and sector, if a record yields the same seed.
  void count_name(std::uint32_t seed) { seed_of_name_ = seed; }

  // Returns the seed with most votes. Returns nothing if fewer than two checksums yield it, or if
  // they are at most half as many as the checksums of all whole full records. Call one of the run
  // functions, and only once.
  std::optional<std::uint32_t> run();
  // Returns the seed of the name, if it is not `seed` and a record yields it; otherwise the best
  // seed, except `seed`, that at least two checksums yield.
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

  void count_all();
  std::size_t count_at(std::size_t at);
  void add(std::uint32_t seed, std::uint32_t sums, std::size_t at);

  std::string_view bytes_;
  std::unordered_map<std::uint32_t, Votes> votes_;
  std::uint32_t best_seed_ = 0;
  Votes best_;
  std::uint32_t proven_sums_ = 0;
  std::optional<std::uint32_t> seed_of_name_;
};

}  // namespace haricot::tool
