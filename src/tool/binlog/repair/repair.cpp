// haricot binlog repair: recovers what it can from a folder, by means that may be wrong.
//
//   1. gather what each file states about itself             like a server
//   2. guess about files that do not identify themselves     guesses.hpp
//   3. choose the files and their order                      folder_sorting.hpp
//   4. read the files                                        like a server
//   5. write the jobs to a new folder                        like `haricot binlog copy`
//   6. report each job that may be wrong, with the reason
//
// The damaged folder is only read.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "haricot/binlog/format/file_name.hpp"
#include "tool/binlog/binlog_commands.hpp"
#include "tool/binlog/folder_jobs.hpp"
#include "tool/binlog/repair/guesses.hpp"
#include "tool/cli/output.hpp"
#include "tool/cli/subcommand.hpp"

namespace haricot::tool {
namespace {

using haricot::binlog::FileReport;
using haricot::binlog::Problem;

using Doubts = std::map<JobId, std::vector<std::string>>;

// Returns the number of the file that a problem names: the one that it was written under, or that
// of its name if it was not read.
std::uint64_t number_of(const std::string& name, const FolderJobs& folder_jobs) {
  for (const FileReport& file : folder_jobs.report().files) {
    if (file.name == name) return file.number;
  }
  return haricot::binlog::binlog_file_number(name).value_or(0);
}

void doubt_jobs_in(std::size_t index, const std::string& why, const FolderJobs& folder_jobs,
                   Doubts& doubts) {
  for (const JobRef ref : folder_jobs.all_in(folder_jobs.segments().at(index))) {
    doubts[folder_jobs.engine().jobs()[ref].id].push_back(why);
  }
}

Doubts doubts_of(const FolderJobs& folder_jobs, const std::vector<Guess>& guesses) {
  Doubts doubts;
  const std::vector<FileReport>& files = folder_jobs.report().files;
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (const Guess& guess : guesses) {
      if (guess.file == files[i].name) {
        doubt_jobs_in(i, "it is in " + guess.file + ", which " + guess.what, folder_jobs, doubts);
      }
    }
    if (files[i].unproven > 0) {
      doubt_jobs_in(i, "no checksums protect the records of " + files[i].name, folder_jobs, doubts);
    }
  }
  for (const Problem& problem : folder_jobs.report().problems) {
    if (problem.kind == Problem::Kind::job_lost) {
      doubts[problem.id].push_back("its body in " + problem.file + " is damaged: it is lost");
    }
    if (problem.kind != Problem::Kind::in_doubt) continue;
    const std::uint64_t number = number_of(problem.file, folder_jobs);
    const std::string why = "the lost part of " + problem.file + " may have changed or deleted it";
    for (std::size_t i = 0; i < files.size() && files[i].number <= number; ++i) {
      doubt_jobs_in(i, why, folder_jobs, doubts);
    }
  }
  return doubts;
}

void print_doubts(const Doubts& doubts, const FolderJobs& folder_jobs) {
  const Engine& engine = folder_jobs.engine();
  for (const auto& [id, reasons] : doubts) {
    std::string line = "unsure of job " + std::to_string(id);
    if (const JobRef ref = engine.jobs().find(id); ref != JobRef::none) {
      line += " in " + safe_word(engine.journaled(ref).tube_name);
    }
    const char* between = ": ";
    for (const std::string& reason : reasons) {
      line += between + reason;
      between = "; ";
    }
    print(line + "\n");
  }
}

}  // namespace

int repair_binlog(const std::string& folder, const std::string& to, bool is_quiet) {
  FolderJobs folder_jobs;
  std::string error;
  std::vector<Guess> guesses;
  Progress progress("read", is_quiet);
  progress.say("reading");
  bool good = folder_jobs.rescue(folder, guesses, error);
  progress.clear();
  good = good && write_to_new_folder(folder_jobs, to, is_quiet, error);
  if (!good) {
    complain(error);
    return kExitLocal;
  }
  for (const Guess& guess : guesses) print(safe_word(guess.file) + " " + guess.what + "\n");
  for (const Problem& problem : folder_jobs.report().problems) {
    print(std::string(haricot::binlog::is_damage(problem) ? "DAMAGE: " : "torn: ") +
          safe_lines(haricot::binlog::to_sentence(problem)) + "\n");
  }
  const Doubts doubts = doubts_of(folder_jobs, guesses);
  print_doubts(doubts, folder_jobs);
  print_format("%llu jobs written to %s, unsure of %llu\n",
               static_cast<unsigned long long>(folder_jobs.engine().jobs().size()), to.c_str(),
               static_cast<unsigned long long>(doubts.size()));
  return folder_jobs.report().is_sound() && doubts.empty() && guesses.empty() ? kExitDone
                                                                              : kExitFailure;
}

}  // namespace haricot::tool
