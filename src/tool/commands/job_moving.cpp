#include "tool/commands/job_moving.hpp"

namespace haricot::tool {

JobMove::Outcome JobMover::move(std::uint64_t id, const PutTags& tags) {
  if (!support_.takes(tags)) return JobMove::Outcome::failed;
  Remote& server = errand_.server();
  JobMove move(id, from_, to_, tags, places_);
  while (!move.is_over()) {
    std::string commands;
    for (const std::string& command : move.commands()) commands += command;
    const auto answers = server.ask_together(move.name(), commands, move.commands().size());
    if (answers) {
      move.take(*answers);
    } else {
      move.lose();
    }
  }
  for (const std::string& message : move.messages()) errand_.warn(message);
  if (const auto& refused = move.refused()) {
    server.refuse(refused->command, refused->code, refused->line);
  }
  return move.outcome();
}

}  // namespace haricot::tool
