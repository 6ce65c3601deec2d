// A folder for one test, removed with its content when the test ends. If this is impossible, the
// program ends.

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

  // Creates a file with these bytes, or replaces its content.
  void put(const std::string& name, std::string_view bytes) const;
  // Returns the content of a file. Requires: it exists.
  std::string bytes_of(const std::string& name) const;

 private:
  std::string path_;
};

// Returns false if it could not be written.
[[nodiscard]] bool write_file(const std::string& path, std::string_view bytes);
// Returns an empty text if there is no such file.
std::string read_file(const std::string& path);

}  // namespace haricot::test
