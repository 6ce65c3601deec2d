// A known folder with damage. Each file refers to its original.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "known_folder.hpp"

namespace haricot::damage {

// Returns the bytes that a copy of damaged bytes keeps.
inline std::string_view without_zeros_at_end(std::string_view bytes) {
  return bytes.substr(0, bytes.find_last_not_of('\0') + 1);
}

struct HurtFile {
  std::string name;
  std::string bytes;
  // The original; null for a file that does not belong to the folder.
  const KnownFile* origin = nullptr;
  std::size_t stray_sectors = 0;  // Number of sectors that belong to another place.

  bool is_hurt() const { return origin == nullptr || bytes != origin->bytes; }
};

class HurtFolder {
 public:
  // Requires: the known folder outlives this object.
  explicit HurtFolder(const KnownFolder& known);

  const KnownFolder& known() const { return *known_; }
  const std::vector<HurtFile>& files() const { return files_; }
  // Description of the damage, for failures.
  const std::string& what() const { return what_; }
  Image image() const;
  bool has(std::uint64_t number) const;
  // Requires: the folder has the file.
  HurtFile& file(std::uint64_t number);

  // These functions damage the folder and return it. Numbers are those in the names of files.
  // Except for append(), bytes after the end of a file are ignored.
  HurtFolder& flip(std::uint64_t number, std::size_t offset, unsigned bit);
  HurtFolder& overwrite(std::uint64_t number, std::size_t offset, std::string_view bytes);
  HurtFolder& misdirect(std::uint64_t number, std::size_t offset, std::string_view sector);
  HurtFolder& zero(std::uint64_t number, std::size_t offset, std::size_t bytes);
  HurtFolder& cut(std::uint64_t number, std::size_t length);
  HurtFolder& append(std::uint64_t number, std::string_view bytes);
  HurtFolder& remove(std::uint64_t number);
  HurtFolder& rename(std::uint64_t from, std::uint64_t to);
  HurtFolder& exchange(std::uint64_t one, std::uint64_t other);
  HurtFolder& copy(std::uint64_t from, std::uint64_t to);
  // Adds a file that does not belong to the folder, and replaces a file of that number.
  HurtFolder& add_strange(std::uint64_t number, std::string bytes);

 private:
  void told(std::string what);

  const KnownFolder* known_;
  std::vector<HurtFile> files_;
  std::string what_;
};

}  // namespace haricot::damage
