#include "tool/commands/job_form.hpp"

#include <unistd.h>

#include <string>

#include "haricot/base/json.hpp"
#include "haricot/base/utf8.hpp"
#include "tool/cli/output.hpp"
#include "tool/client/list_page.hpp"
#include "tool/client/put_tags.hpp"

namespace haricot::tool {
namespace {

// Adds the tags of the job, which stats-job lacks, if the server can list jobs. Returns false if
// the server failed.
bool add_tags(Remote& server, std::uint64_t id, StatsText& stats) {
  const std::optional<Response> response = server.ask("scan-jobs " + std::to_string(id) + " 1");
  if (!response) return false;
  if (response->code != ReplyCode::ok) return true;
  const std::optional<JobPage> page = parse_job_page(response->body);
  if (!page || page->jobs.size() != 1 || page->jobs[0].number("id") != id) return true;
  for (const TagRow& row : kTagTable) {
    const std::string* value = page->jobs[0].find(row.word);
    if (value != nullptr) stats.add({std::string(row.word), *value});
  }
  return true;
}

}  // namespace

void add_form_flags(Errand& errand, JobForm& form) {
  errand.add({'i', "id", "", "print only the id of the job", set(form.only_id)});
  errand.add({0, "raw", "", "write the body unchanged, even to a terminal", set(form.raw)});
}

std::optional<int> print_job(Errand& errand, const Response& job, const JobForm& form) {
  if (errand.json()) {
    bool is_there = false;
    const std::string command = "stats-job " + std::to_string(job.number);
    std::optional<StatsText> stats = errand.server().ask_stats(command, is_there);
    if (!stats || (is_there && !add_tags(errand.server(), job.number, *stats))) {
      return errand.failed();
    }
    if (!is_there) return errand.no("job " + std::to_string(job.number) + " was deleted meanwhile");
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
