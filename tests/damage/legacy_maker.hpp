// Writes files like beanstalkd, of version 7 and of version 5 (1.4 to 1.9).

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "haricot/binlog/format/record.hpp"

namespace haricot::damage {

// The padding of a record of version 7. beanstalkd copies the padding that it has read.
struct Padding {
  std::uint32_t at_12 = 0;
  std::uint32_t at_36 = 0;
  std::uint32_t at_77 = 0;  // Three bytes.
};
// Returns the padding of the record. Requires: `bytes` begins with a record of version 7.
Padding padding_of(std::string_view bytes);

class LegacyMaker {
 public:
  explicit LegacyMaker(std::uint32_t version);

  void add(const binlog::Record& record, const Padding& padding = {});
  // Returns the file with zeros at its end: beanstalkd preallocates its files.
  std::string padded(std::size_t zeros = 700) const { return bytes_ + std::string(zeros, '\0'); }

 private:
  void append(std::uint64_t value, int bytes);

  bool is_v5_;
  std::string bytes_;
};

}  // namespace haricot::damage
