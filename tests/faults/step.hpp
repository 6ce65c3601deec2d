// A step of a scenario, and what came of it.

#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "haricot/base/time.hpp"

namespace haricot::faults {

struct Step {
  enum class Kind : std::uint8_t { connect, command, pass, half_close, vanish };
  Kind kind = Kind::command;
  int client = 0;
  std::string line = {};  // command: without CR LF
  std::string body = {};  // of a put, without CR LF
  Duration time = {};     // pass
  bool is_cut = false;    // command: comes in small pieces
};

struct Answer {
  std::string line;  // Without CR LF.
  std::string body;
  std::vector<Answer> jobs = {};  // Of RESERVED_BATCH: what stands after it.

  // The word that it begins with, and the words after it.
  std::string word() const { return line.substr(0, line.find(' ')); }
  std::uint64_t number() const;  // The first one after the word.
  std::uint64_t last_number() const;
};

struct Happened {
  std::map<int, std::vector<Answer>> answers;  // By client.
  std::set<int> closed;                        // Whose connection came to an end.
  bool had_trouble = false;                    // Something failed in this step, or still does.
  Instant now;                                 // When it ended.
};

}  // namespace haricot::faults
