// The folders that the suite begins with. Each is made once and kept.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "known_folder.hpp"
#include "server.hpp"

namespace haricot::damage {

enum class Ending : std::uint8_t { stopped, killed };

inline constexpr std::int64_t kWall = 1'700'000'000'000'000'000;

// Of files of haricotd, with jobs in all states, changed and deleted in the same file and in later
// ones.
const KnownFolder& of_one_file(Ending ending);
const KnownFolder& of_three_files(Ending ending);
const KnownFolder& of_eighteen_files();
// The first files are gone, and there are copies of their jobs.
const KnownFolder& compacted(Ending ending);
// Of jobs with keys that outlive them, some of which were deleted, moved and over.
const KnownFolder& with_tombstones(Ending ending);
// Of a server that was stopped and killed several times.
const KnownFolder& restarted();
// Of another store.
const KnownFolder& of_another_store();

// Of beanstalkd, made by a writer of ours.
const KnownFolder& of_beanstalkd(std::uint32_t version);
// beanstalkd first and haricotd after it.
const KnownFolder& migrated(std::uint32_t version);
// haricotd, beanstalkd, which copies our padding into its own records, and haricotd again.
const KnownFolder& there_and_back();

// Two folders with the same past: one is a copy of the other, and then both were used.
struct Diverged {
  KnownFolder one;
  KnownFolder other;
  std::uint64_t last_in_common = 0;
};
const Diverged& diverged();

// All of files of haricotd; all with a file of beanstalkd in them.
std::vector<const KnownFolder*> folders_of_haricotd();
std::vector<const KnownFolder*> folders_with_beanstalkd();

// Some work on a server: puts, changes and deletes, the same for the same seed.
void work(Server& server, std::uint64_t seed, int commands);

}  // namespace haricot::damage
