// The files in a folder of a binlog, seen from outside.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace haricot::test {

// The numbers N of the files `binlog.N`, in order.
std::vector<std::uint64_t> file_numbers(const std::string& folder);

// The path of `binlog.N`.
std::string file_path(const std::string& folder, std::uint64_t number);

// What the files of a folder take together, in bytes: as long as they are, however sparse.
std::uint64_t folder_bytes(const std::string& folder);

// Name to bytes of all that is in a folder, without the file `lock`.
std::map<std::string, std::string> folder_contents(const std::string& folder);

// Where a text stands in the files of a folder: the first place.
struct Position {
  std::uint64_t file = 0;  // 0: nowhere.
  std::uint64_t offset = 0;
};
Position find_in_files(const std::string& folder, const std::string& text);

// Changes a file in place. Fails the test if that does not work.
void overwrite(const std::string& path, std::uint64_t offset, const std::string& bytes);
void flip_bit(const std::string& path, std::uint64_t offset);

}  // namespace haricot::test
