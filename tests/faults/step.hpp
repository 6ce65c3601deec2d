// A step of a scenario, and its result.

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
  std::string body = {};  // put: without CR LF
  Duration time = {};     // pass
  bool is_cut = false;    // command: comes in small pieces
};

struct Answer {
  std::string line;  // Without CR LF.
  std::string body;
  std::vector<Answer> jobs = {};  // RESERVED_BATCH: the answers that follow.

  // Return the first word, and the words after it.
  std::string word() const { return line.substr(0, line.find(' ')); }
  std::uint64_t number() const;  // The first one after the word.
  std::uint64_t last_number() const;
};

struct Happened {
  std::map<int, std::vector<Answer>> answers;  // By client.
  std::set<int> closed;                        // Clients whose connections ended.
  bool had_trouble = false;                    // A failure happened in this step, or continues.
  Instant now;                                 // Its end.
};

}  // namespace haricot::faults
