// The grammar of answers and their number, written for the fuzzer from the protocol only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "haricot/protocol/command.hpp"

namespace haricot::fuzz {

// Consumes complete answers at the beginning of received bytes. Ends the program at anything else.
class AnswerReader {
 public:
  void hear(std::string_view bytes);

  std::size_t answers() const { return answers_; }
  // Returns true if no part of an answer is left, and no job of a batch is missing.
  bool is_at_end() const { return rest_.empty() && batch_left_ == 0; }
  // Returns all received text without the parts that may differ between runs: facts about the files
  // of the binlog.
  const std::string& text() const { return text_; }

 private:
  bool take_part();

  std::string rest_;
  std::string text_;
  std::size_t answers_ = 0;
  std::uint64_t batch_left_ = 0;  // Jobs of a batch that have yet to come.
};

struct Wanted {
  std::size_t answers = 0;
  bool quits = false;
};
// Returns how many answers a client with these commands gets if it sends this and closes its
// writing side, from a server that accepts bodies up to this size.
Wanted answers_to(std::string_view sent, std::size_t job_bytes_max,
                  CommandSet commands = CommandSet::extended);

}  // namespace haricot::fuzz
