// haricot binlog check: lists files, tubes and problems of a folder.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

#include "tool/binlog/binlog_commands.hpp"
#include "tool/binlog/folder_jobs.hpp"
#include "tool/cli/output.hpp"
#include "tool/cli/subcommand.hpp"

namespace haricot::tool {
namespace {

using haricot::binlog::FileKind;
using haricot::binlog::FileReport;
using haricot::binlog::Problem;
using haricot::binlog::ReplayReport;

// Returns the last column: the end of the file, or its problem.
const char* state_of(const FileReport& file) {
  if (!file.damages.empty() || !file.lost_jobs.empty()) return "damaged";
  if (file.name_number != file.number) return "displaced";
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
    const std::string name = "binlog." + std::to_string(file.name_number);
    print_format("%-14s %-10s %12llu %10llu %10llu  %s\n", name.c_str(), kind_name(file.kind()),
                 static_cast<unsigned long long>(file.bytes),
                 static_cast<unsigned long long>(file.records_read),
                 static_cast<unsigned long long>(folder_jobs.jobs_in(folder_jobs.segments().at(i))),
                 state_of(file));
  }
  for (const Problem& problem : report.problems) {
    if (!haricot::binlog::is_left_aside(problem.kind)) continue;
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

}  // namespace

int check_binlog(const std::string& folder, bool is_quiet) {
  FolderJobs folder_jobs;
  std::string error;
  Progress progress("read", is_quiet);
  progress.say("reading");
  const bool is_read = folder_jobs.read(folder, error);
  progress.clear();
  if (!is_read) {
    complain(error);
    return kExitLocal;
  }
  const ReplayReport& report = folder_jobs.report();
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
  for (const Problem& problem : report.problems) {
    const std::string kind = haricot::binlog::is_damage(problem) ? "DAMAGE: " : "torn: ";
    print(kind + safe_lines(haricot::binlog::to_sentence(problem)) + "\n");
  }
  if (!report.is_sound()) {
    print("damaged\n");
    return kExitFailure;
  }
  print(report.problems.empty() ? "sound\n" : "torn\n");
  return report.problems.empty() ? kExitDone : kExitTorn;
}

}  // namespace haricot::tool
