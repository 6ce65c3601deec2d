// Functions on the files of a binlog folder, which do not use the code of the server.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace haricot::test {

// Returns the numbers N of the files `binlog.N`, in order.
std::vector<std::uint64_t> file_numbers(const std::string& folder);

// Returns the path of `binlog.N`.
std::string file_path(const std::string& folder, std::uint64_t number);

// Returns the sum of the lengths of a folder's files in bytes, including holes.
std::uint64_t folder_bytes(const std::string& folder);

// Returns the files of a folder, name to bytes, without the file `lock`.
std::map<std::string, std::string> folder_contents(const std::string& folder);

// The first position of a text in the files of a folder.
struct Position {
  std::uint64_t file = 0;  // 0: not found.
  std::uint64_t offset = 0;
};
Position find_in_files(const std::string& folder, const std::string& text);

// Change a file in place. Fail the test if they cannot.
void overwrite(const std::string& path, std::uint64_t offset, const std::string& bytes);
void flip_bit(const std::string& path, std::uint64_t offset);

}  // namespace haricot::test
