#include "haricot/binlog/problem.hpp"

namespace haricot::binlog {
namespace {

std::string count(std::uint64_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

}  // namespace

bool is_damage(const Problem& problem) {
  return problem.kind != Problem::Kind::torn;
}

bool is_left_aside(Problem::Kind kind) {
  using Kind = Problem::Kind;
  return kind == Kind::duplicate || kind == Kind::foreign || kind == Kind::undecided ||
         kind == Kind::contradicted || kind == Kind::late;
}

const char* name_of(Problem::Kind kind) {
  switch (kind) {
    case Problem::Kind::damaged:
      return "damaged";
    case Problem::Kind::job_lost:
      return "job-lost";
    case Problem::Kind::unproven:
      return "unproven";
    case Problem::Kind::torn:
      return "torn";
    case Problem::Kind::missing:
      return "file-missing";
    case Problem::Kind::all_missing:
      return "all-files-missing";
    case Problem::Kind::next_missing:
      return "next-file-missing";
    case Problem::Kind::emptied:
      return "file-emptied";
    case Problem::Kind::displaced:
      return "file-displaced";
    case Problem::Kind::duplicate:
      return "file-duplicate";
    case Problem::Kind::foreign:
      return "file-foreign";
    case Problem::Kind::undecided:
      return "file-undecided";
    case Problem::Kind::contradicted:
      return "file-contradicted";
    case Problem::Kind::other_run:
      return "file-of-other-run";
    case Problem::Kind::late:
      return "file-late";
    case Problem::Kind::misnamed:
      return "file-misnamed";
    case Problem::Kind::in_doubt:
      return "in-doubt";
  }
  return "";
}

std::string to_sentence(const Problem& problem) {
  const std::string& file = problem.file;
  switch (problem.kind) {
    case Problem::Kind::damaged: {
      std::string text = file + " is damaged at offset " + std::to_string(problem.offset) + ": " +
                         count(problem.bytes, "byte") + " cannot be read";
      if (problem.records > 0) text += ", " + count(problem.records, "record") + " lost";
      return text;
    }
    case Problem::Kind::job_lost:
      return file + ": the body of job " + std::to_string(problem.id) +
             " is damaged, the job is lost";
    case Problem::Kind::unproven:
      return file + ": " + count(problem.jobs, "record") +
             " of beanstalkd cannot be checked; the file is damaged, or has changed";
    case Problem::Kind::torn:
      return file + " ends in half a record: " + count(problem.bytes, "byte") + " at offset " +
             std::to_string(problem.offset) + ", as a crash leaves them";
    case Problem::Kind::missing:
      return file + " is missing";
    case Problem::Kind::all_missing:
      return file +
             (file.starts_with("binlog.") ? " is missing, and so are all files before it"
                                          : " is there, but no file of jobs is") +
             ": a server has recorded jobs in this folder";
    case Problem::Kind::next_missing:
      return file + " is missing: " + problem.other +
             " ended because it was begun (a crash at that moment leaves this, too)";
    case Problem::Kind::emptied:
      return file + " is empty (a crash at the moment it was begun leaves this, too)";
    case Problem::Kind::displaced:
      return file + " was written as " + problem.other + " and is read in its place";
    case Problem::Kind::duplicate:
      return file + " is a copy of " + problem.other + " and is left aside";
    case Problem::Kind::foreign:
      return file + " was written in another folder and is left aside";
    case Problem::Kind::undecided:
      return file + " and " + problem.other +
             " were written in different folders, and nothing tells in which of them this one: " +
             file + " is left aside";
    case Problem::Kind::contradicted:
      return file + " is not the file that " + problem.other +
             " followed: one of the two is from a copy of the folder; " + file + " is left aside";
    case Problem::Kind::other_run:
      return file +
             " was not begun by the server that used this folder last: it is from a copy of "
             "the folder, or newer files are missing";
    case Problem::Kind::late:
      return file + " was begun after " + problem.other +
             ", by a server that had lost the folder by then: " + file + " is left aside";
    case Problem::Kind::misnamed:
      return file + " has a number that no server gives and is not read";
    case Problem::Kind::in_doubt:
      return "up to " + count(problem.jobs, "job") +
             " may have come back, or be in an old state: what is lost of " + file +
             " may have held their deletions";
  }
  return "";
}

}  // namespace haricot::binlog
