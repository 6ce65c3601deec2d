// haricot kick: makes buried and delayed jobs ready.

#include <span>
#include <string>

#include "tool/client/errand.hpp"
#include "tool/commands/job_actions.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "kick",
    "[OPTIONS] ID...\n"
    "     haricot kick [OPTIONS] TUBE --count N|--all\n"
    "     haricot kick [OPTIONS] [TUBE] FILTER...",
    "Makes buried and delayed jobs ready: the jobs with these ids, or some jobs of a tube. For a\n"
    "tube, the server kicks the oldest buried jobs, or delayed jobs if none is buried. Filters\n"
    "choose buried jobs of a tube, or of all tubes; with --state delayed they choose delayed\n"
    "ones. Filters require haricotd, and ask for confirmation on a terminal.\n",
    "    haricot kick 17 18\n"
    "    haricot kick mail --all                             # retry all buried jobs\n"
    "    haricot kick mail --since yesterday --note timeout\n"};

int kick_tube(Errand& errand, const std::string& tube, std::uint64_t count, bool quiet) {
  JobRound round(errand, "kicked", quiet);
  int status = 0;
  if (!use_tube(round, tube, status)) return status;
  const std::optional<Response> kicked =
      errand.server().ask("kick " + std::to_string(count), ReplyCode::kicked);
  if (!kicked) return errand.failed();
  round.count(kicked->number);
  return round.end("");
}

}  // namespace

int kick(Words words) {
  constexpr std::uint64_t kCountMax = 2147483647;  // Accepted by every server.
  Errand errand(kText);
  Subjects subjects(errand);
  std::uint64_t count = 0;
  bool all = false;
  bool quiet = false;
  JobFilter filter;
  bool yes = false;
  subjects.add_tube_flag();
  errand.add({'n', "count", "N", "at most N jobs", set_count(count, 1, kCountMax),
              "a number from 1 to 2147483647"});
  errand.add({0, "all", "", "all buried jobs, or all delayed jobs if none is buried", set(all)});
  filter.add_flags(errand, kDelayed | kBuried);
  add_yes_flag(errand, yes);
  JobRound::add_quiet_flag(errand, quiet);
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (const std::optional<int> over = subjects.take(1, Subjects::Ids::yes)) return *over;
  if (const std::optional<int> over = check_bound(errand, subjects, count > 0, all, filter)) {
    return *over;
  }
  if (const std::optional<int> over = errand.connect()) return *over;
  if (filter.is_given()) {
    const MatchChange change{.verb = "Kick",
                             .done = "kicked",
                             .tubes = subjects.tubes(),
                             .states = filter.states_or(kBuried),
                             .count = count > 0 ? count : MatchChange::kAll,
                             .yes = yes,
                             .quiet = quiet};
    return change_matches(
        errand, filter, change, [&](std::span<const ListedJob> jobs, JobRound& round) {
          return change_each(errand, "kick-job", ReplyCode::kicked_job, jobs, round);
        });
  }
  if (subjects.ids().empty()) {
    return kick_tube(errand, subjects.tube(), all ? kCountMax : count, quiet);
  }

  JobRound round(errand, "kicked", quiet);
  for (const std::uint64_t id : subjects.ids()) {
    const std::optional<Response> kicked =
        errand.server().ask("kick-job " + std::to_string(id), ReplyCode::kicked_job);
    if (!kicked) return round.fail();
    round.add(id, kicked->code == ReplyCode::kicked_job);
  }
  return round.end("or is neither buried nor delayed");
}

}  // namespace haricot::tool
