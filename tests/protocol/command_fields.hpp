// Parsed lines, for tests.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string_view>

#include "haricot/protocol/command.hpp"

namespace haricot::test {

// Fields of a command, for comparison and output.
struct Fields {
  Verb verb = Verb::quit;
  std::uint32_t priority = 0;
  std::uint32_t seconds = 0;
  std::uint32_t ttr_s = 0;
  std::uint32_t body_bytes = 0;
  std::uint32_t bound = 0;
  std::uint64_t id = 0;
  std::string_view tube = {};
  std::string_view ids = {};
  StateWord state = StateWord::none;
  bool has_timeout = false;
  bool is_weighted = false;
  std::string_view tags = {};

  bool operator==(const Fields&) const = default;
};

inline void PrintTo(const Fields& fields, std::ostream* out) {
  *out << "{verb " << static_cast<int>(fields.verb) << " priority " << fields.priority
       << " seconds " << fields.seconds << " ttr " << fields.ttr_s << " bytes " << fields.body_bytes
       << " bound " << fields.bound << " id " << fields.id << " tube '" << fields.tube << "' ids '"
       << fields.ids << "' state " << static_cast<int>(fields.state) << " timeout "
       << fields.has_timeout << " weighted " << fields.is_weighted << " tags '" << fields.tags
       << "'}";
}

inline Fields fields_of(const Command& command) {
  return {command.verb,       command.priority, command.seconds,     command.ttr_s,
          command.body_bytes, command.bound,    command.id,          command.tube,
          command.ids,        command.state,    command.has_timeout, command.is_weighted,
          command.tags};
}

struct Valid {
  std::string_view line;
  Fields fields;
};

inline void expect_valid(const Valid& row) {
  Command command;
  // Values of an earlier command must not remain.
  command.priority = command.seconds = command.ttr_s = command.body_bytes = command.bound = 77;
  command.id = 77;
  command.tube = command.ids = command.tags = "left over";
  command.state = StateWord::buried;
  command.has_timeout = command.is_weighted = true;
  EXPECT_EQ(parse_command(row.line, command), ParseResult::ok) << row.line;
  EXPECT_EQ(fields_of(command), row.fields) << row.line;
}

inline void expect_all(std::initializer_list<std::string_view> lines, ParseResult result) {
  for (const std::string_view line : lines) {
    Command command;
    EXPECT_EQ(static_cast<int>(parse_command(line, command)), static_cast<int>(result))
        << "'" << line << "'";
  }
}

}  // namespace haricot::test
