// The grammar of answers, and how many there have to be: written for the fuzzer, from the protocol
// alone.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "haricot/protocol/command.hpp"

namespace haricot::fuzz {

// Takes whole answers off the front of what a client heard. Ends the program at anything that is no
// answer.
class AnswerReader {
 public:
  void hear(std::string_view bytes);

  std::size_t answers() const { return answers_; }
  // Nothing of an answer is left over, and no job of a batch is missing.
  bool is_at_end() const { return rest_.empty() && batch_left_ == 0; }
  // All that was heard, without what may differ from one run to the next: what reports say of the
  // files of the binlog.
  const std::string& text() const { return text_; }

 private:
  bool take_part();

  std::string rest_;
  std::string text_;
  std::size_t answers_ = 0;
  std::uint64_t batch_left_ = 0;  // So many jobs of a batch have yet to come.
};

struct Wanted {
  std::size_t answers = 0;
  bool quits = false;
};
// How many answers a client that has these commands gets if it sends this and closes its writing
// side, from a server that takes bodies of up to so many bytes.
Wanted answers_to(std::string_view sent, std::size_t job_bytes_max,
                  CommandSet commands = CommandSet::extended);

}  // namespace haricot::fuzz
