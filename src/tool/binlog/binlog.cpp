// haricot binlog: inspects and copies the files in which a server keeps its jobs, without a server.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/job_tags.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "tool/binlog/folder_jobs.hpp"
#include "tool/binlog/repair/guesses.hpp"
#include "tool/cli/command_line.hpp"
#include "tool/cli/job_line.hpp"
#include "tool/cli/output.hpp"
#include "tool/cli/subcommand.hpp"

namespace haricot::tool {
namespace {

using haricot::binlog::FileKind;
using haricot::binlog::FileReport;
using haricot::binlog::Problem;
using haricot::binlog::ReplayReport;

constexpr std::string_view kUse =
    "Use: haricot binlog check DIR          list and check the files of a folder\n"
    "     haricot binlog dump [--json] DIR  print the jobs, one on each line\n"
    "     haricot binlog copy SRC DST       write the jobs to a new folder\n"
    "     haricot binlog repair DIR NEW     copy, though the files do not fit together,\n"
    "                                       and report decisions and jobs that may be wrong\n\n"
    "DIR and SRC are only read. If a server uses the folder, its jobs of one moment are shown.\n\n";

constexpr std::string_view kActions[] = {"check", "dump", "copy", "repair"};

// Returns the mistake in a command line that begins with this action.
std::string mistake_in(std::string_view action) {
  const bool is_known =
      std::find(std::begin(kActions), std::end(kActions), action) != std::end(kActions);
  if (!is_known) return "unknown action: " + std::string(action) + suggestion(action, kActions);
  const bool is_of_two = action == "copy" || action == "repair";
  return std::string(action) + (is_of_two ? " requires two folders" : " requires one folder");
}

// Returns the last column: the end of the file, or its problem.
const char* state_of(const FileReport& file) {
  if (!file.damages.empty() || !file.lost_jobs.empty()) return "damaged";
  if (file.torn.bytes > 0) return "torn";
  return file.is_sealed ? "sealed" : "open";
}

const char* kind_name(FileKind kind) {
  switch (kind) {
    case FileKind::checked:
      return "checked";
    case FileKind::beanstalkd_v7:
      return "version 7";
    case FileKind::beanstalkd_v5:
      return "version 5";
    case FileKind::empty:
      return "empty";
    case FileKind::unidentified:
    case FileKind::unknown_version:
      break;
  }
  return "unknown";
}

void print_files(const FolderJobs& folder_jobs) {
  print_format("%-14s %-10s %12s %10s %10s  %s\n", "file", "format", "bytes", "records", "jobs",
               "end");
  const ReplayReport& report = folder_jobs.report();
  for (std::size_t i = 0; i < report.files.size(); ++i) {
    const FileReport& file = report.files[i];
    print_format("%-14s %-10s %12llu %10llu %10llu  %s\n", file.name.c_str(),
                 kind_name(file.kind()), static_cast<unsigned long long>(file.bytes),
                 static_cast<unsigned long long>(file.records_read),
                 static_cast<unsigned long long>(folder_jobs.jobs_in(folder_jobs.segments().at(i))),
                 state_of(file));
  }
  for (const Problem& problem : report.problems) {
    if (problem.kind != Problem::Kind::late) continue;
    print_format("%-14s %-10s %12s %10s %10s  left aside\n", safe_word(problem.file).c_str(), "-",
                 "-", "-", "-");
  }
}

// Counts jobs by tube, because there are far fewer tubes.
void print_tubes(const FolderJobs& folder_jobs) {
  std::map<std::string_view, std::array<std::uint64_t, 3>> tubes;
  const Engine& engine = folder_jobs.engine();
  for (const JobRef ref : folder_jobs.by_id()) {
    const Job& job = engine.jobs()[ref];
    std::size_t index = 0;
    if (job.state() == JobState::delayed) index = 1;
    if (job.state() == JobState::buried) index = 2;
    ++tubes[engine.tubes()[job.tube].name][index];
  }
  if (tubes.empty()) return;
  print_format("\n%10s %10s %10s  tube\n", "ready", "delayed", "buried");
  for (const auto& [name, counts] : tubes) {
    print_format("%10llu %10llu %10llu  %.*s\n", static_cast<unsigned long long>(counts[0]),
                 static_cast<unsigned long long>(counts[1]),
                 static_cast<unsigned long long>(counts[2]), static_cast<int>(name.size()),
                 name.data());
  }
}

void print_problems(const ReplayReport& report) {
  for (const Problem& problem : report.problems) {
    std::string kind = problem.kind == Problem::Kind::late ? "late: " : "torn: ";
    if (haricot::binlog::is_damage(problem)) kind = "DAMAGE: ";
    print(kind + safe_lines(haricot::binlog::to_sentence(problem)) + "\n");
  }
}

// Lists and checks a folder. `is_quiet` suppresses progress on a terminal.
//
// Returns 0 if everything was read and nothing is missing, kExitTorn if only records are lost that
// were not durable, kExitFailure after damage, and kExitLocal if the folder cannot be read.
int check_binlog(const std::string& folder, bool is_quiet) {
  FolderJobs folder_jobs;
  std::string error;
  Progress progress("read", is_quiet);
  progress.say("reading");
  const bool is_read = folder_jobs.read(folder, error);
  progress.clear();
  const ReplayReport& report = folder_jobs.report();
  if (!is_read) {
    print_problems(report);
    complain(error);
    return haricot::binlog::refusal_of(report.problems).empty() ? kExitLocal : kExitFailure;
  }
  print_files(folder_jobs);
  print_tubes(folder_jobs);
  print_format("\n%llu jobs, the next id is %llu\n",
               static_cast<unsigned long long>(folder_jobs.engine().jobs().size()),
               static_cast<unsigned long long>(report.next_id));
  if (const std::uint64_t keys = folder_jobs.engine().jobs().tombstones(); keys > 0) {
    print_format("%llu keys of deleted jobs\n", static_cast<unsigned long long>(keys));
  }
  for (const std::string& name : report.spares) print(safe_word(name) + ": not begun yet\n");
  if (folder_jobs.user() != 0) {
    print_format("process %d uses the folder: its last records may be missing\n",
                 folder_jobs.user());
  }
  for (const std::string& name : folder_jobs.names_aside()) {
    print(safe_word(name) + ": set aside, read by no server\n");
  }
  print_problems(report);
  if (!report.is_sound()) {
    print("damaged\n");
    return kExitFailure;
  }
  print(report.problems.empty() ? "sound\n" : "torn\n");
  return report.problems.empty() ? kExitDone : kExitTorn;
}

JobLine line_of(const FolderJobs& folder_jobs, JobRef ref) {
  const Engine& engine = folder_jobs.engine();
  const Job& job = engine.jobs()[ref];
  const JournaledJob journaled = engine.journaled(ref);
  JobLine line;
  line.id = job.id;
  line.tube = journaled.tube_name;
  line.state = state_name(job.state());
  line.priority = job.priority;
  line.delay_s = job.delay_s;
  line.ttr_s = job.ttr_s;
  line.age_s = (folder_jobs.now() - job.created).whole_seconds();
  line.is_held = engine.jobs().is_held(ref);
  if (job.state() == JobState::delayed && !line.is_held) {
    line.left_s = (journaled.deadline - folder_jobs.now()).whole_seconds();
  }
  for (std::size_t i = 0; i < kJobEvents; ++i) {
    line.counters[i] = engine.jobs().counted(ref, static_cast<JobEvent>(i));
  }
  line.tags = engine.jobs().tags(ref);
  line.body = engine.jobs().body(ref);
  return line;
}

// Returns the jobs by id, except that held jobs come last, after the jobs that they wait for, so
// that an import holds them again.
std::vector<JobRef> in_order(const FolderJobs& folder_jobs) {
  const JobStore& jobs = folder_jobs.engine().jobs();
  std::vector<JobRef> refs = folder_jobs.by_id();
  const auto held = std::stable_partition(refs.begin(), refs.end(),
                                          [&jobs](JobRef ref) { return !jobs.is_held(ref); });
  std::vector<HeldJob> ties;
  for (auto ref = held; ref != refs.end(); ++ref) {
    const JobTags tags = tags_in(jobs.tags(*ref));
    ties.push_back({std::string(tags.group), std::string(tags.after)});
  }
  std::vector<JobRef> order(refs.begin(), held);
  for (const std::size_t index : held_order(ties)) {
    order.push_back(held[static_cast<std::ptrdiff_t>(index)]);
  }
  return order;
}

TombstoneLine tombstone_line_of(const FolderJobs& jobs, JobRef tombstone_ref) {
  const Tombstone tombstone = jobs.engine().tombstone(tombstone_ref);
  return {.id = tombstone.id,
          .tube = tombstone.tube_name,
          .key = tombstone.key,
          .seconds = tombstone.seconds,
          .left_s = (tombstone.end - jobs.now()).whole_seconds()};
}

int dump_binlog(const std::string& folder, bool json) {
  FolderJobs folder_jobs;
  std::string error;
  if (!folder_jobs.read(folder, error)) {
    complain(error);
    return kExitLocal;
  }
  for (const JobRef ref : in_order(folder_jobs)) {
    const JobLine line = line_of(folder_jobs, ref);
    const std::string text = json ? to_json(line) : to_text(line);
    print(text);
  }
  for (const JobRef tombstone_ref : folder_jobs.engine().jobs().tombstones_by_id()) {
    const TombstoneLine line = tombstone_line_of(folder_jobs, tombstone_ref);
    const std::string text = json ? to_json(line) : to_text(line);
    print(text);
  }
  flush();  // Print the warnings after the jobs.
  for (const std::string& warning : folder_jobs.report().warnings()) {
    complain("DAMAGE: " + warning);
  }
  return folder_jobs.report().is_sound() ? kExitDone : kExitFailure;
}

// Copies the jobs into a folder that is new or empty. Returns kExitFailure if the source is
// damaged; all readable jobs are copied nevertheless.
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

// Repairs a folder: recovers what it can, by means that may be wrong.
//
//   1. gather what each file states about itself             like a server
//   2. guess about files that do not identify themselves     guesses.hpp
//   3. choose the files and their order                      rescue.hpp
//   4. read the files                                        like a server
//   5. write the jobs to a new folder                        like `haricot binlog copy`
//   6. report each job that may be wrong, with the reason
//
// Returns kExitFailure if there is a decision, a guess or such a job, or if the source is damaged.
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
  print_problems(folder_jobs.report());
  const Doubts doubts = doubts_of(folder_jobs, guesses);
  print_doubts(doubts, folder_jobs);
  print_format("%llu jobs written to %s, unsure of %llu\n",
               static_cast<unsigned long long>(folder_jobs.engine().jobs().size()), to.c_str(),
               static_cast<unsigned long long>(doubts.size()));
  const std::vector<Problem>& problems = folder_jobs.report().problems;
  const bool is_torn_at_most =
      std::all_of(problems.begin(), problems.end(),
                  [](const Problem& problem) { return problem.kind == Problem::Kind::torn; });
  return is_torn_at_most && doubts.empty() && guesses.empty() ? kExitDone : kExitFailure;
}

}  // namespace

