// The undamaged folders of the suite. Each is made once and kept.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "known_folder.hpp"
#include "server.hpp"

namespace haricot::damage {

enum class Ending : std::uint8_t { stopped, killed };

inline constexpr std::int64_t kWall = 1'700'000'000'000'000'000;

// Folders of haricotd with jobs in all states, which were changed and deleted in the same file and
// in later ones.
const KnownFolder& of_one_file(Ending ending);
const KnownFolder& of_three_files(Ending ending);
const KnownFolder& of_eighteen_files();
// Compaction has removed the first files and copied their jobs.
const KnownFolder& compacted(Ending ending);
// Jobs with keys that outlive them. Some of the kept keys were deleted, moved or have expired.
const KnownFolder& with_tombstones(Ending ending);
// The server was stopped and killed several times.
const KnownFolder& restarted();
// A folder with another store id.
const KnownFolder& of_another_store();

// A folder of beanstalkd, written by LegacyMaker.
const KnownFolder& of_beanstalkd(std::uint32_t version);
// beanstalkd used the folder first, and then haricotd.
const KnownFolder& migrated(std::uint32_t version);
// haricotd, then beanstalkd, which copies the padding of our records into its own, then haricotd.
const KnownFolder& there_and_back();

// Two folders with a common past: the folder was copied, and both copies were used.
struct Diverged {
  KnownFolder one;
  KnownFolder other;
  std::uint64_t last_in_common = 0;
};
const Diverged& diverged();

// All folders with files of haricotd only, and all with a file of beanstalkd.
std::vector<const KnownFolder*> folders_of_haricotd();
std::vector<const KnownFolder*> folders_with_beanstalkd();

// Runs puts, changes and deletes on a server. The commands depend only on the seed.
void work(Server& server, std::uint64_t seed, int commands);

}  // namespace haricot::damage
