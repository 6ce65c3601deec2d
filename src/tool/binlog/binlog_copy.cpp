// haricot binlog copy: writes the jobs of a folder to a new folder.

#include <string>

#include "tool/binlog/binlog_commands.hpp"
#include "tool/binlog/folder_jobs.hpp"
#include "tool/binlog/new_folder.hpp"
#include "tool/cli/output.hpp"
#include "tool/cli/subcommand.hpp"

namespace haricot::tool {

int copy_binlog(const std::string& from, const std::string& to, bool is_quiet) {
  FolderJobs folder_jobs;
  std::string error;
  Progress progress("copied", is_quiet);
  progress.say("reading");
  bool good = folder_jobs.read(from, error);
  progress.clear();
  good = good && write_to_new_folder(folder_jobs, to, is_quiet, error);
  if (!good) {
    complain(error);
    return kExitLocal;
  }
  print_format("%llu jobs copied\n",
               static_cast<unsigned long long>(folder_jobs.engine().jobs().size()));
  for (const std::string& warning : folder_jobs.report().warnings()) {
    complain("DAMAGE: " + warning);
  }
  return folder_jobs.report().is_sound() ? kExitDone : kExitFailure;
}

}  // namespace haricot::tool
