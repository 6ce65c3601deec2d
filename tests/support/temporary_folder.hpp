// A folder of its own for a test, gone with all that is in it when the test ends.

#pragma once

#include <string>

namespace haricot::test {

class TemporaryFolder final {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  // Short enough for the path of a unix socket.
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// False: it could not be written.
[[nodiscard]] bool write_file(const std::string& path, const std::string& text);
// Empty if there is no such file.
std::string read_file(const std::string& path);

}  // namespace haricot::test
