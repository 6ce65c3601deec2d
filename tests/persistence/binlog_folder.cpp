#include "binlog_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "support/temporary_folder.hpp"

namespace haricot::test {

namespace fs = std::filesystem;

std::vector<std::uint64_t> file_numbers(const std::string& folder) {
  constexpr std::string_view kPrefix = "binlog.";
  std::vector<std::uint64_t> numbers;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    const std::string digits = name.substr(kPrefix.size());
    if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos) continue;
    numbers.push_back(std::strtoull(digits.c_str(), nullptr, 10));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::string file_path(const std::string& folder, std::uint64_t number) {
  return folder + "/binlog." + std::to_string(number);
}

std::uint64_t folder_bytes(const std::string& folder) {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::error_code gone;  // The server may remove files meanwhile.
    const auto size = entry.file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

std::map<std::string, std::string> folder_contents(const std::string& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name != "lock" && entry.is_regular_file()) contents[name] = read_file(entry.path());
  }
  return contents;
}

Position find_in_files(const std::string& folder, const std::string& text) {
  for (const std::uint64_t number : file_numbers(folder)) {
    const std::size_t at = read_file(file_path(folder, number)).find(text);
    if (at != std::string::npos) return {.file = number, .offset = at};
  }
  return {};
}

void overwrite(const std::string& path, std::uint64_t offset, const std::string& bytes) {
  // Files of beanstalkd may be read-only, which users other than root could not write to.
  fs::permissions(path, fs::perms::owner_write, fs::perm_options::add);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  ASSERT_TRUE(file) << "cannot change " << path;
}

void flip_bit(const std::string& path, std::uint64_t offset) {
  const std::string before = read_file(path);
  ASSERT_LT(offset, before.size());
  overwrite(path, offset, std::string(1, static_cast<char>(before[offset] ^ 0x10)));
}

}  // namespace haricot::test
