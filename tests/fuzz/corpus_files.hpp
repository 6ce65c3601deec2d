// The files of a corpus.

#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace haricot::fuzz {

inline std::string read_input(const std::filesystem::path& path) {
  std::string bytes(std::filesystem::file_size(path), '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

}  // namespace haricot::fuzz
