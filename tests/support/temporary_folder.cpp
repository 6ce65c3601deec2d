#include "support/temporary_folder.hpp"

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

bool write_file(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) return false;
  const bool good = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && good;
}

std::string read_file(const std::string& path) {
  std::string text;
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return text;
  char chunk[4096];
  std::size_t n;
  while ((n = std::fread(chunk, 1, sizeof chunk, file)) > 0) text.append(chunk, n);
  std::fclose(file);
  return text;
}

}  // namespace haricot::test
