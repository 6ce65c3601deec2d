// Names of the files in a folder.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace haricot::binlog {

// binlog.N
std::string binlog_file_name(std::uint64_t number);
// Name of a file before it is begun, which beanstalkd does not read.
std::string spare_name(std::uint64_t number);
// Names of files that nothing removes: the copy of a file that was not read completely, the torn
// end of a file, and a file of another folder or name. `serial` distinguishes copies of one file.
std::string damaged_name(std::uint64_t number, std::uint64_t serial);
std::string torn_name(std::uint64_t number, std::uint64_t serial);
std::string aside_name(std::uint64_t number, std::uint64_t serial);

// The highest N that beanstalkd can read, and the last one with which a folder is opened.
inline constexpr std::uint64_t kFileNumberMax = 2147483647;
inline constexpr std::uint64_t kFileNumberLast = 2147000000;

// Returns the N of binlog.N; nothing for another name, or if N is no number of a file.
std::optional<std::uint64_t> binlog_file_number(std::string_view name);

}  // namespace haricot::binlog
