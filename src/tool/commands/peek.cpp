// haricot peek: prints a job's body without reserving the job.

#include <string>

#include "tool/client/errand.hpp"
#include "tool/commands/job_actions.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "peek",
    "[OPTIONS] ID\n"
    "     haricot peek [OPTIONS] --ready|--delayed|--buried [TUBE]",
    "Prints the body of a job without changing the job: the job with this id, or the next ready\n"
    "job of a tube, its delayed job that is due first, or its oldest buried job. Writes the body\n"
    "unchanged; on a terminal, shows control characters as \\xHH. --json prints one object with\n"
    "the statistics of the job, and its body as \"body\" if it is UTF-8, otherwise as\n"
    "\"body_base64\".\n",
    "    haricot peek 17\n"
    "    haricot peek mail --buried\n"};

}  // namespace

int peek(Words words) {
  Errand errand(kText);
  PlaceFlags places;
  Subjects subjects(errand);
  JobForm form;
  subjects.add_tube_flag("tube, same as the operand (default)");
  add_place_flags(errand, places);
  add_form_flags(errand, form);
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (const std::optional<int> over = subjects.take(1, Subjects::Ids::yes)) return *over;
  const std::vector<std::uint64_t>& ids = subjects.ids();
  if (places.count() + ids.size() != 1) {
    return errand.mistake("requires one id, or one of --ready, --delayed and --buried");
  }
  if (!subjects.tubes().empty() && !ids.empty()) return errand.mistake("an id excludes a tube");
  const std::string tube = subjects.empty() ? "default" : subjects.tube();
  if (const std::optional<int> over = errand.connect()) return *over;

  std::string command;
  std::string missing;
  if (ids.empty()) {
    int status = 0;
    if (!use_tube(errand, tube, status)) return status;
    for (const Place place : kPlaces) {
      if (!places.has(place)) continue;
      command = peek_command(place);
      missing = std::string(name_of(place)) + " job in tube " + tube;
    }
  } else {
    command = "peek " + std::to_string(ids.front());
    missing = "job " + std::to_string(ids.front());
  }
  const std::optional<Response> job = errand.server().ask(command, ReplyCode::found);
  if (!job) return errand.failed();
  if (job->code == ReplyCode::not_found) return errand.no("there is no " + missing);
  if (const std::optional<int> over = print_job(errand, *job, form)) return *over;
  return errand.done();
}

}  // namespace haricot::tool
