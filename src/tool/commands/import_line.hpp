// A job as a line of JSON. `haricot import` reads it; `haricot export`, `haricot peek --json` and
// `haricot binlog dump --json` write it.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tool/client/put_tags.hpp"
#include "tool/commands/job_actions.hpp"

namespace haricot::tool {

struct ImportJob {
  std::string tube;
  Place place = Place::ready;  // A reserved job is imported as ready.
  bool is_deleted = false;  // The line describes only a key that has outlived its job; nothing else
                            // is read.
  std::uint64_t priority = 1024;
  std::uint64_t delay_s = 0;  // 0 unless the job is delayed.
  std::uint64_t ttr_s = 60;
  PutTags tags;
  std::string body;
  std::string note;  // Empty: none.
};

// Returns nothing and sets `error` if the line is invalid. `tube`, unless empty, replaces the tube
// of the line.
std::optional<ImportJob> parse_import_line(std::string_view line, const std::string& tube,
                                           std::string& error);

}  // namespace haricot::tool
