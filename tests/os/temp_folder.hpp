// A folder for one test, and processes of its own for what must not happen to the test's.

#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>

namespace haricot::os {

class TempFolder {
 public:
  TempFolder() {
    std::string path =
        (std::filesystem::temp_directory_path() / "haricot-disk-test-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) ADD_FAILURE() << "cannot make a folder like " << path;
    path_ = path;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string path(const std::string& name) const { return path_ + "/" + name; }

  void put(const std::string& name, std::string_view bytes) const {
    std::FILE* const file = std::fopen(path(name).c_str(), "wb");
    ASSERT_NE(file, nullptr) << name;
    EXPECT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size()) << name;
    EXPECT_EQ(std::fclose(file), 0) << name;
  }
  std::string bytes_of(const std::string& name) const {
    std::string bytes;
    std::FILE* const file = std::fopen(path(name).c_str(), "rb");
    EXPECT_NE(file, nullptr) << name;
    if (file == nullptr) return bytes;
    std::array<char, 65536> piece{};
    while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), file)) {
      bytes.append(piece.data(), count);
    }
    std::fclose(file);
    return bytes;
  }

 private:
  std::string path_;
};

// The exit status of a child that ends at once when `body` returns; 1 if an expectation in it
// failed.
inline int run_in_child(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const int result = body();
    std::fflush(nullptr);
    ::_exit(::testing::Test::HasFailure() ? 1 : result);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace haricot::os
