// A job as a line of JSON: how `haricot import` reads what `haricot export`, `haricot peek --json`
// and `haricot binlog dump --json` write.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tool/client/put_tags.hpp"
#include "tool/commands/tube_choice.hpp"

namespace haricot::tool {

struct ImportJob {
  std::string tube;
  Place place = Place::ready;  // A job that was reserved is ready.
  bool is_deleted = false;     // Of the job only its key is left: nothing else is read.
  std::uint64_t priority = 1024;
  std::uint64_t delay_s = 0;  // 0 unless the job is delayed.
  std::uint64_t ttr_s = 60;
  PutTags tags;
  std::string body;
};

// Nothing: the line is no job, and `error` says why. `tube`, if it is not empty, is the tube of the
// job whatever the line says.
std::optional<ImportJob> parse_import_line(std::string_view line, const std::string& tube,
                                           std::string& error);

}  // namespace haricot::tool
