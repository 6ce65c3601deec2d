#include "haricot/binlog/format/file_name.hpp"

#include "haricot/base/number.hpp"

namespace haricot::binlog {

std::string binlog_file_name(std::uint64_t number) {
  return "binlog." + std::to_string(number);
}

std::string spare_name(std::uint64_t number) {
  return binlog_file_name(number) + ".tmp";
}

std::string damaged_name(std::uint64_t number, std::uint64_t serial) {
  return binlog_file_name(number) + ".damaged." + std::to_string(serial);
}

std::string torn_name(std::uint64_t number, std::uint64_t serial) {
  return binlog_file_name(number) + ".torn." + std::to_string(serial);
}

std::string aside_name(std::uint64_t number, std::uint64_t serial) {
  return binlog_file_name(number) + ".aside." + std::to_string(serial);
}

std::optional<std::uint64_t> binlog_file_number(std::string_view name) {
  constexpr std::string_view kPrefix = "binlog.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  const std::optional<std::uint64_t> number = read_number(name);
  const bool good = number && *number > 0 && name[0] != '0' && *number <= kFileNumberMax;
  return good ? number : std::nullopt;
}

}  // namespace haricot::binlog
