// The names of the files of a folder.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace haricot::binlog {

// binlog.N
std::string binlog_file_name(std::uint64_t number);
// The name that a file has until it is begun, which beanstalkd does not look at.
std::string spare_name(std::uint64_t number);
// The names of files that nothing ever removes: the copy of a file that could not be read whole,
// the torn end of a file, and a file that belongs to another folder or under another name. `serial`
// tells the copies of one file apart.
std::string damaged_name(std::uint64_t number, std::uint64_t serial);
std::string torn_name(std::uint64_t number, std::uint64_t serial);
std::string aside_name(std::uint64_t number, std::uint64_t serial);

// The highest N that beanstalkd can read, and the last one with which a folder is opened.
inline constexpr std::uint64_t kFileNumberMax = 2147483647;
inline constexpr std::uint64_t kFileNumberLast = 2147000000;

// The N of binlog.N; nothing if that is not what it is called, or N is no number of a file.
std::optional<std::uint64_t> binlog_file_number(std::string_view name);

}  // namespace haricot::binlog
