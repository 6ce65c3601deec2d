// Plays the corpus of the fuzz target for states with every compiler, and makes its seeds.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "corpus_files.hpp"
#include "state_play.hpp"

namespace haricot::fuzz {
namespace {

// With HARICOT_WRITE_CORPUS=1 the seeds are written again. Those of an older format are useless to
// the fuzzer, because they are read only up to the change.
TEST(StateCorpus, HasTheSeeds) {
  const std::filesystem::path folder = HARICOT_STATE_CORPUS;
  for (const auto& [name, input] : state_seeds()) {
    if (std::getenv("HARICOT_WRITE_CORPUS") != nullptr) {
      std::ofstream(folder / name, std::ios::binary) << input;
    }
    ASSERT_TRUE(std::filesystem::exists(folder / name)) << name;
    EXPECT_EQ(check_state(read_input(folder / name)), check_state(input))
        << "HARICOT_WRITE_CORPUS=1 writes " << folder / name << " again";
  }
}

TEST(StateCorpus, IsHarmless) {
  std::size_t played = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HARICOT_STATE_CORPUS)) {
    SCOPED_TRACE(entry.path().string());
    check_state(read_input(entry.path()));
    ++played;
  }
  EXPECT_GE(played, state_seeds().size());
  for (const auto& [name, input] : state_seeds()) {
    SCOPED_TRACE(name);
    check_state(input);
  }
}

TEST(StateCorpus, AServersOwnStateIsTaken) {
  for (const char flags : {char{0}, kFirstIsGone, kIsNarrow}) {
    EXPECT_TRUE(check_state(flags + known_state(false))) << int{flags};
  }
  for (const int flags : {int{kHasBinlog}, kHasBinlog | kFirstIsGone}) {
    EXPECT_TRUE(check_state(static_cast<char>(flags) + known_state(true))) << flags;
  }
}

}  // namespace
}  // namespace haricot::fuzz
