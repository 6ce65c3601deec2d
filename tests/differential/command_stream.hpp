// A random stream of the actions of clients of a beanstalk server: valid commands, malformed ones,
// batches, lines that arrive in pieces, connections that end in every way. Equal seeds and answers
// give equal streams.
//
// It omits actions whose answer would depend on the moment: delays, TTRs and pauses of a few
// seconds (timed_scene.hpp has those), and two clients that wait on one tube. It also omits known
// differences: see malformed_lines.hpp.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stream_model.hpp"
#include "support/random.hpp"

namespace haricot::test {

struct Command {
  std::string bytes;        // With every CR LF, and the body of a put.
  std::size_t answers = 1;  // Number of answers to these bytes.
  bool may_wait = false;    // The only answer may take until another event.
};

enum class StepKind {
  exchange,    // Send all commands at once, read all answers.
  half_close,  // Like exchange, then end this direction and wait for the end.
  close,       // Close without reading pending answers.
  reset,       // Close with a TCP reset.
};

struct Step {
  StepKind kind = StepKind::exchange;
  std::size_t connection = 0;
  std::vector<Command> commands = {};
  std::size_t split_at = 0;  // Not 0: the bytes before this one arrive before the others.
};

class CommandStream final {
 public:
  CommandStream(std::uint64_t seed, const StreamModel& model) : random_(seed), model_(model) {}

  Step next();

  // Returns true if this client must not leave now, because servers are known to differ then.
  bool must_stay(std::size_t connection) const;

 private:
  void add_commands(Step& step, std::size_t count);
  void add_waiting_command(Step& step);
  Step step_of_waiting(std::size_t connection);
  Step ending_step(std::size_t connection);

  Command any_command(const ClientModel& client);
  Command valid_command(const ClientModel& client);
  Command job_command(const ClientModel& client);
  Command put();
  Command put_with_a_wrong_end();
  Command malformed_put();
  Command put_too_big_with_garbage();
  Command malformed_line(const ClientModel& client);
  Command waiting_command();

  std::string body();
  std::string job_id(const ClientModel& client);
  std::string tube();
  std::string priority();
  std::string duration();

  Random random_;
  const StreamModel& model_;
};

}  // namespace haricot::test
