// A folder of its own for a test, gone with all that is in it when the test ends. Where a test
// cannot have what it needs for that, the program ends.

#pragma once

#include <string>
#include <string_view>

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

  // Makes a file of these bytes, or puts them in the place of what it had.
  void put(const std::string& name, std::string_view bytes) const;
  // What is in a file. Requires: it is there.
  std::string bytes_of(const std::string& name) const;

 private:
  std::string path_;
};

// False: it could not be written.
[[nodiscard]] bool write_file(const std::string& path, std::string_view bytes);
// Empty if there is no such file.
std::string read_file(const std::string& path);

}  // namespace haricot::test
