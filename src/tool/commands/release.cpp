// haricot release: makes jobs ready or delayed that are not reserved.

#include <string>

#include "tool/client/errand.hpp"
#include "tool/client/subjects.hpp"
#include "tool/commands/job_round.hpp"
#include "tool/commands/job_taking.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "release", "[OPTIONS] ID...",
    "Reserves jobs by their ids and releases them: ready, delayed and buried jobs become ready,\n"
    "or delayed with --delay. Each keeps its priority, unless --priority gives another one. A\n"
    "job that a worker holds cannot be released by anybody else. The server has to know\n"
    "reserve-job (beanstalkd 1.12 and later).\n",
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
  if (subjects.ids().empty()) return errand.mistake("it takes the ids of jobs");
  if (const std::optional<int> over = errand.connect()) return *over;
  return take_and_end_ids(errand, subjects.ids(), ending, "released", quiet);
}

}  // namespace haricot::tool
