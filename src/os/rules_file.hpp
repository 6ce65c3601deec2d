// The rules of the flags --rule and --rules.

#pragma once

#include <string>
#include <vector>

#include "haricot/queue/rules.hpp"
#include "os/log.hpp"
#include "os/options.hpp"

namespace haricot::os {

// Appends the rules of a file, one a line. Empty lines and lines that begin with # are skipped.
// Returns false and sets `error`, with the line, if the file cannot be read or has a line that is
// no rule.
[[nodiscard]] bool read_rules_file(const std::string& path, std::vector<Rule>& rules,
                                   std::string& error);

// Sets all rules of the options: those of --rule, then those of the file of --rules. Returns false
// and sets `error` on failure; then `rules` is undefined.
[[nodiscard]] bool read_rules(const Options& options, std::vector<Rule>& rules, std::string& error);

// Logs all rules that are in effect now.
void log_rules(Log& log, const std::vector<Rule>& rules);

}  // namespace haricot::os
