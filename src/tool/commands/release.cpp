// haricot release: makes jobs ready or delayed that are not reserved.

#include "tool/client/errand.hpp"
#include "tool/commands/job_actions.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "release", "[OPTIONS] ID...",
    "Reserves jobs by id and releases them: ready, delayed and buried jobs become ready, or\n"
    "delayed with --delay. A job keeps its priority unless --priority is given. A reserved job\n"
    "can be released only by its holder. Requires a server with reserve-job (beanstalkd 1.12 or\n"
    "later).\n",
    "    haricot release 17\n"
    "    haricot release 17 --delay 10m\n"};

}  // namespace

int release(Words words) {
  Errand errand(kText);
  Subjects subjects(errand);
  Ending ending;
  bool quiet = false;
  add_priority_flag(errand, ending);
  add_delay_flag(errand, ending);
  JobRound::add_quiet_flag(errand, quiet);
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (const std::optional<int> over = subjects.take(0, Subjects::Ids::yes)) return *over;
  if (subjects.ids().empty()) return errand.mistake("requires ids of jobs");
  if (const std::optional<int> over = errand.connect()) return *over;
  return take_and_end_ids(errand, subjects.ids(), ending, "released", quiet);
}

}  // namespace haricot::tool
