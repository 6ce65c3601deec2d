// haricot flush: deletes the jobs of a tube, with one command if the server has flush-tube.

#include <string_view>

#include "tool/client/errand.hpp"
#include "tool/commands/job_actions.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "flush", "[OPTIONS] TUBE",
    "Deletes the ready, delayed and buried jobs of a tube, or those in one state. Keeps reserved\n"
    "jobs, and jobs that are put later. haricotd does this with one command. beanstalkd does not\n"
    "have it: there, flush deletes jobs one by one, each after a peek. Without --yes, asks for\n"
    "confirmation at the terminal.\n",
    "    haricot flush mail --yes\n"
    "    haricot flush mail --state buried\n"};

bool set_state(PlaceFlags& places, std::string_view value) {
  places = {value == "ready", value == "delayed", value == "buried"};
  return places.count() == 1;
}

}  // namespace

int flush_tube(Words words) {
  Errand errand(kText);
  Subjects subjects(errand);
  TubeClearing clearing{.tube = {}, .places = {true, true, true}};
  errand.add({'s', "state", "STATE", "only jobs in this state",
              [&clearing](std::string_view value) { return set_state(clearing.places, value); },
              "ready, delayed or buried"});
  subjects.add_tube_flag();
  add_clearing_flags(errand, clearing);
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (const std::optional<int> over = subjects.take(1)) return *over;
  if (subjects.empty()) return errand.mistake("requires a tube");
  clearing.tube = subjects.tube();
  if (const std::optional<int> over = check_consent(errand, clearing)) return *over;
  if (const std::optional<int> over = errand.connect()) return *over;
  return clear_tube(errand, clearing);
}

}  // namespace haricot::tool
