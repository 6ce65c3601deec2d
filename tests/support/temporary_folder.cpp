#include "support/temporary_folder.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace haricot::test {

TemporaryFolder::TemporaryFolder() {
  char name[] = "/tmp/haricot-test-XXXXXX";
  if (::mkdtemp(name) == nullptr) std::abort();
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void TemporaryFolder::put(const std::string& name, std::string_view bytes) const {
  if (write_file(file(name), bytes)) return;
  std::fprintf(stderr, "cannot write %s\n", file(name).c_str());
  std::abort();
}

std::string TemporaryFolder::bytes_of(const std::string& name) const {
  if (std::filesystem::exists(file(name))) return read_file(file(name));
  std::fprintf(stderr, "there is no %s\n", file(name).c_str());
  std::abort();
}

bool write_file(const std::string& path, std::string_view bytes) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) return false;
  const bool good = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  return std::fclose(file) == 0 && good;
}

std::string read_file(const std::string& path) {
  std::string bytes;
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return bytes;
  std::array<char, 65536> piece{};
  while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), file)) {
    bytes.append(piece.data(), count);
  }
  std::fclose(file);
  return bytes;
}

}  // namespace haricot::test