int binlog(Words words) {
  bool json = false;
  bool help = false;
  bool quiet = false;
  const std::vector<Flag> flags = {
      {0, "json", "", "dump: print a JSON object for each job",
       [&json](std::string_view) { return json = true; }},
      {'q', "quiet", "", "check, copy, repair: show no progress on a terminal",
       [&quiet](std::string_view) { return quiet = true; }},
      {'h', "help", "", "show this help and exit",
       [&help](std::string_view) { return help = true; }},
  };
  std::vector<std::string_view> operands;
  std::string error;
  if (!read_flags(flags, words, operands, error)) {
    complain(error);
    return kExitUsage;
  }
  const std::string text = std::string(kUse) + "Options:\n" + describe_flags(flags);
  if (help) {
    print(text);
    return kExitDone;
  }
  const std::string_view action = operands.empty() ? std::string_view{} : operands.front();
  const std::size_t folders = operands.empty() ? 0 : operands.size() - 1;
  if (action == "check" && folders == 1) return check_binlog(std::string(operands[1]), quiet);
  if (action == "dump" && folders == 1) return dump_binlog(std::string(operands[1]), json);
  if (action == "copy" && folders == 2) {
    return copy_binlog(std::string(operands[1]), std::string(operands[2]), quiet);
  }
  if (action == "repair" && folders == 2) {
    return repair_binlog(std::string(operands[1]), std::string(operands[2]), quiet);
  }
  if (action.empty()) {
    std::fputs(text.c_str(), stderr);
  } else {
    complain(mistake_in(action) + "\nTry haricot binlog --help.");
  }
  return kExitUsage;
}

}  // namespace haricot::tool
