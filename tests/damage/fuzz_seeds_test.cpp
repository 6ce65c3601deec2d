// Seeds for the fuzzer of the replay: some of the suite's folders. HARICOT_WRITE_CORPUS=1 writes
// them again. They may differ from the files of the current writer.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "folders.hpp"
#include "fuzz/replay_input.hpp"
#include "hurt_folder.hpp"

namespace haricot::damage {
namespace {

// Converts a folder to an input. The fuzzer has at most three files, from number 1 on, so files
// with other numbers are renamed.
binlog::ReplayInput input_of(const HurtFolder& folder) {
  binlog::ReplayInput input;
  for (const HurtFile& file : folder.files()) {
    if (input.files.size() < 3) input.files.push_back(file.bytes);
  }
  return input;
}

// Adds the note of a folder to an input. `flags` is the first byte of the input.
binlog::ReplayInput with_note(binlog::ReplayInput input, std::uint8_t flags) {
  input.repaired = flags;
  return input;
}

std::vector<std::pair<std::string, binlog::ReplayInput>> seeds() {
  const KnownFolder& three = of_three_files(Ending::killed);
  const KnownFolder& legacy = of_beanstalkd(binlog::kVersion);
  return {
      {"folder_one", input_of(HurtFolder(of_one_file(Ending::stopped)))},
      {"folder_three", input_of(HurtFolder(three))},
      {"folder_exchanged", input_of(HurtFolder(three).exchange(2, 3))},
      {"folder_headless", input_of(HurtFolder(three).zero(3, 0, 88))},
      {"folder_kept_keys", with_note(input_of(HurtFolder(with_tombstones(Ending::killed))), 0x07)},
      {"folder_noted", with_note(input_of(HurtFolder(three)), 0x3f)},
      {"folder_noted_cut", with_note(input_of(HurtFolder(three).cut(3, 700)), 0x78)},
      {"folder_noted_missing", with_note(input_of(HurtFolder(three).remove(3)), 0xb8)},
      {"folder_v7", input_of(HurtFolder(legacy))},
      {"folder_v7_damaged", input_of(HurtFolder(legacy).flip(2, 41, 3).zero(3, 512, 512))},
      {"folder_v5", input_of(HurtFolder(of_beanstalkd(binlog::kVersionOfBeanstalkd14)))},
      {"folder_there_and_back", input_of(HurtFolder(there_and_back()))}};
}

TEST(FuzzSeeds, AreReadAsAnyFolderHasToBe) {
  const std::filesystem::path folder = HARICOT_REPLAY_CORPUS;
  for (const auto& [name, input] : seeds()) {
    SCOPED_TRACE(name);
    check_replay(input);
    if (std::getenv("HARICOT_WRITE_CORPUS") != nullptr) {
      std::ofstream(folder / name, std::ios::binary) << bytes_of(input);
    }
    EXPECT_TRUE(std::filesystem::exists(folder / name));
  }
}

}  // namespace
}  // namespace haricot::damage
