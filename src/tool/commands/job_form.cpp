#include "tool/commands/job_form.hpp"

#include <unistd.h>

#include <string>

#include "haricot/base/json.hpp"
#include "haricot/base/utf8.hpp"
#include "tool/cli/safe_text.hpp"

namespace haricot::tool {

void add_form_flags(Errand& errand, JobForm& form) {
  errand.add({'i', "id", "", "print only the id of the job", set(form.only_id)});
  errand.add({0, "raw", "", "write the body as it is, also to a terminal", set(form.raw)});
}

std::optional<int> print_job(Errand& errand, const Response& job, const JobForm& form) {
  if (errand.json()) {
    bool is_there = false;
    const std::string command = "stats-job " + std::to_string(job.number);
    const std::optional<StatsText> stats = errand.server().ask_stats(command, is_there);
    if (!stats) return errand.failed();
    if (!is_there) return errand.no("job " + std::to_string(job.number) + " is gone meanwhile");
    const std::string body = is_utf8(job.body) ? "\"body\":" + json_string(job.body)
                                               : "\"body_base64\":" + json_base64(job.body);
    print("{" + stats->json_members() + ",\"bytes\":" + std::to_string(job.body.size()) + "," +
          body + "}\n");
  } else if (form.only_id) {
    print(std::to_string(job.number) + "\n");
  } else if (form.raw || ::isatty(STDOUT_FILENO) == 0) {
    print(job.body);
  } else {
    print(safe_lines(job.body) + (job.body.ends_with('\n') ? "" : "\n"));
  }
  return std::nullopt;
}

}  // namespace haricot::tool
